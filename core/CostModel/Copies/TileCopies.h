//===- TileCopies.h - Who moves a tile of a core, and how -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile goes between an array and a scratchpad by commands of a copy engine or by
/// loads and stores of the core:
///
///   array        scratchpad    commands
///   rows         rows          one; several where a row is longer than a burst; one a row for engines of rank 1
///   columns      rows          one of an engine that transposes; or one for each row or column, of an engine that
///                              can address single elements; or the core, by blocks that it transposes in registers
///   else         rows          the core, element by element
///
/// and the other way round.
///
/// The same function serves the plan, which counts the clocks, and lower-tile-to-engines, which writes the commands.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_TILECOPIES_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_TILECOPIES_H

#include "tilewright/Cores.h"

namespace tilewright {

/// How an array holds what lies in a scratchpad row by row.
enum class TileOrder {
  Rows,     // a step along a row is one element of the array too
  Columns,  // a step from row to row is one element of the array
  Scattered // neither
};

/// A tile as its scratchpad holds it.
struct TileTransfer {
  int64_t rows = 1, cols = 1, elementBytes = 1;
  TileOrder order = TileOrder::Rows;
  int64_t pitchBits = 0;  // address bits that differ between the array's rows, ORed; 0: not known, taken as aligned
  int64_t testedBits = 0; // the same of the first elements of tiles and of the rows of buffers: a core that reaches the
                          // array tests them before each copy
  int64_t padRows = 0, padCols = 0; // zeros around what exists go to the next multiples of these; 0: to the tile's end
  bool near = false;                // the array lies in the scratchpad too, so that no engine is on the way
};

enum class CopyWay {
  Rows,       // rows as they stand
  Transposed, // a command that changes rows and columns
  Elements,   // a command for each row or column, of single elements
  Core,       // loads and stores of the core
  None        // what works on it reads it where it lies
};

struct TileCopyPlan {
  CopyWay way = CopyWay::Core;
  const CopyEngine *engine = nullptr; // null: the core
  int64_t commands = 0;
  double engineClocks = 0; // that the engine is busy
  double coreClocks = 0;   // instructions of the core, and its waits for a queue that is full
};

/// The way that takes the fewest clocks; `in`: towards the scratchpad. CopyWay::Core with infinite clocks where no
/// engine moves such a tile and the core does not reach the array's memory.
TileCopyPlan planTileCopy(const TileTransfer &tile, bool in, const CoreHierarchy &cores, const TargetDescription &chip);

/// The same for a tile of a `rows` x `cols` matrix that is cut into tiles: the way of a whole one, and clocks as the
/// mean over all tiles, those at the edges being smaller. `zeros`: the core writes zeros around what exists.
TileCopyPlan planTileCopies(const TileTransfer &tile, int64_t rows, int64_t cols, bool zeros, bool in,
                            const CoreHierarchy &cores, const TargetDescription &chip);

/// Clocks of the core for copies that it commands one behind the other: a queue that does not hold the commands of all
/// of them keeps it until the engine is done with the first ones.
double coreClocksOf(llvm::ArrayRef<TileCopyPlan> copies);

/// Vectors of a row of `count` that the core moves between two tests of its loop.
int64_t unrolledVectors(int64_t count);

/// Vectors of a row of `count` that the core fills with zeros between two tests of its loop: they divide the row.
int64_t clearedVectors(int64_t count);

/// Elements along a side of the square blocks that the core transposes in registers; 1: none.
int64_t transposedBlock(int64_t elementBytes, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_TILECOPIES_H
