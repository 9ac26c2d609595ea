//===- LoopTrips.cpp - Iterations of loops around tiles -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bounds are the largest of several lower ones and the smallest of several upper
/// ones.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/LoopTrips.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The constants among the results of `map`: the largest, or the smallest.
static std::optional<int64_t> constantAmong(AffineMap map, bool largest) {
  std::optional<int64_t> best;
  for (AffineExpr result : map.getResults())
    if (auto constant = dyn_cast<AffineConstantExpr>(result)) {
      int64_t value = constant.getValue();
      best = !best ? value : largest ? std::max(*best, value) : std::min(*best, value);
    }
  return best;
}

AffineForOp tilewright::loopInside(AffineForOp loop) {
  Block *body = loop.getBody();
  return llvm::hasNItems(body->without_terminator(), 1) ? dyn_cast<AffineForOp>(body->front()) : AffineForOp();
}

Value tilewright::endOf(AffineForOp loop) {
  AffineMap map = loop.getUpperBoundMap();
  if (map.getNumResults() != 1)
    return {};
  if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(0)))
    return loop.getUpperBoundOperands()[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(map.getResult(0)))
    return loop.getUpperBoundOperands()[map.getNumDims() + symbol.getPosition()];
  return {};
}

std::optional<int64_t> tilewright::mostEnd(AffineForOp loop) {
  if (Value value = endOf(loop))
    if (auto smallest = value.getDefiningOp<AffineMinOp>())
      return constantAmong(smallest.getAffineMap(), false);
  return constantAmong(loop.getUpperBoundMap(), false);
}

std::optional<int64_t> tilewright::mostTrips(AffineForOp loop) {
  AffineMap low = loop.getLowerBoundMap(), high = loop.getUpperBoundMap();
  std::optional<int64_t> most, first = constantAmong(low, true), end = mostEnd(loop);
  if (first && end)
    most = *end - *first;
  for (unsigned i = 0; i < low.getNumResults(); ++i)
    for (unsigned j = 0; j < high.getNumResults() && !loop.hasConstantBounds(); ++j) {
      AffineValueMap from(low.getSubMap({i}), loop.getLowerBoundOperands());
      AffineValueMap to(high.getSubMap({j}), loop.getUpperBoundOperands()), difference;
      AffineValueMap::difference(to, from, &difference);
      if (auto trips = dyn_cast<AffineConstantExpr>(difference.getResult(0)))
        most = std::min(most.value_or(trips.getValue()), trips.getValue());
    }
  return most ? std::optional(std::max<int64_t>(*most, 0)) : most;
}

/// The largest, or smallest, result of a bound.
static int64_t boundAt(AffineMap map, ValueRange operands, llvm::function_ref<int64_t(Value)> valueOf, bool largest) {
  SmallVector<Attribute> values, results;
  for (Value operand : operands)
    values.push_back(IntegerAttr::get(IndexType::get(map.getContext()), valueOf(operand)));
  if (failed(map.constantFold(values, results)))
    return 0; // a division by zero
  auto numbers = llvm::map_range(results, [](Attribute each) { return cast<IntegerAttr>(each).getInt(); });
  return largest ? *llvm::max_element(numbers) : *llvm::min_element(numbers);
}

int64_t tilewright::tripsAt(AffineForOp loop, llvm::function_ref<int64_t(Value)> valueOf) {
  int64_t first = boundAt(loop.getLowerBoundMap(), loop.getLowerBoundOperands(), valueOf, /*largest=*/true);
  int64_t end = boundAt(loop.getUpperBoundMap(), loop.getUpperBoundOperands(), valueOf, /*largest=*/false);
  return std::max<int64_t>(0, end - first);
}
