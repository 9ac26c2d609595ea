//===- LaneUnits.cpp - Units that read the scratchpad themselves ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Such a unit goes on beside the lanes of its group. Where a role of the
/// block fills its stages, the multi-stage buffer says when it is done (LaneRingWriter.cpp);
/// else its results are awaited before their first use:
///
///   %c = tile.mma %a, %b, %c     fence; unit
///   %d = tile.mma %a, %e, %d     unit
///   tile.map %c                  commit; wait; ..
///
//===----------------------------------------------------------------------===//

#include "core/Machine/ExternalCall.h"
#include "core/Machine/LaneChecks.h"
#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright;

/// All lanes of the block meet, and units and engines see what they wrote.
void LaneWriter::barrier() {
  if (shape.groupLanes && !ring)
    context.ops.fenceEngines(builder, context.loc);
  context.ops.barrier(builder, context.loc);
}

/// Whether `op` must come after the units that are under way.
bool LaneWriter::awaitsUnits(Operation &op) const {
  if (running.empty())
    return false;
  if (ring && (ring->isWait(&op) || op.hasAttr(engineAttr))) // another role's copies, and the wait for them
    return false;
  auto isRunning = [&](Value value) { return llvm::is_contained(running, value); };
  if (auto mma = dyn_cast<tile::MmaOp>(op))
    return barriers.needs(&op) || isRunning(mma.getA()) || isRunning(mma.getB()) ||
           (isRunning(mma.getC()) && !mma.getC().hasOneUse());
  return barriers.needs(&op) || llvm::any_of(op.getOperands(), isRunning) ||
         !(isa<tile::LoadOp>(op) || isMemoryEffectFree(&op));
}

/// Awaits the units that are under way, and takes their results. `givesTurn`: lanes go on with them in this step, so
/// that it is another group's turn as soon as the units are issued, which work in order.
void LaneWriter::finishUnits(bool givesTurn) {
  if (running.empty() && !isLaterStep)
    return;
  context.ops.commitUnits(builder, context.loc);
  if (givesTurn && arrive && hasTurn) {
    meetInTurn(nextMember(), /*waits=*/false);
    hasTurn = false;
  }
  SmallVector<Value> results = context.ops.waitUnits(builder, context.loc, 0, valuesOf(running));
  for (auto [old, result] : llvm::zip(running, results))
    values.map(old, result);
  running.clear();
  if (Value isLater = std::exchange(isLaterStep, {})) {
    awaitReaders();
    position->releasePrevious(lane, isLater);
  }
}

/// At the start of a step of `op`, written as `loop`: units that end the step before may be under way.
void LaneWriter::takeCarried(scf::ForOp op, scf::ForOp loop) {
  for (auto [argument, yielded] : llvm::zip(op.getRegionIterArgs(), op.getYieldedValues()))
    if (yielded.getDefiningOp<tile::MmaOp>())
      running.push_back(argument);
  fenced = nullptr;
  isLaterStep = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ne, loop.getInductionVar(),
                                      loop.getLowerBound());
}

//===-- Turns -------------------------------------------------------------===//

/// Two groups meet at a barrier for each turn: that whose turn it is, and the one before it, which does not wait.
void LaneWriter::meetInTurn(Value member, bool waits) {
  Value number = arith::AddIOp::create(builder, context.loc, member, context.i32(members() + 1)); // behind `storeTiles`
  if (waits)
    context.ops.groupBarrier(builder, context.loc, number, 2 * shape.groupLanes);
  else
    makeByRecord(builder, context.loc, *arrive, number, 2 * shape.groupLanes);
}

Value LaneWriter::nextMember() {
  Value isLast =
      arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, group, context.i32(members() - 1));
  Value next = arith::AddIOp::create(builder, context.loc, group, context.i32(1));
  return arith::SelectOp::create(builder, context.loc, isLast, context.i32(0), next);
}

/// `work` of the groups whose number is not `member`.
void LaneWriter::unlessMember(int64_t member, llvm::function_ref<void()> work) {
  Value others = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ne, group, context.i32(member));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, others).thenBlock());
  work();
}

/// The first turn is that of group 0; the others wait for theirs before the first step.
LogicalResult LaneWriter::startTurns(scf::ForOp op) {
  if (!ring || !ring->inTurns || !ring->isStep(op) || members() == 1)
    return success();
  if (!arrive) {
    auto found = llvm::find_if(instructions, [](const LaneInstruction &each) { return each.does == "group_arrive"; });
    arrive = found == instructions.end() ? nullptr : &*found;
    if (!arrive || ring->defers)
      return op.emitOpError() << "has units in turns, for which "
                              << (ring->defers ? "a step must read what they add up"
                                               : "the chip's `laneInstructions` lack \"group_arrive\"");
  }
  hasTurn = true;
  if (op == scf::ForOp(ring->steps.front().loop))
    unlessMember(0, [&] { meetInTurn(group, /*waits=*/true); });
  return success();
}

/// Behind the last step: whoever waits for a turn gets it.
void LaneWriter::endTurns(scf::ForOp op) {
  if (arrive && op == scf::ForOp(ring->steps.back().loop))
    unlessMember(members() - 1, [&] { meetInTurn(nextMember(), /*waits=*/false); });
}

//===-- Units -------------------------------------------------------------===//

LogicalResult LaneWriter::groupUnit(tile::MmaOp op, const MatrixUnit &unit) {
  SmallVector<Value> operands;
  const bool inBlock = accumulatesInBlock(unit);
  if (inBlock && !issues)
    return op.emitOpError() << "multiplies by unit " << op.getUnit()
                            << ", whose accumulators are in a memory of the block: it must stand in the loops of a "
                               "multi-stage buffer, in which nothing but such units uses them";
  auto valueOf = [&](Value old) { return value(old); };
  // Registers that lanes write behind the last fence need another one.
  auto isWritten = [&](Value value) {
    Operation *made = value.getDefiningOp();
    return !fenced || (made && made->getBlock() == op->getBlock() && fenced->getBlock() == op->getBlock() &&
                       fenced->isBeforeInBlock(made) && !llvm::is_contained(running, value));
  };
  const bool takesA = unit.a.residence != Residence::Scratchpad;
  const bool isDeferred = ring && ring->defers;
  if (!isDeferred && (running.empty() || isWritten(op.getC()) || (takesA && isWritten(op.getA())))) {
    context.ops.beginUnits(builder, context.loc);
    fenced = op;
  }
  // Behind the fence of registers: nothing that lanes compute is to take time of the turn.
  if (arrive && !hasTurn) {
    meetInTurn(group, /*waits=*/true);
    hasTurn = true;
  }
  for (bool isA : {true, false}) {
    if ((isA ? unit.a : unit.b).residence != Residence::Scratchpad) {
      operands.push_back(value(isA ? op.getA() : op.getB()));
      continue;
    }
    auto load = (isA ? op.getA() : op.getB()).getDefiningOp<tile::LoadOp>();
    if (!load || (unit.completion != Completion::WaitGroup && !inBlock))
      return op.emitOpError()
             << "multiplies by unit " << op.getUnit() << ", which reads " << (isA ? "a" : "b")
             << " in the scratchpad: it must be a tile.load from there, and the unit be awaited by groups";
    FailureOr<LaneArray> array = arrayOf(load, load.getMemref());
    if (failed(array))
      return failure();
    auto described = describeOperand(context, load, *array, isA, position ? position->slot : Value(), valueOf);
    if (failed(described))
      return failure();
    Value along = arith::ConstantIntOp::create(builder, context.loc, described->second ? 1 : 0, 64);
    operands.append({described->first, along});
  }
  operands.push_back(value(op.getC()));
  if (op.getIndex() && !inBlock)
    operands.push_back(value(op.getIndex()));
  SmallVector<Type> result;
  if (inBlock) { // whether they hold anything
    Value holds = operands.pop_back_val();
    operands.push_back(addressOf(op.getC()));
    if (failed(findScales(op, unit, operands)))
      return failure();
    operands.push_back(holds);
  } else {
    result.push_back(value(op.getC()).getType());
  }
  std::string name = (unitPrefix + op.getUnit()).str();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    func::FuncOp::create(builder, op.getLoc(), name,
                         builder.getFunctionType(SmallVector<Type>(ValueRange(operands).getTypes()), result))
        .setPrivate();
  }
  auto call = func::CallOp::create(builder, op.getLoc(), name, TypeRange(result), operands);
  values.map(op.getResult(), inBlock ? constant(builder.getI1Type(), builder.getBoolAttr(true)) : call.getResult(0));
  if (isDeferred)
    return success();
  llvm::erase(running, op.getC());
  running.push_back(op.getResult());
  return success();
}
