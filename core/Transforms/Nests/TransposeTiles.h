//===- TransposeTiles.h - Tiles of transpositions ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many iterations of a transposition a block takes, and how its arrays lie
/// in the scratchpad meanwhile: with padded rows or swizzled, so that lanes meet
/// in few banks. Decided by counting over the places of lanes.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_TRANSPOSETILES_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_TRANSPOSETILES_H

#include "core/Transforms/Nests/Transposition.h"
#include "dialects/Tile/TileDialect.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// A tile or an arrangement is better if it takes less than this part of the clocks of another one.
inline constexpr double betterTile = 1 - 1e-6;

/// How a block shares a tile out, in iterations of the long dimensions.
struct TileShape {
  int64_t rows = 1, columns = 1, subgroups = 1;
  int64_t near = 1;   // columns that a lane computes side by side
  int64_t bytes = 0;  // of its buffers
  double sectors = 0; // of arrays, for as many elements of each as a subgroup has lanes
  double clocks = 0;  // of memory for those, of the banks for one access each
};

/// A tile of one array in the scratchpad: rows over the other long dimension and over the short ones outside of its
/// run, each with the run.
struct TileBuffer {
  const TileRun *run = nullptr;
  const Access *load = nullptr; // null: of the store
  mlir::Type element;
  bool alongRows = false;             // its run is along the rows of the tile of iterations
  int64_t beside = 1;                 // iterations of the other long dimension
  llvm::SmallVector<unsigned> others; // short dimensions outside of the run
  int64_t count = 1;                  // iterations of those
  int64_t length = 1;                 // elements of a run
  int64_t stretch = 1;                // places from one to the next: narrow ones may have a word each
  tile::ArrangementAttr arrangement;
  bool narrow = false; // copies read what the swizzle keeps together
  double clocks = 0;   // of the banks, for as many elements as a subgroup has lanes, across the runs and along them
  mlir::Value memref;  // of the emitter

  /// Elements of a run that are copied at a time: a power of two.
  int64_t chunk() const { return length / run->factor * (run->factor & -run->factor); }
  /// What it takes of the scratchpad.
  int64_t bytes() const;
};

struct TransposePlan {
  TileShape shape;
  llvm::SmallVector<TileBuffer> buffers; // per staged load
  std::optional<TileBuffer> result;      // nullopt: lanes store what they computed
};

/// The tile whose buffers take at most half of `memory`, so that two blocks run at a time, with the fewest clocks of
/// `chip`'s memory and of the banks; nullopt if none fits. It refers to `task`.
std::optional<TransposePlan> planTransposition(const Transposition &task, const TargetDescription &chip,
                                               const LaneHierarchy &hierarchy, const Memory &memory, const LaneOps &ops,
                                               mlir::MLIRContext *context);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_TRANSPOSETILES_H
