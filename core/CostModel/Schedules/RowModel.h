//===- RowModel.h - Lanes for reductions along rows -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many subgroups of a SIMT target share one row of a reduction,
/// against one lane for each row:
///
///   rows over subgroups   clocks = max(bytes / bandwidth of global memory,
///                                      waves x (steps x latency / loads under way + combining))
///   rows over lanes       the same with a 32-byte sector for each element: lanes are a row apart
///
/// and of a fused row-wise reduction (RowProgram.h), whose rows stay in the scratchpad between its phases:
///
///   clocks = launch + blocks / multiprocessors x clocks between the ends of two blocks
///
/// The blocks of a multiprocessor share its part of the bandwidths (global memory, the cache of the whole chip, the
/// scratchpad) and its issue; each waits by itself for the latencies of memory, exchanges and barriers. The clocks
/// between two ends are those of a closed queueing network (clocksOfBlock). This is held against a launch for each of
/// its nests, with what lies between them in global memory.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_ROWMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_ROWMODEL_H

#include "core/Analysis/RowReduction.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <vector>

namespace tilewright {

struct RowPlan {
  int64_t subgroups = 1;              // of one row; a power of two
  int64_t rows = 1;                   // of one block, each with its own subgroups; 1 if several subgroups share a row
  int64_t vector = 1;                 // neighbouring elements of one lane
  int64_t vectors = 1;                // of one lane in one step, a subgroup's width apart
  double clocks = 0, lanesClocks = 0; // modelled; of one lane for each row
  double seconds = 0;

  /// Elements of a subgroup in one step.
  int64_t width(const LaneHierarchy &hierarchy) const { return hierarchy.lanes * vector * vectors; }
  llvm::json::Object toJSON() const;
  int64_t key() const { return subgroups; }
};

/// How lanes share the rows of a fused row-wise reduction.
struct RowProgramPlan {
  int64_t subgroups = 1;      // of one row; a power of two
  int64_t rows = 1;           // of one block; 1 if several subgroups share a row
  int64_t vector = 1;         // neighbouring elements of one lane
  int64_t elements = 1;       // of one lane in one segment of the row, a power of two
  int64_t segments = 1;       // of a row, one after the other in each phase
  int64_t blocksAtATime = 1;  // of one multiprocessor
  bool keepsInputs = true;    // what several phases read of global memory stays in the scratchpad, too
  bool computesAgain = false; // what later phases can compute from global memory is not kept for them
  double clocks = 0, seconds = 0;

  llvm::json::Object toJSON() const;
  auto key() const { return std::tuple(subgroups, rows, keepsInputs, computesAgain); }
};

/// A fused row-wise reduction, in bytes for each element of a row.
struct RowProgramTask {
  int64_t rows = 1, length = 1;
  bool rowsAreKnown = true; // when compiling
  int64_t phases = 1, sums = 0;
  int64_t bytes = 0;            // of arrays in global memory that are read or written, each once
  int64_t sharedBytes = 0;      // of arrays that every row reads: they come from a cache of the whole chip
  int64_t againBytes = 0;       // of those that later phases read again, in the phases together
  std::vector<int64_t> inputs;  // the same, of each array
  std::vector<int64_t> between; // of each row that one phase computes and later ones read
  int64_t registerBytes = 0;    // of rows that a nest reads and writes, in the nest with the most
  int64_t operations = 0;       // for each element, of all nests together
  int64_t laneOperations = 0;   // once in each lane: what follows from a row's sums alone
  int64_t accesses = 0;         // loads and stores for each element, of arrays and rows between phases
  int64_t keptAccesses = 0;     // more of them where inputs stay in the scratchpad
  int64_t vector = 16;          // as in RowTask
  bool computesAgain = false;   // as in RowProgramPlan: `between` and the counts are of that form
  double apartClocks = 0;       // of a launch for each nest
};

/// The plan with the fewest clocks; nullopt if rows do not fit a block, or launches for each nest are faster.
std::optional<RowProgramPlan> planRowProgram(const RowProgramTask &task, const TargetDescription &chip,
                                             const LaneHierarchy &hierarchy,
                                             std::vector<RowProgramPlan> *considered = nullptr);

/// What is to be reduced: `rows` rows of `pieces` segments of `length` neighbouring elements.
struct RowTask {
  int64_t rows = 1, pieces = 1, length = 1;
  int64_t bytes = 0;     // read for each element by all arrays together
  int64_t laneBytes = 0; // moved for each element where a lane has a row: a sector for each array whose rows lie apart
  int64_t vector = 16;   // neighbouring elements whose address is proved aligned to 16 bytes, or 1
};

/// The plan of the fewest clocks; nullopt where one lane for each row is faster. `considered` receives all.
std::optional<RowPlan> planRows(const RowTask &task, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                                std::vector<RowPlan> *considered = nullptr);
/// Clocks of the rows on subgroups, or on one lane each where that is faster; 0 where the chip's rates are not known.
double clocksOfRows(const RowTask &task, const TargetDescription &chip, const LaneHierarchy &hierarchy);

/// The rows of `rows`, their length and what is known of their addresses, or can be checked in the kernel.
RowTask rowTaskOf(const RowReduction &rows, int64_t sectorBytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_ROWMODEL_H
