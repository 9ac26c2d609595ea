//===- LaneExchange.h - Elements that lanes shuffle -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the exchanges that the cost model chose (core/CostModel/Copies/ExchangeModel.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEEXCHANGE_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEEXCHANGE_H

#include "core/Transforms/Lower/Lanes/LaneAccess.h"

namespace tilewright {

/// Where the elements of `points` lie, in all dimensions of an array from the first one's place on; nullopt: `elements`
/// is no linear sum.
std::optional<SharedPoints> placesOf(const SharedPoints &points, mlir::AffineMap elements);
/// `distribution` after `exchange`.
Distribution exchanged(const Distribution &distribution, const LaneExchange &exchange);
/// The elements of a lane after `exchange`, of type i8, i16, i32, i64 or a float of that size. All lanes of the
/// subgroup come here. `lane`: its number there. `back`: `vector` has them as they are after it, and the result as they
/// were before.
mlir::Value exchangeElements(const LaneContext &context, mlir::Value vector, mlir::Value lane,
                             const LaneExchange &exchange, bool back = false);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEEXCHANGE_H
