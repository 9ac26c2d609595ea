//===- LaneRingWriter.cpp - Lane code of multi-stage buffers --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The two roles of a launch with a multi-stage buffer, when its units are done, and results that
/// leave through the scratchpad.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/BlockAccumulators.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/PointerOffset.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// From `first` on, which the multi-stage buffer stands in, some lanes start its copies and the others do the rest.
LogicalResult LaneWriter::split(Operation *first) {
  int64_t groups = members();
  bool stores = false;
  function.walk([&](tile::StoreOp op) { stores |= storeLine(op, hierarchy.lanes) != 0; });
  if (stores && shared) {
    results = elementBehind(builder, context.loc, shared, builder.getI8Type(), sharedUsed);
    sharedUsed += 2 * groups * storeBytes;
  }
  const int64_t bytes = phaseBytes(ring->stages) + (accumulators.any() ? accumulatorBytes(groups) : 0);
  if (!shared || sharedUsed + bytes > shape.sharedBytes)
    return ring->steps.front().wait.emitOpError()
           << "has a multi-stage buffer, but the launch has no place for its barrier objects in the scratchpad";
  if (accumulators.any() && !accumulators.entries(groups, ring->stages))
    return ring->steps.front().wait.emitOpError()
           << "stands in a multi-stage buffer of " << ring->stages << " stages for " << groups << " groups, each with "
           << accumulators.entriesOfGroup << " entries for accumulators and in each stage " << accumulators.scaleEntries
           << " for scales, which the memory of the block has not";
  Value phases = elementBehind(builder, context.loc, shared, builder.getI8Type(), sharedUsed);
  position.emplace(context, *ring, phases);
  if (accumulators.any())
    takeAccumulators(groups);
  position->makePhases(thread, groups, shape.cluster, accumulators.any());
  if (accumulators.any())
    learnAccumulators();
  Value isCopier =
      arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ult, thread, context.i32(shape.copiers));
  auto branch = scf::IfOp::create(builder, context.loc, isCopier, /*withElseRegion=*/true);
  // Registers that the producer role does without go to the others, where those would have fewer.
  int64_t registers = groupRegisters(target, shape.groupLanes, groups);
  bool moves = target.graph().registerPool()->entries / shape.threads < registers;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (moves)
    context.ops.resizeRegisters(builder, context.loc, copierRegisters, /*grows=*/false);
  Value isFirst = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, thread, context.i32(0));
  builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, isFirst).thenBlock());
  role = Role::Copies;
  position->start(/*copies=*/true);
  if (failed(copies(first)))
    return failure();
  builder.setInsertionPointToStart(branch.elseBlock());
  if (moves)
    context.ops.resizeRegisters(builder, context.loc, registers, /*grows=*/true);
  role = Role::Rest;
  position->start(/*copies=*/false);
  if (accumulators.any())
    position->round = context.i32(0);
  for (Operation *op = first; op != first->getBlock()->getTerminator(); op = op->getNextNode()) {
    context.loc = op->getLoc();
    if (failed(lower(*op)))
      return failure();
  }
  if (stored) { // nothing may be on its way when the block ends
    Value member = arith::AndIOp::create(builder, context.loc, thread, context.i32(shape.groupLanes - 1));
    Value isFirstOfGroup =
        arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, member, context.i32(0));
    builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, isFirstOfGroup).thenBlock());
    context.ops.waitStores(builder, context.loc, 0);
  }
  role = Role::All;
  if (accumulators.any()) {
    builder.setInsertionPointAfter(branch);
    freeAccumulators(groups);
  }
  if (shape.cluster > 1) { // no block ends while another may still write to it
    builder.setInsertionPointAfter(branch);
    context.ops.clusterBarrier(builder, context.loc);
  }
  return success();
}

/// The producer role from `first` to the end of its block: loops around the multi-stage buffer, its copies, and what
/// computes where.
LogicalResult LaneWriter::copies(Operation *first) {
  for (Operation *op = first; op != first->getBlock()->getTerminator(); op = op->getNextNode()) {
    context.loc = op->getLoc();
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      if (copy->hasAttr(engineAttr) && failed(engineCopy(copy)))
        return failure();
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && ring->isAround(op)) {
      auto own = scf::ForOp::create(builder, op->getLoc(), value(loop.getLowerBound()), value(loop.getUpperBound()),
                                    value(loop.getStep()), ValueRange{position->slot, position->parity});
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(own.getBody());
      values.map(loop.getInductionVar(), own.getInductionVar());
      position->slot = own.getRegionIterArg(0);
      position->parity = own.getRegionIterArg(1);
      const bool isStep = ring->isStep(loop);
      if (isStep)
        position->fill();
      if (failed(copies(&loop.getBody()->front())))
        return failure();
      if (isStep)
        position->advance();
      scf::YieldOp::create(builder, op->getLoc(), ValueRange{position->slot, position->parity});
      position->slot = own.getResult(0);
      position->parity = own.getResult(1);
      continue;
    }
    if (auto parallel = dyn_cast<tile::ParallelOp>(op); parallel && ring->isAround(op)) {
      for (BlockArgument argument : parallel.getBody().getArguments()) // one copy serves all
        values.map(argument, context.index(0));
      if (failed(copies(&parallel.getBody().front().front())))
        return failure();
      continue;
    }
    if (ring->isAround(op))
      return op->emitOpError() << "stands around a multi-stage buffer; copies run ahead through loops and levels only";
    auto isFragment = [](Type type) { return isa<tile::FragmentType>(type); };
    bool isScalar = llvm::none_of(op->getOperandTypes(), isFragment) && llvm::none_of(op->getResultTypes(), isFragment);
    if (isScalar && op->getNumRegions() == 0 && isMemoryEffectFree(op) && failed(lower(*op)))
      return failure();
  }
  return success();
}

/// The argument of the launch that describes these tiles.
Value LaneWriter::describedBy(const TileMap &map, Location loc) {
  Block &entry = function.front();
  unsigned first = entry.getNumArguments() - maps.size();
  size_t number = llvm::find(maps, map) - maps.begin();
  if (number == maps.size()) {
    maps.push_back(map);
    entry.addArgument(LLVM::LLVMPointerType::get(function.getContext()), loc);
  }
  return entry.getArgument(first + number);
}

FailureOr<std::pair<TileCopy, Value>>
LaneWriter::tileOf(const LaneArray &array, llvm::function_ref<FailureOr<TileCopy>(const LaneArray &)> cut) {
  if (array.choice) {
    auto yes = tileOf(array.choice->yes, cut), no = tileOf(array.choice->no, cut);
    if (failed(yes) || failed(no))
      return failure();
    yes->second = arith::SelectOp::create(builder, context.loc, array.choice->condition, yes->second, no->second);
    return yes;
  }
  FailureOr<TileCopy> tile = cut(array);
  if (failed(tile))
    return failure();
  return std::pair(*tile, describedBy(tile->map, context.loc));
}

LogicalResult LaneWriter::engineCopy(tile::CopyOp op) {
  FailureOr<LaneArray> source = arrayOf(op, op.getSource()), destination = arrayOf(op, op.getDestination());
  if (failed(source) || failed(destination))
    return failure();
  auto valueOf = [&](Value old) { return value(old); };
  // What all blocks of the cluster copy alike, each copies a part of, for all.
  bool isShared = shape.cluster > 1 && !llvm::is_contained(op.getSourceOperands(), clusterRank);
  auto found = tileOf(*source, [&](const LaneArray &array) -> FailureOr<TileCopy> {
    FailureOr<TileCopy> tile = asTile(context, op, array, *destination, valueOf);
    if (failed(tile) || !isShared)
      return tile;
    int64_t &lines = tile->map.box[tile->outer];
    if (lines % shape.cluster)
      return op.emitOpError() << "copies " << lines << " lines for " << shape.cluster
                              << " blocks of a cluster; their number must be a multiple";
    lines /= shape.cluster;
    return tile;
  });
  if (failed(found))
    return failure();
  auto &[tile, map] = *found;
  Value part;
  if (isShared) {
    Value rank = context.ops.clusterRank(builder, context.loc);
    Value before = arith::MulIOp::create(builder, context.loc, rank, context.i32(tile.map.box[tile.outer]));
    tile.coordinates[tile.outer] = arith::AddIOp::create(builder, context.loc, tile.coordinates[tile.outer], before);
    part = arith::MulIOp::create(builder, context.loc, before, context.i32(tile.outerStep));
  }
  Type byte = builder.getI8Type(), pointer = destination->pointer.getType();
  int64_t stage = elementBytes(destination->type.getElementType());
  for (int64_t extent : destination->type.getShape().drop_front())
    stage *= extent;
  Value offset = arith::MulIOp::create(builder, context.loc, position->slot, context.i32(stage));
  if (part)
    offset = arith::AddIOp::create(builder, context.loc, offset, part);
  Value to =
      LLVM::GEPOp::create(builder, context.loc, pointer, byte, destination->pointer, ArrayRef<LLVM::GEPArg>{offset});
  if (tile.offset)
    to = elementBehind(builder, context.loc, to, byte, tile.offset);
  if (!context.ops.copyTile(builder, context.loc, to, map, tile.coordinates, position->full(),
                            isShared ? (int64_t(1) << shape.cluster) - 1 : 0))
    return op.emitOpError() << "names the engine \"" << op->getAttrOfType<StringAttr>(engineAttr).getValue()
                            << "\", which the chip's operations lack";
  return success();
}

/// Lets a group's fragment leave through the scratchpad, line by line: the engine writes whole rows of a line and clips
/// them at the end of the array. False: lanes store it.
///
///   first lane: the buffer's last tile has left | all: barrier, write their elements, fence, barrier | first lane:
///   store
FailureOr<bool> LaneWriter::storeTiles(tile::StoreOp op, const LaneArray &array, const Distribution &distribution) {
  int64_t lineBytes = storeLine(op, hierarchy.lanes);
  if (role != Role::Rest || !lineBytes || !lane || !results)
    return false;
  auto valueOf = [&](Value old) { return value(old); };
  auto found = tileOf(array, [&](const LaneArray &each) { return asTile(context, op, each, lineBytes, valueOf); });
  if (failed(found))
    return false;
  auto &[tile, map] = *found;
  tile::FragmentType type = op.getValue().getType();
  int64_t bytes = elementBytes(type.getElementType()), columns = lineBytes / bytes;
  if (type.getRows() * lineBytes > storeBytes)
    return false;
  Value isFirst = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, lane, context.i32(0));
  Value barrier = arith::AddIOp::create(builder, context.loc, group, context.i32(1));
  auto byFirst = [&](llvm::function_ref<void()> work) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, isFirst).thenBlock());
    work();
  };
  const Memory &banks = *target.memory(hierarchy.scratchpad);
  double issueSlots = target.number(Number::Issue).value_or(1);
  for (int64_t first = 0; first < type.getCols(); first += columns) {
    // The elements of this line.
    Distribution part;
    part.number = distribution.number;
    part.bits = distribution.bits;
    SmallVector<int64_t> order;
    for (auto [e, point] : llvm::enumerate(distribution.elements))
      if (point[1] >= first && point[1] < first + columns) {
        order.push_back(e);
        part.elements.push_back({point[0], point[1] - first});
      }
    LaneArray buffer;
    buffer.scratchpad = true;
    buffer.type = MemRefType::get({type.getRows(), columns}, type.getElementType());
    buffer.arrangement = tile::ArrangementAttr::get(builder.getContext(), llvm::Log2_64(lineBytes / 16), 4, 3, 0, 0, 1);
    Value place = arith::MulIOp::create(builder, context.loc, group, context.i32(2 * storeBytes));
    buffer.pointer = LLVM::GEPOp::create(builder, context.loc, results.getType(), builder.getI8Type(), results,
                                         ArrayRef<LLVM::GEPArg>{place});
    if (stored % 2)
      buffer.pointer = elementBehind(builder, context.loc, buffer.pointer, builder.getI8Type(), storeBytes);
    FailureOr<Value> line = someOf(op.getValue(), order);
    if (failed(line))
      return failure();
    // Two buffers in turn: the one before last must have left, and at the start of a round all of the last round.
    bool again = scf::ForOp(ring->steps.front().loop)->getParentOfType<scf::ForOp>() != nullptr;
    if (stored >= 2 || (stored == 0 && again)) {
      byFirst([&] { context.ops.waitStores(builder, context.loc, stored ? 1 : 0); });
      context.ops.groupBarrier(builder, context.loc, barrier, shape.groupLanes);
    }
    ++stored;
    if (failed(storeInOrder(context, buffer, part, *line, hierarchy.lanes, banks, issueSlots)))
      return op.emitOpError() << "has a layout whose lines cannot be written to the scratchpad";
    context.ops.fenceEngines(builder, context.loc);
    context.ops.groupBarrier(builder, context.loc, barrier, shape.groupLanes);
    SmallVector<Value> coordinates(tile.coordinates);
    if (first)
      coordinates[0] = arith::AddIOp::create(builder, context.loc, coordinates[0], context.i32(first));
    bool done = true;
    byFirst([&] {
      done = context.ops.storeTile(builder, context.loc, buffer.pointer, map, coordinates);
      context.ops.commitStores(builder, context.loc);
    });
    if (!done)
      return op.emitOpError() << "leaves by an engine, which the chip's operations lack";
  }
  return true;
}

/// The lanes of a group have read what they load from stages themselves: one of them gives a stage back for all.
void LaneWriter::awaitReaders() {
  if (!readsStages)
    return;
  Value number = arith::AddIOp::create(builder, context.loc, group, context.i32(1)); // as in `storeTiles`
  context.ops.groupBarrier(builder, context.loc, number, shape.groupLanes);
}

/// The units of a step form a group; when only that one is under way, the stage before it is free. Where the step
/// itself has awaited them, its own is.
void LaneWriter::endStep(scf::ForOp op, SmallVectorImpl<Value> &yielded, Value iv) {
  context.loc = op.getLoc();
  if (accumulators.any()) {
    blockOps->commitUnitsTo(builder, context.loc, position->empty());
    position->advance();
    return;
  }
  if (!ring->defers) {
    if (arrive && !hasTurn) // lanes end the step
      meetInTurn(group, /*waits=*/true);
    if (arrive)
      context.ops.commitUnits(builder, context.loc);
    else {
      awaitReaders();
      position->release(lane);
    }
    position->advance();
    return;
  }
  context.ops.commitUnits(builder, context.loc);
  SmallVector<unsigned> sums;
  SmallVector<Value> accumulators;
  for (auto [i, each] : llvm::enumerate(yielded))
    if (isa<VectorType>(each.getType())) {
      sums.push_back(i);
      accumulators.push_back(each);
    }
  for (auto [i, sum] : llvm::zip(sums, context.ops.waitUnits(builder, context.loc, 1, accumulators)))
    yielded[i] = sum;
  auto around = cast<scf::ForOp>(iv.getParentBlock()->getParentOp());
  Value isLater = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ne, iv, around.getLowerBound());
  awaitReaders();
  position->releasePrevious(lane, isLater);
  position->advance();
}
