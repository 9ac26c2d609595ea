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
#include "core/Machine/UnitOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/PointerOffset.h"

using namespace mlir;
using namespace tilewright;

//===-- Analysis ----------------------------------------------------------===//

/// Whether nothing in the step but units reads what units add up.
static bool addsUpOnly(scf::ForOp loop) {
  return llvm::all_of(loop.getBody()->getOps<tile::MmaOp>(), [](tile::MmaOp mma) {
    return llvm::all_of(mma->getUsers(), [](Operation *user) { return isa<tile::MmaOp, scf::YieldOp>(user); });
  });
}

FailureOr<std::optional<LaneRing>> tilewright::findRing(func::FuncOp launch) {
  LaneRing ring;
  LogicalResult result = success();
  SmallVector<Value> buffers;
  launch.walk([&](tile::CopyOp copy) {
    auto engine = copy->getAttrOfType<StringAttr>(engineAttr);
    if (!engine || failed(result))
      return;
    auto loop = dyn_cast<scf::ForOp>(copy->getParentOp());
    auto wait = copy.getToken().hasOneUse() ? dyn_cast<tile::WaitOp>(*copy.getToken().user_begin()) : tile::WaitOp();
    auto type = cast<MemRefType>(copy.getDestination().getType());
    auto steps = llvm::find_if(ring.steps, [&](const LaneRing::Steps &each) { return each.loop == loop; });
    if (!loop || !wait || wait->getBlock() != copy->getBlock() || (steps != ring.steps.end() && steps->wait != wait) ||
        (!ring.steps.empty() && type.getDimSize(0) != ring.stages)) {
      result = copy.emitOpError()
               << "names the engine \"" << engine.getValue()
               << "\", but is no part of a multi-stage buffer: loops of the launch whose iterations copy into "
                  "a stage, wait once and read it";
      return;
    }
    if (steps == ring.steps.end()) {
      ring.steps.push_back({loop, wait});
      steps = std::prev(ring.steps.end());
      ring.defers &= addsUpOnly(loop);
      ring.inTurns |= wait->hasAttr(inTurnsAttr);
    }
    ring.stages = type.getDimSize(0);
    int64_t bytes = elementBytes(type.getElementType());
    for (int64_t extent : copy.getShape())
      bytes *= extent;
    steps->bytes += bytes;
    buffers.push_back(copy.getDestination());
  });
  if (failed(result))
    return failure();
  if (ring.steps.empty())
    return std::optional<LaneRing>();
  for (const LaneRing::Steps &each : ring.steps)
    if (each.bytes != ring.stageBytes())
      return scf::ForOp(each.loop).emitOpError()
             << "copies " << each.bytes << " bytes a step into a multi-stage buffer whose other steps copy "
             << ring.stageBytes();
  // What reads the stage does so after the wait, in the same iteration.
  for (Value buffer : buffers)
    for (Operation *user : buffer.getUsers())
      if (auto load = dyn_cast<tile::LoadOp>(user))
        if (llvm::none_of(ring.steps, [&](const LaneRing::Steps &each) {
              tile::WaitOp wait = each.wait;
              return load->getBlock() == wait->getBlock() && wait->isBeforeInBlock(load);
            }))
          return load.emitOpError() << "reads a stage of a multi-stage buffer elsewhere than after its wait";
  return std::optional(ring);
}

void tilewright::addRoles(tile::ParallelOp grid, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                          LaunchShape &shape) {
  int64_t lanes = hierarchy.lanes, stages = 0;
  bool accumulates = false;
  grid.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto fragment = dyn_cast<tile::FragmentType>(type))
        lanes = std::max<int64_t>(lanes, fragment.getLayout().getNumLanes());
    if (auto parallel = dyn_cast<tile::ParallelOp>(op); parallel && parallel.getLevel() == hierarchy.cluster)
      for (AffineExpr bound : parallel.getUpperBounds().getResults())
        if (auto number = dyn_cast<AffineConstantExpr>(bound))
          shape.cluster *= number.getValue();
    if (auto mma = dyn_cast<tile::MmaOp>(op))
      if (const MatrixUnit *unit = chip.unit(mma.getUnit()))
        accumulates |= accumulatesInBlock(*unit);
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
  shape.sharedBytes += phaseBytes(stages) + (accumulates ? accumulatorBytes(groups) : 0);
  shape.sharedBytes += stores ? 2 * groups * storeBytes : 0;
}

//===-- Positions ---------------------------------------------------------===//

Value RingPosition::object(Value stage, int64_t first) const {
  OpBuilder &builder = context.builder;
  Type word = builder.getI64Type();
  return LLVM::GEPOp::create(builder, context.loc, phases.getType(), word,
                             first ? elementBehind(builder, context.loc, phases, word, first) : phases,
                             ArrayRef<LLVM::GEPArg>{stage});
}

void RingPosition::makePhases(Value thread, int64_t groups, int64_t blocks, bool finishes) {
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
    for (int64_t group = 0; finishes && group < groups; ++group)
      context.ops.makePhase(builder, loc, finished(context.i32(group)), 1);
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
  context.ops.arrivePhase(context.builder, context.loc, full(), ring.stageBytes());
}

void RingPosition::awaitFull() { context.ops.awaitPhase(context.builder, context.loc, full(), parity); }

void RingPosition::releaseStage(Value lane, Value condition, llvm::function_ref<Value()> stage) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  Value releases = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, context.i32(0));
  if (condition)
    releases = arith::AndIOp::create(builder, loc, releases, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scf::IfOp::create(builder, loc, releases).thenBlock());
  Value empty = object(stage(), ring.stages);
  for (int64_t block = 0; block < cluster; ++block) // each block's copies come to all
    context.ops.arrivePhase(builder, loc, empty, 0, cluster > 1 ? context.i32(block) : Value());
}

void RingPosition::release(Value lane) {
  releaseStage(lane, {}, [&] { return slot; });
}

void RingPosition::releasePrevious(Value lane, Value condition) {
  releaseStage(lane, condition, [&]() -> Value {
    OpBuilder &builder = context.builder;
    Location loc = context.loc;
    Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, slot, context.i32(0));
    Value before = arith::SubIOp::create(builder, loc, slot, context.i32(1));
    return arith::SelectOp::create(builder, loc, isZero, context.i32(ring.stages - 1), before);
  });
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
