//===- TiledDimensions.h - What tiles of a contraction lie along -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of the dimensions of a contraction one of m, one of n and one of k are cut into
/// tiles, which lanes or engines copy; the others are blocks and loops. Where several
/// are as long as each other, memory decides: a convolution whose image has channels outside
///
///   image[n][c][h][w], filters[f][c], out[n][f][h][w]
///
/// has h and w in m. A tile of 64 w x 16 c is 16 rows of 4 sectors, one of 64 h x
/// 16 c touches 1024 sectors.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEDDIMENSIONS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEDDIMENSIONS_H

#include "core/Analysis/Contraction.h"

namespace tilewright {

/// Dimensions of the nest that tiles lie along, and those left, outermost first.
struct TiledDimensions {
  unsigned mDim = 0, nDim = 0, kDim = 0;
  llvm::SmallVector<unsigned> outer, otherK; // of the result or of one iteration; of the sum
  bool operator==(const TiledDimensions &) const = default;
};

/// Whether all indices of `access` are linear in `dim`, so that a tile along it begins and ends at multiples of a step.
bool isLinearIn(const Access &access, unsigned dim);

/// The memory dimension inside, but for those of one element, has step 1 along `dim`, and no other one moves.
bool isContiguousAlong(const Access &access, unsigned dim);

/// k: the longest one that both operands have, or a contiguous one that is not tiny; where sums keep their order, the
/// innermost one. m and n: those whose tiles, over the whole nest, move the fewest sectors; of equal ones the longest.
/// nullopt: no such dimension of the sum is in both operands. `c` has dimensions m and n.
std::optional<TiledDimensions> tiledDimensions(const Contraction &c);

/// All m and n, with that k, in which the operands of `c` are linear: for a model that prices each. None with a
/// `reason`.
llvm::SmallVector<TiledDimensions> possibleDimensions(const Contraction &c, std::string &reason);

/// tiledDimensions of any contraction; nullopt with a `reason` where they are not possible.
std::optional<TiledDimensions> tiledDimensions(const Contraction &c, std::string &reason);

/// Exchanges A and B, m and n, where the result is contiguous along m: C^T = B^T A^T. Rows of tiles are rows of the
/// result then, whose neighbours the layouts of units hold in neighbouring lanes. Not where the types of A and B
/// differ, since a unit may have one order of them alone.
void orientToResult(Contraction &c);

/// How many sectors of `sector` bytes hold the bytes at row * rowBytes + col * colBytes.
int64_t distinctSectors(int64_t rows, int64_t rowBytes, int64_t cols, int64_t colBytes, int64_t sector);

/// Sectors of global memory that a tile of `rows` steps of `rowDim` and `cols` of `colDim` touches, from the beginning
/// of the array on. `elementBytes`: of an element. Where sizes are dynamic, rows are far apart.
int64_t tileSectors(const Access &access, unsigned rowDim, int64_t rows, unsigned colDim, int64_t cols,
                    int64_t elementBytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEDDIMENSIONS_H
