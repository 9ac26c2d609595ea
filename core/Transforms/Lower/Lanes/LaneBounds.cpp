//===- LaneBounds.cpp - Which elements of a lane are inside -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Positions against the ends of what is valid, and one bound for many of them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneBounds.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace tilewright;

/// Conditions from which on a bound, itself some instructions, is worth it.
static constexpr size_t leastConditions = 4;

ValidExtent tilewright::validExtent(const LaneContext &context, AffineMap map, unsigned result, ValueRange operands) {
  AffineExpr extent = map.getResult(result);
  int64_t divisor = std::max<int64_t>(1, extent.getLargestKnownDivisor());
  ValidExtent valid;
  valid.end = context.expand(extent, operands.take_front(map.getNumDims()), operands.drop_front(map.getNumDims()));
  valid.multiple = divisor & -divisor;
  return valid;
}

FailureOr<ValidExtent> tilewright::indexExtent(const LaneContext &context, const LaneArray &array, unsigned d,
                                               AffineMap map, ValueRange operands, AffineMap elements) {
  OpBuilder &builder = context.builder;
  ValidExtent extent;
  extent.dimension = d;
  AffineExpr step = elements.getResult(d);
  SmallVector<AffineExpr> zeros(elements.getNumDims(), builder.getAffineConstantExpr(0));
  AffineExpr start =
      simplifyAffineExpr(map.getResult(d) + step.replaceDims(zeros), map.getNumDims(), map.getNumSymbols());
  for (unsigned p = 0; p < elements.getNumDims(); ++p) {
    std::optional<int64_t> along = linearCoefficient(step, p);
    if (!along)
      return failure();
    extent.steps.push_back(*along);
  }
  extent.start = context.expand(start, operands.take_front(map.getNumDims()), operands.drop_front(map.getNumDims()));
  if (!array.type.isDynamicDim(d)) {
    int64_t size = array.type.getDimSize(d), divisor = std::gcd(start.getLargestKnownDivisor(), size);
    extent.end = context.index(size);
    // Steps of one in one dimension of the box: then neighbours there are neighbours of the array.
    if (llvm::count(extent.steps, 0) + 1 == int64_t(extent.steps.size()) && llvm::is_contained(extent.steps, 1))
      extent.multiple = std::max<int64_t>(1, divisor & -divisor);
  } else {
    extent.end = array.sizes[array.type.getDynamicDimIndex(d)];
  }
  return extent;
}

/// The first of the neighbours that are inside or outside together with `point`, in number `d` of the extents.
static int64_t firstOf(const Point &point, unsigned d, const ValidExtent &extent) {
  int64_t position = 0;
  for (auto [step, at] : llvm::zip(extent.steps, point))
    position += step * at;
  return (extent.steps.empty() ? point[d] : position) & -extent.multiple;
}

/// What the bits of the worker's number add in extent `d`: no two share a bit of the position, nor do elements with
/// them.
static SmallVector<int64_t> stepsAlong(const Distribution &distribution, unsigned d, const ValidExtent &extent) {
  SmallVector<int64_t> bits;
  for (const Point &bit : distribution.bits)
    bits.push_back(firstOf(bit, d, extent));
  return bits;
}

/// The last place of elements [first, first + count) in each extent that is checked, and the first one.
static std::pair<Point, Point> lastAndFirst(const Distribution &distribution, const ValidExtents &valid, unsigned first,
                                            unsigned count) {
  Point last(valid.size(), 0), least(valid.size(), 0);
  for (auto [d, extent] : llvm::enumerate(valid))
    for (unsigned e = first; extent && e < first + count; ++e) {
      int64_t place = firstOf(distribution.elements[e], d, extent);
      last[d] = e == first ? place : std::max(last[d], place);
      least[d] = e == first ? place : std::min(least[d], place);
    }
  return {last, least};
}

static Point lastOf(const Distribution &distribution, const ValidExtents &valid, unsigned first, unsigned count) {
  return lastAndFirst(distribution, valid, first, count).first;
}

Value tilewright::insideAll(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
                            unsigned first, unsigned count) {
  Value inside;
  auto [last, least] = lastAndFirst(distribution, valid, first, count);
  for (auto [d, extent] : llvm::enumerate(valid)) {
    if (!extent)
      continue;
    SmallVector<int64_t> bits = stepsAlong(distribution, d, extent);
    Value position = distribution.number ? context.indexFromBits(distribution.number, bits) : Value();
    if (!position)
      position = context.index(0);
    if (extent.start)
      position = context.make<arith::AddIOp>(position, extent.start);
    auto check = [&](int64_t offset) {
      Value at = position;
      if (offset)
        at = context.make<arith::AddIOp>(at, context.index(offset));
      // Without a sign, an index before the first one is after the last one.
      auto below = extent.start ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
      Value here = arith::CmpIOp::create(context.builder, context.loc, below, at, extent.end);
      inside = inside ? context.make<arith::AndIOp>(inside, here) : here;
    };
    check(last[d]);
    if (extent.start && least[d] != last[d])
      check(least[d]);
  }
  return inside;
}

bool tilewright::areTogether(const Distribution &distribution, const ValidExtents &valid, unsigned first,
                             unsigned count) {
  auto [last, least] = lastAndFirst(distribution, valid, first, count);
  return last == least;
}

LaneBounds::LaneBounds(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
                       ArrayRef<LaneRun> runs)
    : context(context), distribution(distribution), valid(valid), moving(valid) {
  for (LaneRun run : runs) {
    unsigned first = together.empty() ? run.first : together.back().front().first;
    if (together.empty() || !areTogether(first, run.first + run.count - first))
      together.emplace_back();
    together.back().push_back(run);
  }
  if (together.size() >= leastConditions && llvm::any_of(valid, [](const ValidExtent &e) { return e && !e.start; }))
    bind();
}

bool LaneBounds::areTogether(unsigned first, unsigned count) const {
  return tilewright::areTogether(distribution, valid, first, count);
}

/// The key of a bound: places in the other dimensions of the box.
Point LaneBounds::othersOf(Point places) const {
  for (auto [d, extent] : llvm::enumerate(valid))
    if (d == along || extent.start)
      places[d] = 0;
  return places;
}

void LaneBounds::bind() {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  // How many of a dimension's positions are left behind the lane's first one, as i32: the box is no longer.
  SmallVector<Value> left(valid.size());
  size_t most = 0;
  // Indices of the array that are the same for all elements are part of the bound, others are checked beside it.
  ValidExtents still(valid.size());
  auto [last, least] = lastAndFirst(distribution, valid, 0, distribution.elements.size());
  for (auto [d, extent] : llvm::enumerate(valid))
    if (!extent.start)
      moving[d] = {};
    else if (last[d] == least[d])
      std::swap(still[d], moving[d]);
  Value stillInside = insideAll(context, distribution, still, 0, 1);
  for (auto [d, extent] : llvm::enumerate(valid)) {
    if (!extent || extent.start)
      continue;
    SmallVector<int64_t> bits = stepsAlong(distribution, d, extent);
    int64_t length = 1;
    for (int64_t bit : bits)
      length += bit;
    std::set<int64_t> places;
    for (unsigned e = 0; e < distribution.elements.size(); ++e)
      places.insert(lastOf(distribution, valid, e, 1)[d]);
    length += *places.rbegin();
    if (places.size() > most) {
      most = places.size();
      along = d;
    }
    Value end = context.make<arith::MaxSIOp>(extent.end, context.index(0));
    end = context.toI32(context.make<arith::MinSIOp>(end, context.index(length)));
    Value first = distribution.number ? context.fromBits(distribution.number, bits) : Value();
    left[d] = first ? context.make<arith::SubIOp>(end, first) : end;
  }
  auto greater = [&](Value bound, int64_t place) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, bound, context.i32(place));
  };
  for (unsigned e = 0; e < distribution.elements.size(); ++e) {
    auto [found, isNew] = bounds.try_emplace(othersOf(lastOf(distribution, valid, e, 1)));
    if (!isNew)
      continue;
    const Point &others = found->first;
    Value inside = stillInside;
    for (unsigned d = 0; d < valid.size(); ++d)
      if (left[d] && d != along) {
        Value below = greater(left[d], others[d]);
        inside = inside ? context.make<arith::AndIOp>(inside, below) : below;
      }
    found->second =
        inside ? arith::SelectOp::create(builder, loc, inside, left[along], context.i32(0)).getResult() : left[along];
  }
}

Value LaneBounds::inside(unsigned first, unsigned count) const {
  if (bounds.empty())
    return insideAll(context, distribution, valid, first, count);
  Point last = lastOf(distribution, valid, first, count);
  auto found = bounds.find(othersOf(last));
  if (found == bounds.end())
    return insideAll(context, distribution, valid, first, count);
  Value inside = arith::CmpIOp::create(context.builder, context.loc, arith::CmpIPredicate::sgt, found->second,
                                       context.i32(last[along]));
  if (Value here = insideAll(context, distribution, moving, first, count))
    inside = context.make<arith::AndIOp>(inside, here);
  return inside;
}
