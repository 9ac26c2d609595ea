//===- TileOrder.h - The order in which blocks take tiles -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Blocks that run at the same time read rows of A and columns of B together, once
/// for all of them where these come from L2. Tiles of C are taken in groups of
/// some rows of tiles, column after column:
///
///   groups of 2 rows      0  2  4  6        groups of 1 row      0  1  2  3
///                         1  3  5  7                             4  5  6  7
///                         8 10 12 14                             8  9 10 11
///   six at a time read    2 rows, 3 columns                      2 rows, 4 columns
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_TILEORDER_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_TILEORDER_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

/// Rows of tiles of one group (threadblock rasterisation): a divisor of `tilesM`, so that `atATime` blocks read the
/// fewest rows and columns.
int64_t rasterRows(int64_t tilesM, int64_t tilesN, int64_t atATime, int64_t blockM, int64_t blockN);

/// Bytes that `active` blocks in the order of their numbers, which is that of `plan.rasterRows`, read from global
/// memory for one step: each row and column of tiles once, or where L2 holds both operands, its part of them. `m`, `n`,
/// `k`: elements; `outer`: matrices.
double fetchedOnce(int64_t m, int64_t n, int64_t k, double outer, const LaneContractionPlan &plan, double active,
                   int64_t elementBytes, const Memory *l2);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_TILEORDER_H
