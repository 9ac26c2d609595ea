//===- LaneExchange.cpp - Elements that lanes exchange --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts sectors of all accesses, and shuffles pairs.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaneExchange.h"
#include "core/Analysis/Nest.h"
#include "core/CostModel/Sectors.h"
#include "core/Transforms/LaneReduce.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace tilewright;

/// The place of `point`, in all dimensions of the array; nullopt: it is no linear sum.
static std::optional<Point> placeOf(AffineMap elements, const Point &point) {
  Point place(elements.getNumResults(), 0);
  for (auto [r, result] : llvm::enumerate(elements.getResults()))
    for (unsigned d = 0; d < point.size(); ++d) {
      std::optional<int64_t> step = linearCoefficient(result, d);
      if (!step)
        return std::nullopt;
      place[r] += *step * point[d];
    }
  return place;
}

static Point sumOf(Point a, const Point &b) {
  for (auto [x, y] : llvm::zip(a, b))
    x += y;
  return a;
}

/// Sectors of the accesses to all elements, each by all lanes, of a distribution of places; elements at one place are
/// accessed once. Places in all dimensions but the last one are rows of their own.
static size_t sectorsOf(const Distribution &places, int64_t elementBytes) {
  size_t count = 0;
  std::set<Point> accesses;
  for (const Point &element : places.elements) {
    if (!accesses.insert(element).second)
      continue;
    std::set<Point> sectors;
    for (int64_t lane = 0; lane < int64_t(1) << places.bits.size(); ++lane) {
      Point place = element;
      for (auto [b, bit] : llvm::enumerate(places.bits))
        if (lane >> b & 1)
          place = sumOf(place, bit);
      place.back() = place.back() * elementBytes / sectorBytes;
      sectors.insert(place);
    }
    count += sectors.size();
  }
  return count;
}

/// By how much bit `bit` of an element's number moves it; nullopt: not all by the same.
static std::optional<Point> stepOf(ArrayRef<Point> elements, unsigned bit) {
  std::optional<Point> step;
  for (size_t e = 0; e < elements.size(); ++e) {
    if (!(e >> bit & 1))
      continue;
    Point own = elements[e];
    for (auto [x, y] : llvm::zip(own, elements[e ^ size_t(1) << bit]))
      x -= y;
    if (step && *step != own)
      return std::nullopt;
    step = own;
  }
  return step;
}

std::optional<LaneExchange> tilewright::fillsSectors(const Distribution &distribution, AffineMap elements,
                                                     int64_t elementBytes) {
  size_t count = distribution.elements.size();
  if (count < 2 || !llvm::isPowerOf2_64(count) || elements.getNumResults() == 0)
    return std::nullopt;
  Distribution places;
  for (auto [from, to] : {std::pair(&distribution.bits, &places.bits), {&distribution.elements, &places.elements}})
    for (const Point &point : *from) {
      std::optional<Point> place = placeOf(elements, point);
      if (!place)
        return std::nullopt;
      to->push_back(*place);
    }
  size_t least = sectorsOf(places, elementBytes);
  std::optional<LaneExchange> best;
  for (unsigned element = 0; size_t(1) << element < count; ++element) {
    if (!stepOf(distribution.elements, element))
      continue;
    for (unsigned lane = 0; lane < places.bits.size(); ++lane) {
      LaneExchange exchange{element, lane};
      if (size_t sectors = sectorsOf(exchanged(places, exchange), elementBytes); sectors < least) {
        least = sectors;
        best = exchange;
      }
    }
  }
  return best;
}

Distribution tilewright::exchanged(const Distribution &distribution, const LaneExchange &exchange) {
  Distribution result = distribution;
  Point step = *stepOf(distribution.elements, exchange.element), &bit = result.bits[exchange.lane];
  for (auto [e, element] : llvm::enumerate(result.elements))
    for (unsigned d = 0; (e >> exchange.element & 1) && d < element.size(); ++d)
      element[d] += bit[d] - step[d];
  bit = step;
  return result;
}

Value tilewright::exchangeElements(const LaneContext &context, Value vector, Value lane, const LaneExchange &exchange) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  int64_t mask = int64_t(1) << exchange.lane, other = int64_t(1) << exchange.element;
  Value bit = arith::AndIOp::create(builder, loc, lane, context.i32(mask));
  Value upper = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bit, context.i32(0));
  Value partner = arith::XOrIOp::create(builder, loc, lane, context.i32(mask));
  SmallVector<Value> parts;
  for (int64_t e = 0; e < cast<VectorType>(vector.getType()).getNumElements(); ++e)
    parts.push_back(vector::ExtractOp::create(builder, loc, vector, e));
  // The lower lane keeps its first element of a pair and gives the second one, the upper lane the other way round.
  for (int64_t e = 0; e < int64_t(parts.size()); ++e) {
    if (e & other)
      continue;
    Value &first = parts[e], &second = parts[e | other];
    Value kept = arith::SelectOp::create(builder, loc, upper, second, first);
    Value came = valueOfLane(context, arith::SelectOp::create(builder, loc, upper, first, second), partner);
    first = arith::SelectOp::create(builder, loc, upper, came, kept);
    second = arith::SelectOp::create(builder, loc, upper, kept, came);
  }
  return vector::FromElementsOp::create(builder, loc, cast<VectorType>(vector.getType()), parts);
}
