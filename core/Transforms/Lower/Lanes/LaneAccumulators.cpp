//===- LaneAccumulators.cpp - Accumulators in a memory of the block -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Units that one lane of a group issues, and whose accumulators lanes read. The
/// fragment of the program is no value of a lane while units add to it; loops carry whether it
/// holds anything yet:
///
///   take entries; barrier; read their address
///   for tiles {
///     end accesses; barrier of the group                     nobody reads any longer what is overwritten
///     if first lane { for k { wait full[s]; begin accesses; units (k > 0); commit to empty[s]; s = s + 1 } }
///     if first lane { commit to finished[group] }
///     wait finished[group]; begin accesses
///     read some entries, store them, ..
///   }
///   end accesses; barrier; begin accesses; free entries
///
/// The other lanes wait for no stage: phases of one could end twice before they look.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/ScaleImage.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "tilewright/BlockAccumulators.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/PointerOffset.h"

using namespace mlir;
using namespace tilewright;

//===-- Places ------------------------------------------------------------===//

/// What a chain of units and loops begins as.
static Value beginOf(Value fragment) {
  for (;;) {
    if (auto mma = fragment.getDefiningOp<tile::MmaOp>()) {
      fragment = mma.getC();
      continue;
    }
    scf::ForOp loop = fragment.getDefiningOp<scf::ForOp>();
    if (loop) {
      fragment = loop.getInitArgs()[cast<OpResult>(fragment).getResultNumber()];
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(fragment);
    loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
    if (!loop || argument.getArgNumber() == 0)
      return fragment;
    fragment = loop.getInitArgs()[argument.getArgNumber() - 1];
  }
}

/// A zero for each use: chains that begin as the same one add up apart.
static void separateZeros(Operation *launch) {
  launch->walk([](tile::ZeroOp zero) {
    for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(zero->getUses())))
      use.set(OpBuilder(zero).clone(*zero)->getResult(0));
  });
}

LogicalResult AccumulatorPlaces::find(Operation *launch, const TargetDescription &chip) {
  auto unitInBlock = [&](tile::MmaOp mma) {
    const MatrixUnit *unit = chip.unit(mma.getUnit());
    return unit && accumulatesInBlock(*unit) ? unit : nullptr;
  };
  if (llvm::none_of(chip.units(), accumulatesInBlock))
    return success();
  auto isInBlock = [&](tile::MmaOp mma) { return unitInBlock(mma) ? WalkResult::interrupt() : WalkResult::advance(); };
  if (launch->walk(isInBlock).wasInterrupted())
    separateZeros(launch);
  auto result = launch->walk([&](tile::MmaOp mma) -> WalkResult {
    const MatrixUnit *unit = unitInBlock(mma);
    if (!unit)
      return WalkResult::advance();
    memory = chip.graph().named(unit->c.memory);
    Value begin = beginOf(mma.getC());
    if (!begin.getDefiningOp<tile::ZeroOp>() || !mma.getC().hasOneUse())
      return mma.emitOpError() << "adds to accumulators in the memory \"" << unit->c.memory
                               << "\" that do not begin as a tile.zero, or that something else uses, too";
    if (first.try_emplace(begin, entriesOfGroup).second)
      entriesOfGroup += unit->c.layout.numElements();
    return findsBesidesInBlock(*unit) ? WalkResult(findScales(mma, *unit, chip)) : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

std::optional<int64_t> AccumulatorPlaces::entryOf(Value fragment) const {
  if (!any() || !isa<tile::FragmentType>(fragment.getType()))
    return std::nullopt;
  auto found = first.find(beginOf(fragment));
  return found == first.end() ? std::nullopt : std::optional(found->second);
}

//===-- The block ---------------------------------------------------------===//

/// The first subgroup of the block does `work`.
static void byFirstSubgroup(LaneContext &context, Value thread, int64_t lanes, function_ref<void()> work) {
  OpBuilder &builder = context.builder;
  Value isFirst = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ult, thread, context.i32(lanes));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, isFirst).thenBlock());
  work();
}

/// Before the barrier behind which barrier objects are known. The place of the address follows them.
void LaneWriter::takeAccumulators(int64_t groups) {
  const int64_t behind = sharedUsed + phaseBytes(ring->stages) + accumulatorBytes(groups) - 8;
  accumulatorsAt = elementBehind(builder, context.loc, shared, builder.getI8Type(), behind);
  byFirstSubgroup(context, thread, hierarchy.lanes, [&] {
    blockOps->takeAccumulators(builder, context.loc, accumulatorsAt, *accumulators.entries(groups, ring->stages));
  });
}

void LaneWriter::learnAccumulators() {
  accumulatorsAt = LLVM::LoadOp::create(builder, context.loc, builder.getI32Type(), accumulatorsAt, /*alignment=*/4);
}

void LaneWriter::freeAccumulators(int64_t groups) {
  blockOps->endAccesses(builder, context.loc);
  context.ops.barrier(builder, context.loc);
  blockOps->beginAccesses(builder, context.loc);
  byFirstSubgroup(context, thread, hierarchy.lanes, [&] {
    blockOps->freeAccumulators(builder, context.loc, accumulatorsAt, *accumulators.entries(groups, ring->stages));
  });
}

//===-- A tile ------------------------------------------------------------===//

/// The lanes of the group have read what units overwrite from here on.
void LaneWriter::beginAccumulators() {
  const bool again = scf::ForOp(ring->steps.front().loop)->getParentOfType<scf::ForOp>() != nullptr;
  if (begun || !again || !group)
    return;
  begun = true;
  blockOps->endAccesses(builder, context.loc);
  Value number = arith::AddIOp::create(builder, context.loc, group, context.i32(1));
  context.ops.groupBarrier(builder, context.loc, number, shape.groupLanes);
}

/// The address of the group's entries of `fragment`.
Value LaneWriter::addressOf(Value fragment) {
  Value before = arith::MulIOp::create(builder, context.loc, group, context.i32(accumulators.entriesOfGroup));
  before = arith::AddIOp::create(builder, context.loc, before, context.i32(*accumulators.entryOf(fragment)));
  return arith::AddIOp::create(builder, context.loc, accumulatorsAt, before);
}

/// The outermost of the loops that units of a tile stand in: one lane runs it.
LogicalResult LaneWriter::issue(scf::ForOp op) {
  if (role != Role::Rest || !ring || !ring->isAround(op) || !ring->defers || !lane)
    return op.emitOpError() << "adds to accumulators in a memory of the block, but is no loop of a multi-stage buffer "
                               "in which nothing but units uses them";
  Value isFirst = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, lane, context.i32(0));
  SmallVector<Value, 3> before = position->state();
  auto branch = scf::IfOp::create(builder, context.loc, ValueRange(before).getTypes(), isFirst, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  issues = true;
  LogicalResult written = loop(op);
  issues = false;
  if (failed(written))
    return failure();
  builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(builder, context.loc, position->state());
  builder.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(builder, context.loc, before);
  position->take(branch.getResults());
  for (Value result : op.getResults())
    values.erase(result); // it is where lanes read it
  underWay = true;
  return success();
}

/// Before `op`: awaits the units if it uses what they have added up, and reads that as a whole unless it is stored in
/// parts.
LogicalResult LaneWriter::finishAccumulators(Operation &op) {
  SmallVector<Value> used;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isInBlock(operand) && !llvm::is_contained(used, operand) && !operand.getDefiningOp<tile::ZeroOp>() &&
          !op.isAncestor(operand.getParentBlock()->getParentOp()))
        used.push_back(operand);
  });
  if (used.empty())
    return success();
  if (std::exchange(underWay, false)) {
    begun = false;
    Value isFirst = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, lane, context.i32(0));
    Value object = position->finished(group);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, isFirst).thenBlock());
      blockOps->commitUnitsTo(builder, context.loc, object);
    }
    context.ops.awaitPhase(builder, context.loc, object, position->round);
    blockOps->beginAccesses(builder, context.loc);
    position->round = arith::XOrIOp::create(builder, context.loc, position->round, context.i32(1));
  }
  if (isa<tile::StoreOp>(op) || leavesInParts(&op))
    return success();
  for (Value fragment : used) {
    FailureOr<Value> read = readAccumulators(fragment, allElements(cast<tile::FragmentType>(fragment.getType())));
    if (failed(read))
      return failure();
    values.map(fragment, *read);
  }
  return success();
}

FailureOr<Value> LaneWriter::readAccumulators(Value fragment, ArrayRef<int64_t> elements) {
  auto type = cast<tile::FragmentType>(fragment.getType());
  Layout layout = type.getLayout().getValue();
  Value inSubgroup = context.i32(hierarchy.lanes - 1);
  Value own = arith::AndIOp::create(builder, context.loc, lane, inSubgroup);
  Value row = arith::SubIOp::create(builder, context.loc, lane, own), address = addressOf(fragment);
  auto entryOf = [&](int64_t element) { return layout.at(0, element).col; };
  SmallVector<Value> words;
  for (size_t i = 0; i < elements.size();) { // entries that follow each other at once
    size_t end = i + 1;
    while (end < elements.size() && entryOf(elements[end]) == entryOf(elements[end - 1]) + 1)
      ++end;
    llvm::append_range(
        words, blockOps->readAccumulators(builder, context.loc, address, row, entryOf(elements[i]), int64_t(end - i)));
    i = end;
  }
  words = blockOps->awaitReads(builder, context.loc, words);
  auto integers = VectorType::get(int64_t(words.size()), builder.getI32Type());
  Value all = vector::FromElementsOp::create(builder, context.loc, integers, words);
  if (type.getElementType().isInteger(32))
    return all;
  return LLVM::BitcastOp::create(builder, context.loc, VectorType::get(int64_t(words.size()), type.getElementType()),
                                 all)
      .getResult();
}
