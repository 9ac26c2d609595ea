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

#include "core/Transforms/LaneBounds.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <set>

using namespace mlir;
using namespace tilewright;

/// Conditions from which on a bound, itself some instructions, is worth it.
static constexpr size_t leastConditions = 4;

ValidExtent tilewright::validExtent(const LaneContext &context, AffineMap map, unsigned result, ValueRange operands) {
  AffineExpr extent = map.getResult(result);
  int64_t divisor = std::max<int64_t>(1, extent.getLargestKnownDivisor());
  return {affine::expandAffineExpr(context.builder, context.loc, extent, operands.take_front(map.getNumDims()),
                                   operands.drop_front(map.getNumDims())),
          divisor & -divisor};
}

/// The first of the neighbours that are inside or outside together with this position.
static int64_t firstOf(int64_t position, const ValidExtent &extent) { return position & -extent.multiple; }

/// What the bits of the worker's number add in dimension `d`: no two share a bit of the position, nor do elements with
/// them.
static SmallVector<int64_t> stepsAlong(const Distribution &distribution, unsigned d, const ValidExtent &extent) {
  SmallVector<int64_t> bits;
  for (const Point &bit : distribution.bits)
    bits.push_back(firstOf(bit[d], extent));
  return bits;
}

/// The last place of elements [first, first + count) in each dimension that is checked.
static Point lastOf(const Distribution &distribution, const ValidExtents &valid, unsigned first, unsigned count) {
  Point last(valid.size(), 0);
  for (auto [d, extent] : llvm::enumerate(valid))
    for (unsigned e = first; extent && e < first + count; ++e)
      last[d] = std::max(last[d], firstOf(distribution.elements[e][d], extent));
  return last;
}

Value tilewright::insideAll(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
                            unsigned first, unsigned count) {
  Value inside;
  Point last = lastOf(distribution, valid, first, count);
  for (auto [d, extent] : llvm::enumerate(valid)) {
    if (!extent)
      continue;
    SmallVector<int64_t> bits = stepsAlong(distribution, d, extent);
    Value position = distribution.number ? context.indexFromBits(distribution.number, bits) : Value();
    if (!position)
      position = context.index(0);
    if (last[d])
      position = arith::AddIOp::create(context.builder, context.loc, position, context.index(last[d]));
    Value below = arith::CmpIOp::create(context.builder, context.loc, arith::CmpIPredicate::slt, position, extent.end);
    inside = inside ? arith::AndIOp::create(context.builder, context.loc, inside, below).getResult() : below;
  }
  return inside;
}

LaneBounds::LaneBounds(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
                       ArrayRef<LaneRun> runs)
    : context(context), distribution(distribution), valid(valid) {
  for (LaneRun run : runs) {
    unsigned first = together.empty() ? run.first : together.back().front().first;
    if (together.empty() || !areTogether(first, run.first + run.count - first))
      together.emplace_back();
    together.back().push_back(run);
  }
  if (together.size() >= leastConditions && llvm::any_of(valid, [](const ValidExtent &e) { return bool(e); }))
    bind();
}

bool LaneBounds::areTogether(unsigned first, unsigned count) const {
  Point last = lastOf(distribution, valid, first, count);
  for (auto [d, extent] : llvm::enumerate(valid))
    for (unsigned e = first; extent && e < first + count; ++e)
      if (firstOf(distribution.elements[e][d], extent) != last[d])
        return false;
  return true;
}

void LaneBounds::bind() {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  // How many of a dimension's positions are left behind the lane's first one, as i32: the box is no longer.
  SmallVector<Value> left(valid.size());
  size_t most = 0;
  for (auto [d, extent] : llvm::enumerate(valid)) {
    if (!extent)
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
    Value end = arith::MaxSIOp::create(builder, loc, extent.end, context.index(0));
    end = context.toI32(arith::MinSIOp::create(builder, loc, end, context.index(length)));
    Value first = distribution.number ? context.fromBits(distribution.number, bits) : Value();
    left[d] = first ? arith::SubIOp::create(builder, loc, end, first).getResult() : end;
  }
  auto greater = [&](Value bound, int64_t place) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, bound, context.i32(place));
  };
  for (unsigned e = 0; e < distribution.elements.size(); ++e) {
    Point others = lastOf(distribution, valid, e, 1);
    others[along] = 0;
    auto [found, isNew] = bounds.try_emplace(others);
    if (!isNew)
      continue;
    Value inside;
    for (unsigned d = 0; d < valid.size(); ++d)
      if (valid[d] && d != along) {
        Value below = greater(left[d], others[d]);
        inside = inside ? arith::AndIOp::create(builder, loc, inside, below).getResult() : below;
      }
    found->second =
        inside ? arith::SelectOp::create(builder, loc, inside, left[along], context.i32(0)).getResult() : left[along];
  }
}

Value LaneBounds::inside(unsigned first, unsigned count) const {
  if (bounds.empty())
    return insideAll(context, distribution, valid, first, count);
  Point others = lastOf(distribution, valid, first, count);
  int64_t place = std::exchange(others[along], 0);
  auto found = bounds.find(others);
  if (found == bounds.end())
    return insideAll(context, distribution, valid, first, count);
  return arith::CmpIOp::create(context.builder, context.loc, arith::CmpIPredicate::sgt, found->second,
                               context.i32(place));
}
