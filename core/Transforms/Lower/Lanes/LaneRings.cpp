//===- LaneRings.cpp - Multi-stage buffers between roles of a block -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the multi-stage buffer of a launch and writes its waits and arrivals.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneRings.h"
#include "core/Analysis/ElementType.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/PointerOffset.h"

using namespace mlir;
using namespace tilewright;

//===-- Analysis ----------------------------------------------------------===//

FailureOr<std::optional<LaneRing>> tilewright::findRing(func::FuncOp launch) {
  LaneRing ring;
  LogicalResult result = success();
  launch.walk([&](tile::CopyOp copy) {
    auto engine = copy->getAttrOfType<StringAttr>(engineAttr);
    if (!engine || failed(result))
      return;
    auto loop = dyn_cast<scf::ForOp>(copy->getParentOp());
    auto wait = copy.getToken().hasOneUse() ? dyn_cast<tile::WaitOp>(*copy.getToken().user_begin()) : tile::WaitOp();
    auto type = cast<MemRefType>(copy.getDestination().getType());
    if (!loop || !wait || wait->getBlock() != copy->getBlock() || (ring.wait && ring.wait != wait) ||
        (ring.loop && type.getDimSize(0) != ring.stages)) {
      result = copy.emitOpError()
               << "names the engine \"" << engine.getValue()
               << "\", but is no part of a multi-stage buffer: one loop of the launch whose iterations copy into "
                  "a stage, wait once and read it";
      return;
    }
    ring.loop = loop;
    ring.wait = wait;
    ring.stages = type.getDimSize(0);
    int64_t bytes = elementBytes(type.getElementType());
    for (int64_t extent : copy.getShape())
      bytes *= extent;
    ring.stageBytes += bytes;
    // What reads the stage does so after the wait, in the same iteration.
    for (Operation *user : copy.getDestination().getUsers()) {
      auto load = dyn_cast<tile::LoadOp>(user);
      if (succeeded(result) && load && (load->getBlock() != copy->getBlock() || load->isBeforeInBlock(wait)))
        result = load.emitOpError() << "reads a stage of a multi-stage buffer elsewhere than after its wait";
    }
  });
  if (failed(result))
    return failure();
  return ring.loop ? std::optional(ring) : std::nullopt;
}

void tilewright::addRoles(tile::ParallelOp grid, const LaneHierarchy &hierarchy, LaunchShape &shape) {
  int64_t lanes = hierarchy.lanes, stages = 0;
  grid.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto fragment = dyn_cast<tile::FragmentType>(type))
        lanes = std::max<int64_t>(lanes, fragment.getLayout().getNumLanes());
    if (auto parallel = dyn_cast<tile::ParallelOp>(op); parallel && parallel.getLevel() == hierarchy.cluster)
      for (AffineExpr bound : parallel.getUpperBounds().getResults())
        if (auto number = dyn_cast<AffineConstantExpr>(bound))
          shape.cluster *= number.getValue();
    if (auto copy = dyn_cast<tile::CopyOp>(op); copy && copy->hasAttr(engineAttr))
      stages = cast<MemRefType>(copy.getDestination().getType()).getDimSize(0);
  });
  if (lanes > hierarchy.lanes) {
    shape.threads = shape.threads / hierarchy.lanes * lanes;
    shape.groupLanes = lanes;
  }
  if (!stages)
    return;
  int64_t groups = shape.threads / lanes;
  bool stores = false;
  grid.walk([&](tile::StoreOp op) { stores |= storeLine(op, hierarchy.lanes) != 0; });
  shape.copiers = lanes; // registers are given away by groups
  shape.threads += lanes;
  shape.sharedBytes += phaseBytes(stages) + (stores ? 2 * groups * storeBytes : 0);
}

//===-- Positions ---------------------------------------------------------===//

Value RingPosition::object(Value stage, int64_t first) const {
  OpBuilder &builder = context.builder;
  Type word = builder.getI64Type();
  return LLVM::GEPOp::create(builder, context.loc, phases.getType(), word,
                             first ? elementBehind(builder, context.loc, phases, word, first) : phases,
                             ArrayRef<LLVM::GEPArg>{stage});
}

void RingPosition::makePhases(Value thread, int64_t groups, int64_t blocks) {
  cluster = blocks;
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, context.i32(0));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(scf::IfOp::create(builder, loc, isFirst).thenBlock());
    for (int64_t stage = 0; stage < ring.stages; ++stage) {
      context.ops.makePhase(builder, loc, object(context.i32(stage), 0), 1);
      context.ops.makePhase(builder, loc, object(context.i32(stage), ring.stages), groups * cluster);
    }
    context.ops.fenceEngines(builder, loc);
  }
  if (cluster > 1)
    context.ops.clusterBarrier(builder, loc);
  else
    context.ops.barrier(builder, loc);
}

void RingPosition::start(bool copies) {
  slot = context.i32(0);
  parity = context.i32(copies ? 1 : 0); // a fresh object lets the copies pass
}

void RingPosition::fill() {
  context.ops.awaitPhase(context.builder, context.loc, object(slot, ring.stages), parity);
  context.ops.arrivePhase(context.builder, context.loc, full(), ring.stageBytes);
}

void RingPosition::awaitFull() { context.ops.awaitPhase(context.builder, context.loc, full(), parity); }

void RingPosition::releasePrevious(Value lane, Value condition) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  Value releases = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, context.i32(0));
  if (condition)
    releases = arith::AndIOp::create(builder, loc, releases, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scf::IfOp::create(builder, loc, releases).thenBlock());
  Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, slot, context.i32(0));
  Value before = arith::SubIOp::create(builder, loc, slot, context.i32(1));
  Value previous = arith::SelectOp::create(builder, loc, isZero, context.i32(ring.stages - 1), before);
  Value empty = object(previous, ring.stages);
  for (int64_t block = 0; block < cluster; ++block) // each block's copies come to all
    context.ops.arrivePhase(builder, loc, empty, 0, cluster > 1 ? context.i32(block) : Value());
}

void RingPosition::advance() {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  Value next = arith::AddIOp::create(builder, loc, slot, context.i32(1));
  Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, context.i32(ring.stages));
  slot = arith::SelectOp::create(builder, loc, wraps, context.i32(0), next);
  Value turned = arith::XOrIOp::create(builder, loc, parity, context.i32(1));
  parity = arith::SelectOp::create(builder, loc, wraps, turned, parity);
}
