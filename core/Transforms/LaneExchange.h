//===- LaneExchange.h - Elements that lanes exchange ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where rows of an array begin anywhere, lanes move single elements. If a lane
/// holds two neighbours of a row, each access then leaves every other element of
/// a sector to the next one. Lanes of two rows exchange elements, so that an
/// access has all neighbours of one of them:
///
///   lane    0       1      ..   4       5              0    1     4    5
///   holds   a0 a1   a2 a3       b0 b1   b2 b3     ->   a0   a2    a1   a3
///                                                      b0   b2    b1   b3
///
/// One bit of the element's number changes places with one of the lane's.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LANEEXCHANGE_H
#define TILEWRIGHT_CORE_TRANSFORMS_LANEEXCHANGE_H

#include "core/Transforms/LaneAccess.h"

namespace tilewright {

/// Bits of the element's number and of the lane's that change places.
struct LaneExchange {
  unsigned element = 0, lane = 0;
};

/// The exchange with which accesses of single elements at `elements(point)` of an array touch the fewest sectors;
/// nullopt: none touches fewer than `distribution` as it is. `elementBytes`: of an element of the array.
std::optional<LaneExchange> fillsSectors(const Distribution &distribution, mlir::AffineMap elements,
                                         int64_t elementBytes);
/// `distribution` after it.
Distribution exchanged(const Distribution &distribution, const LaneExchange &exchange);
/// The elements of a lane after it, or, of one after it, as they were before. All lanes of the subgroup come here.
mlir::Value exchangeElements(const LaneContext &context, mlir::Value vector, mlir::Value lane,
                             const LaneExchange &exchange);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LANEEXCHANGE_H
