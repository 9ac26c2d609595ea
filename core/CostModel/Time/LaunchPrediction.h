//===- LaunchPrediction.h - What a contraction's kernel will do ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The cost model's counts for the launch of a plan, to be compared with those of
/// the emulator (docs/emulator.md, "Counters"):
///
///   tiles  = outer x ceil(m / (BM cluster)) x cluster x ceil(n / BN)      steps = other k x ceil(k / BK)
///   blocks = tiles, or as many as take all tiles in turn
///   unit issues        = tiles x subgroups x TM TN x steps x BK / unit.k
///   global bytes read  = what the blocks copy: rows and columns inside the arrays x k, for each tile, less what lies
///                        in the padding; blocks of a cluster copy B together; unaligned vectors read the
///                        last one of a row as a whole
///                      + what the epilogue reads: m n x share of the positions that lanes ask for (`TailRead`)
///   global written     = m n x bytes of all results of a position
///   scratchpad written = tiles x (steps + other k x ahead) x (BM + BN) BK, copies fill their tiles with zeros
///   scratchpad read    = tiles x subgroups x steps x (TM unit.m + TN unit.n) BK, times the lanes that hold the same
///                        element of a fragment, or times TN and TM where units read it themselves
///   and both: tiles x BM BN of results that leave through the scratchpad
///
/// On cores with engines, where copies go row by row and know what of a tile exists:
///
///   unit issues        = tiles x TM TN TK / (m n k of the unit) x steps
///   global bytes read  = m k x ceil(n / TN) + k n x ceil(m / TM)
///                      + what the epilogue reads of each tile; what is the same for all rows, for each slice of it
///   global written     = m n x bytes of all results of a position
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_LAUNCHPREDICTION_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_LAUNCHPREDICTION_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"

namespace tilewright {

/// The attribute of a grid and of its launch with the predicted counts.
inline constexpr llvm::StringLiteral predictedAttr = "tilewright.predicted";

/// An array that is read where C lies in fragments: a residual, a bias, or C itself where it held something.
struct TailRead {
  mlir::AffineMap elements; // (row, column) of a fragment -> element of the array, from the fragment's first on
  int64_t bytes = 0;        // of an element
};

/// What the kernel does with its sums, of one position of C.
struct LaneTail {
  llvm::SmallVector<TailRead> reads;
  int64_t writtenBytes = 0;    // to global memory
  int64_t scratchpadBytes = 0; // of those, what leaves through the scratchpad
  int64_t together = 0;        // elements of a lane that are finished at a time (LaneParts.cpp); 0: all
};

/// Elements of `read`'s array that the lanes of a subgroup ask for to have them for one fragment of C. Elements of a
/// lane that lie at the same place are one request where nothing is stored between them and one check says whether
/// they are inside: so a row vector is asked for once for each of the rows that a lane does not hold together.
///
///   m16n8k16, C of 16 x 8        lane 0 holds (0, 0) (0, 1) (8, 0) (8, 1)
///   bias[n], rows not checked    asks for b[0] b[1]: 32 lanes x 2 of 128 positions
///   rows checked one by one      asks for b[0] b[1] b[0] b[1]
///
/// `rows`, `cols`: so many neighbours share a check, a power of two; 0: nothing is checked.
int64_t requestedElements(const UnitOperand &c, const TailRead &read, int64_t together, int64_t rows, int64_t cols);

/// Counts of one launch.
struct LaunchPrediction {
  std::string unit;
  int64_t blocks = 0, unitIssues = 0;
  double unitCycles = 0;
  int64_t globalBytesRead = 0, globalBytesWritten = 0;
  std::optional<int64_t> scratchpadBytesRead, scratchpadBytesWritten; // nullopt: not predicted
  double seconds = 0;
};
/// Both are nullopt where a size is dynamic, the second one also where the core moves tiles that are not whole and
/// where an operand lies in the scratchpad. `engine`: copies are asynchronous, so that all stages of a multi-stage
/// buffer but one are under way.
std::optional<LaunchPrediction> predictLaunch(const LaneContractionPlan &plan, const Contraction &contraction,
                                              bool engine, const LaneTail &tail);

std::optional<LaunchPrediction> predictLaunch(const ScratchpadContractionPlan &plan, const Contraction &contraction,
                                              const TailShape &tail, const CoreShare &share);

/// As an attribute of an op, and as JSON with the names of the emulator's counters.
mlir::DictionaryAttr toAttribute(const LaunchPrediction &prediction, mlir::MLIRContext *context);
llvm::json::Object predictionToJson(mlir::DictionaryAttr attribute);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_LAUNCHPREDICTION_H
