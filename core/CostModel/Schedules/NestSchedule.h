//===- NestSchedule.h - Tiles of a nest between two memories ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chooses how the loops of a nest are cut into tiles, and at which loop the part
/// of each array that a tile touches is brought into the scratchpad of a core:
///
///   for i (100) {                       loops 0, 1, 2 in the order of writing; loop 0 is the band: perfect, parallel
///     for j (300) { m[i] = max(m[i], x[i, j]) }
///     for j (300) { y[i, j] = x[i, j] - m[i] }
///   }
///   ->  loop 0 in tiles of 25, spread over the cores; x and y placed at loop 0
///
/// A row that no scratchpad holds is cut too: loops 1 and 2 in tiles of their own, with x and y placed there.
///
/// The time of a tile is that of its slowest resource, if copies of the next tile run beside it, else their sum. Who
/// copies, and for how many clocks, is asked of the lowering (TileCopies.h). Sizes that the program does not know count
/// as large (AssumedSizes.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTSCHEDULE_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTSCHEDULE_H

#include "core/CostModel/Copies/TileCopies.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// A nest as the model sees it.
struct NestShape {
  struct Loop {
    int64_t parent = -1;          // the loop around it; -1: none
    std::optional<int64_t> trips; // nullopt: dynamic
    bool isBand = false;          // of the perfect chain of loops at the root, and parallel: its tiles run in any order
    bool canBeCut = true;         // one of a single nest, with one bound and no value that iterations hand on
    double instructions = 0;      // of one iteration, without those of inner loops
    bool isInnermost = true;
    bool isPerfect = false; // its body is one loop, and nothing else
  };
  /// An index of an access: constant + sum of coefficient * loop; `isKnown` is false where it is not linear.
  struct Index {
    bool isKnown = true;
    int64_t constant = 0;
    llvm::SmallVector<std::pair<int64_t, int64_t>, 2> terms; // (loop, coefficient)
    llvm::SmallVector<std::pair<const void *, int64_t>, 2> others;

    /// Elements that a step of `loop` moves it by.
    int64_t factorOf(int64_t loop) const {
      int64_t sum = 0;
      for (auto [term, factor] : terms)
        sum += term == loop ? factor : 0;
      return sum;
    }
  };
  struct Access {
    int64_t array = 0;
    int64_t loop = -1; // the innermost loop around it
    llvm::SmallVector<Index, 4> indices;
  };
  struct Array {
    int64_t elementBytes = 4;
    llvm::SmallVector<int64_t, 4> shape; // -1: dynamic
    bool isRead = false;                 // what comes from elsewhere, not from the nest itself
    bool isWritten = false;
    int64_t localBytes = 0; // of a buffer that the nest allocates
    bool isNear = false;    // lies in the scratchpad already

    /// Whether a schedule has to say where it is while the nest runs.
    bool isPlaceable() const { return localBytes == 0 && !isNear; }
    /// Dimensions up to the last that has more than one index, at least one: rows of a copy are along it.
    size_t rank() const {
      size_t count = shape.size();
      while (count > 1 && shape[count - 1] == 1)
        --count;
      return count;
    }
  };
  llvm::SmallVector<Loop, 8> loops; // in the order of writing
  llvm::SmallVector<Access, 8> accesses;
  llvm::SmallVector<Array, 8> arrays;

  /// Whether loop `inner` is `outer` or stands in it; everything stands in -1.
  bool isUnder(int64_t inner, int64_t outer) const {
    for (; inner != outer; inner = loops[inner].parent)
      if (inner < 0)
        return false;
    return true;
  }
};

/// What schedule-kernels writes as a `#tile.schedule`.
struct NestSchedule {
  struct Tile {
    int64_t loop = 0, size = 1;
    bool spread = false;
  };
  struct Place {
    int64_t array = 0, at = -1;
    int64_t stages = 1;
  };
  int64_t members = 1;
  llvm::SmallVector<Tile> tiles; // outermost first
  llvm::SmallVector<Place> places;
  int64_t bytes = 0;                                              // of the scratchpad
  double coreClocks = 0, inClocks = 0, outClocks = 0, clocks = 0; // of one core in all

  llvm::json::Object toJSON() const;
};

/// Says of a schedule whether integer sets agree that its boxes exist and fit; the first one of the ranking that passes
/// is taken.
using ScheduleCheck = llvm::function_ref<bool(const NestSchedule &)>;

/// The schedule with the smallest modelled time; nullopt and `reason` where cores that reach no memory but their
/// scratchpad cannot run the nest. `considered`: how many were priced.
std::optional<NestSchedule> planNestSchedule(const NestShape &nest, const CoreHierarchy &cores,
                                             const TargetDescription &chip, ScheduleCheck check, std::string &reason,
                                             int64_t *considered = nullptr);

/// Clocks of one core for all of a nest that stands in the program of a core, in no tiles: `placed` arrays are copied
/// around it, near ones are in the scratchpad, and the others the core reads and writes where they lie. Infinite where
/// it does not reach them.
double clocksInPlace(const NestShape &nest, llvm::ArrayRef<int64_t> placed, const CoreHierarchy &cores,
                     const TargetDescription &chip);

/// Clocks of the core for all of a nest whose arrays lie in its scratchpad.
double coreClocks(const NestShape &nest, const CoreHierarchy &cores, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTSCHEDULE_H
