//===- TileArrangement.h - Rows of a tile over banks ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a tile in the scratchpad is arranged so that neither the reads of
/// fragments nor the writes of copies have a bank conflict: swizzled, or with padded
/// rows. Decided by counting over the layout.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_TILEARRANGEMENT_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_TILEARRANGEMENT_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include <tuple>

namespace tilewright {

/// Lanes that load columns together (`LaneOps::loadColumns`), and what each reads.
inline constexpr int64_t columnLanes = 16, columnBytes = 8;

/// What is known of a tile.
struct TileUse {
  int64_t rows = 1, rowBytes = 16, elementBytes = 1;
  const Layout *layout = nullptr; // of the fragments that are read
  bool rowIsLayoutRow = true;     // rows of the fragment are rows of the tile
  bool matrices = false;          // fragments are loaded as matrices, 16 bytes of a row at a time
  bool columns = false;           // .. as columns of `columnLanes` lanes, 8 bytes of a row at a time
  int64_t placed = 0;             // bytes that a subgroup copies one after the other, 0: lanes write where they want
  int64_t pieceBytes = 16;        // that a lane writes at once, where a swizzle or padding does not cut them
  int64_t lanes = 32;             // that write together
  bool transposed = false;        // lanes transpose blocks: neighbouring ones write into rows `along` apart
  int64_t along = 1;              // rows of such a block
  bool wholeSectors = true;       // neighbouring lanes shall fill sectors of the array; false: its rows are unaligned
  bool mayPad = true;             // copies need no 16-byte alignment
  int64_t sectorBytes = 1;        // of the array's memory
  auto key() const {
    return std::tuple(rows, rowBytes, elementBytes, layout, rowIsLayoutRow, matrices, columns, placed, pieceBytes,
                      lanes, transposed, along, wholeSectors, mayPad, sectorBytes);
  }
};

/// Sets the swizzle or padding of `tile` that takes the fewest clocks of `memory`'s banks, and how lanes lie that turn
/// blocks; a tie goes to the plainer one, with more lanes along the array. Returns how many times the clocks without
/// conflicts its writes and reads take.
double arrangeTile(StagedTile &tile, const TileUse &use, const Memory &memory);

/// How many times the sectors of the array's rows that a tile covers are touched by the loads of lanes that turn it:
/// more than once where the lanes of one load fill only parts of them.
double sectorsTouched(const StagedTile &tile, const TileUse &use);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_TILEARRANGEMENT_H
