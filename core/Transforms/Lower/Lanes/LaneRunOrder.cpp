//===- LaneRunOrder.cpp - Lanes that write other runs meanwhile -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the runs of a lane in the order that RunOrder.h chooses. Lanes that
/// exchange two runs take their elements from each other's place, then all write at
/// addresses in which one more bit of the lane's number stands for the run:
///
///   lanes whose bit of the swap is clear   write run 0, then run 2     address(lane, run)     run: 0, then 1
///   lanes in which it is set               write run 2, then run 0                                 1, then 0
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/RunOrder.h"
#include "core/Transforms/Lower/Lanes/LaneAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilewright;

/// Element `e` of a dense `box`, bytes, and the other way round.
static int64_t offsetOf(const LaneArray &box, const Point &point, int64_t bytes) {
  return (point[0] * box.type.getDimSize(1) + point[1]) * bytes;
}
static Point pointOf(const LaneArray &box, int64_t offset, int64_t bytes) {
  int64_t columns = box.type.getDimSize(1);
  return {offset / bytes / columns, offset / bytes % columns};
}

static FailureOr<LaneAccess> accessTo(const LaneContext &context, const LaneArray &box,
                                      const Distribution &distribution) {
  MLIRContext *mlir = context.builder.getContext();
  AffineExpr zero = getAffineConstantExpr(0, mlir);
  return LaneAccess::create(context, box, AffineMap::get(0, 0, {zero, zero}, mlir), {},
                            AffineMap::getMultiDimIdentityMap(2, mlir), distribution);
}

/// The writes of an access whose runs are equally wide; no runs where they are not.
static LaneWrites writesOf(const LaneAccess &access, const LaneArray &box, const Distribution &distribution) {
  LaneWrites writes;
  int64_t bytes = access.elementBytes();
  for (const Point &bit : distribution.bits)
    writes.bits.push_back(offsetOf(box, bit, bytes));
  SmallVector<LaneRun> runs = access.runs(16);
  writes.width = runs.front().count * bytes;
  for (LaneRun run : runs) {
    if (run.count != runs.front().count)
      return {};
    writes.runs.push_back(offsetOf(box, distribution.elements[run.first], bytes));
  }
  if (tile::ArrangementAttr arrangement = box.arrangement) {
    if (arrangement.getPadding() || arrangement.getGroups() != 1 || arrangement.getSwizzleAgain())
      return {};
    writes.swizzleBits = arrangement.getSwizzleBits();
    writes.swizzleBase = arrangement.getSwizzleBase();
    writes.swizzleShift = arrangement.getSwizzleShift();
  }
  return writes;
}

LogicalResult tilewright::storeInOrder(const LaneContext &context, const LaneArray &box,
                                       const Distribution &distribution, Value vector, int64_t subgroupLanes,
                                       const Memory &memory, double issueSlots) {
  FailureOr<LaneAccess> access = accessTo(context, box, distribution);
  if (failed(access))
    return failure();
  LaneWrites writes = writesOf(*access, box, distribution);
  writes.lanes = subgroupLanes;
  RunOrder order;
  if (distribution.number && !writes.runs.empty())
    order = orderRuns(writes, memory, issueSlots);
  if (order.swaps.empty()) {
    storeElements(context, *access, distribution, {}, vector);
    return success();
  }

  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  int64_t bytes = access->elementBytes(), first = distribution.bits.size();
  llvm::DenseMap<int64_t, int64_t> elementAt;
  for (auto [e, point] : llvm::enumerate(distribution.elements))
    elementAt[offsetOf(box, point, bytes)] = e;
  auto partner = [&](int64_t e, int64_t step) {
    return elementAt.at(offsetOf(box, distribution.elements[e], bytes) ^ step);
  };
  Distribution exchanged = distribution;
  for (auto [i, swap] : llvm::enumerate(order.swaps)) {
    SmallVector<int64_t> others;
    for (int64_t e = 0; e < int64_t(distribution.elements.size()); ++e)
      others.push_back(partner(e, swap.step));
    Value bit = arith::ShRUIOp::create(builder, loc, distribution.number, context.i32(swap.bit));
    bit = arith::AndIOp::create(builder, loc, bit, context.i32(1));
    Value isSet = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bit, context.i32(0));
    Value other = vector::ShuffleOp::create(builder, loc, vector, vector, others);
    vector = arith::SelectOp::create(builder, loc, isSet, other, vector);
    Value run = arith::ShLIOp::create(builder, loc, bit, context.i32(first + i));
    exchanged.number = arith::OrIOp::create(builder, loc, exchanged.number, run);
    exchanged.bits.push_back(pointOf(box, swap.step, bytes));
  }
  // The runs that a lane writes one after the other: none of the swaps' steps, each, all.
  for (int64_t turn = 0; turn < int64_t(1) << order.swaps.size(); ++turn) {
    Distribution part = exchanged;
    part.elements.clear();
    if (turn)
      part.number = arith::XOrIOp::create(builder, loc, part.number, context.i32(turn << first));
    SmallVector<int64_t> from;
    for (auto [e, point] : llvm::enumerate(distribution.elements)) {
      if (llvm::any_of(order.swaps, [&](const RunSwap &swap) { return offsetOf(box, point, bytes) & swap.step; }))
        continue;
      int64_t own = e;
      for (auto [i, swap] : llvm::enumerate(order.swaps))
        own = turn >> i & 1 ? partner(own, swap.step) : own;
      part.elements.push_back(point);
      from.push_back(own);
    }
    FailureOr<LaneAccess> some = accessTo(context, box, part);
    if (failed(some))
      return failure();
    storeElements(context, *some, part, {}, vector::ShuffleOp::create(builder, loc, vector, vector, from));
  }
  return success();
}
