//===- LaneLoops.cpp - Levels, loops and branches of one lane -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which member of a level a lane is, and what the loops around a multi-stage buffer carry.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "core/Transforms/Nests/NestRuns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

LogicalResult LaneWriter::parallel(tile::ParallelOp op) {
  AffineMap bounds = op.getUpperBounds();
  SmallVector<Value> operands = valuesOf(op.getBoundOperands());
  SmallVector<Value> indices;
  OpBuilder::InsertionGuard guard(builder);
  unsigned rank = bounds.getNumResults();
  if (op.getLevel() == hierarchy.grid) {
    if (rank > 3)
      return op.emitOpError() << "has " << rank << " indices; a grid has at most 3";
    for (unsigned i = 0; i < rank; ++i) { // the last index is the fastest
      Value number = context.ops.blockId(builder, context.loc, rank - 1 - i);
      if (i == rank - 1 && shape.cluster > 1)
        number = arith::DivUIOp::create(builder, context.loc, number, context.i32(shape.cluster));
      indices.push_back(context.toIndex(number));
    }
  } else if (!hierarchy.cluster.empty() && op.getLevel() == hierarchy.cluster && rank == 1) {
    clusterRank = op.getBody().getArgument(0);
    indices.push_back(context.toIndex(context.ops.clusterRank(builder, context.loc)));
  } else if (op.getLevel() == hierarchy.block || op.getLevel() == hierarchy.subgroup) {
    bool isBlock = op.getLevel() == hierarchy.block;
    SmallVector<int64_t> extents;
    int64_t total = 1;
    for (AffineExpr bound : bounds.getResults()) {
      auto number = dyn_cast<AffineConstantExpr>(bound);
      if (!number)
        return op.emitOpError() << "of level \"" << op.getLevel() << "\" needs constant bounds";
      extents.push_back(number.getValue());
      total *= number.getValue();
    }
    int64_t memberLanes = std::max(hierarchy.lanes, shape.groupLanes);
    int64_t members = isBlock ? (shape.threads - shape.copiers) / memberLanes : memberLanes;
    if (total > members)
      return op.emitOpError() << "has " << total << " iterations for " << members << " members of level \""
                              << op.getLevel() << "\"";
    Value own;
    if (isBlock) {
      lane = arith::AndIOp::create(builder, context.loc, thread, context.i32(memberLanes - 1));
      own = thread;
      if (shape.copiers)
        own = arith::SubIOp::create(builder, context.loc, own, context.i32(shape.copiers));
      own = arith::ShRUIOp::create(builder, context.loc, own, context.i32(llvm::Log2_64(memberLanes)));
      group = own;
    } else if (!lane) {
      return op.emitOpError() << "of level \"" << op.getLevel() << "\" must stand inside one of level \""
                              << hierarchy.block << "\"";
    } else {
      own = lane;
    }
    if (total < members) {
      Value works = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ult, own, context.i32(total));
      builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, works).thenBlock());
    }
    Value number = own;
    SmallVector<Value> reversed;
    for (int64_t i = rank - 1; i >= 0; --i) {
      bool last = i == 0;
      Value digit = last ? number : arith::RemUIOp::create(builder, context.loc, number, context.i32(extents[i]));
      if (!last)
        number = arith::DivUIOp::create(builder, context.loc, number, context.i32(extents[i]));
      reversed.push_back(context.toIndex(digit));
    }
    indices.assign(reversed.rbegin(), reversed.rend());
  } else {
    return op.emitOpError() << "has the level \"" << op.getLevel() << "\", which " << target.target() << ":"
                            << target.chip() << " does not share out over lanes";
  }
  Block &body = op.getBody().front();
  values.map(body.getArguments(), indices);
  Value outerLane = lane;
  LogicalResult result = lower(body);
  if (op.getLevel() == hierarchy.block)
    lane = nullptr;
  else
    lane = outerLane;
  return result;
}

/// Whether a compiler behind must not unroll the loop: it walks a multi-stage buffer that lanes fill, and the model has
/// counted what lanes hold in one iteration.
bool LaneWriter::keepsLength(scf::ForOp op) const {
  return !hasCopyEngine(target) && !op.getBody()->getOps<tile::MmaOp>().empty();
}

static Attribute notUnrolled(OpBuilder &builder, bool vectors = true) {
  MLIRContext *context = builder.getContext();
  BoolAttr yes = builder.getBoolAttr(true);
  auto disabled = LLVM::LoopUnrollAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  auto scalar =
      vectors ? LLVM::LoopVectorizeAttr() : LLVM::LoopVectorizeAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, scalar, {}, disabled, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
}

LogicalResult LaneWriter::loop(scf::ForOp op) {
  if (!issues && llvm::any_of(op.getResults(), [&](Value each) { return accumulators.entryOf(each).has_value(); }))
    return issue(op);
  SmallVector<Value> init;
  SmallVector<unsigned> carried; // tokens are no values
  for (auto [i, argument] : llvm::enumerate(op.getInitArgs()))
    if (!isa<tile::TokenType>(argument.getType())) {
      carried.push_back(i);
      init.push_back(value(argument));
    }
  bool inRing = ring && role == Role::Rest && ring->isAround(op); // the position runs on
  if (inRing)
    init.append(position->state());
  // A counter of known bounds has 32 bits: one register, and one instruction.
  SmallVector<Value> bounds{value(op.getLowerBound()), value(op.getUpperBound()), value(op.getStep())};
  bool narrow = !ring && llvm::all_of(bounds, [](Value bound) {
    std::optional<int64_t> known = getConstantIntValue(bound);
    return known && *known >= 0 && llvm::isInt<31>(*known);
  });
  if (narrow)
    for (Value &bound : bounds)
      bound = context.i32(*getConstantIntValue(bound));
  if (inRing && failed(startTurns(op)))
    return failure();
  auto loop = scf::ForOp::create(builder, op.getLoc(), bounds[0], bounds[1], bounds[2], init);
  if (keepsLength(op))
    loop->setAttr("loop_annotation", notUnrolled(builder));
  if (op->hasAttr(fewTimesAttr))
    loop->setAttr("loop_annotation", notUnrolled(builder, /*vectors=*/false));
  OpBuilder::InsertionGuard guard(builder);
  values.map(op.getInductionVar(), loop.getInductionVar());
  for (auto [place, i] : llvm::enumerate(carried))
    values.map(op.getRegionIterArgs()[i], loop.getRegionIterArgs()[place]);
  if (inRing) {
    position->take(loop.getRegionIterArgs());
  }
  Block *body = loop.getBody();
  if (init.empty() && !body->empty())
    body->back().erase();
  builder.setInsertionPointToEnd(body);
  if (narrow)
    values.map(op.getInductionVar(), context.toIndex(loop.getInductionVar()));
  if (carriesUnits(op))
    takeCarried(op, loop);
  if (failed(lower(*op.getBody())))
    return failure();
  if (isLaterStep) // nothing has waited for the units of the step before
    finishUnits();
  SmallVector<Value> yielded;
  for (unsigned i : carried)
    yielded.push_back(value(op.getBody()->getTerminator()->getOperand(i)));
  if (ring && ring->isStep(op))
    endStep(op, yielded, loop.getInductionVar());
  if (inRing)
    yielded.append(position->state());
  scf::YieldOp::create(builder, op.getLoc(), yielded);
  for (auto [place, i] : llvm::enumerate(carried))
    values.map(op.getResult(i), loop.getResult(place));
  if (!inRing)
    return success();
  position->take(loop.getResults());
  builder.setInsertionPointAfter(loop);
  endTurns(op);
  if (!ring->isStep(op) || !(ring->defers || carriesUnits(op)) || accumulators.any())
    return success();
  // All units are done before their results are used and the last stage is given back.
  SmallVector<unsigned> sums;
  SmallVector<Value> results;
  for (auto [place, i] : llvm::enumerate(carried))
    if (isa<tile::FragmentType>(op.getResult(i).getType()) &&
        (ring->defers || op.getYieldedValues()[i].getDefiningOp<tile::MmaOp>())) {
      sums.push_back(i);
      results.push_back(loop.getResult(place));
    }
  for (auto [i, result] : llvm::zip(sums, context.ops.waitUnits(builder, context.loc, 0, results)))
    values.map(op.getResult(i), result);
  running.clear();
  if (!op->getParentOfType<scf::ForOp>() && ring->steps.size() == 1)
    return success(); // nobody waits for the last stage
  Value any = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                    loop.getUpperBound());
  awaitReaders();
  position->releasePrevious(lane, any);
  return success();
}

LogicalResult LaneWriter::loop(scf::WhileOp op) {
  auto loop = scf::WhileOp::create(builder, op.getLoc(), op.getResultTypes(), valuesOf(op.getInits()));
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] : llvm::zip(op->getRegions(), loop->getRegions())) {
    Block &old = from.front();
    Block *body =
        builder.createBlock(&to, {}, old.getArgumentTypes(), SmallVector<Location>(old.getNumArguments(), op.getLoc()));
    values.map(old.getArguments(), body->getArguments());
    if (failed(lower(old)))
      return failure();
    builder.clone(*old.getTerminator(), values);
  }
  values.map(op.getResults(), loop.getResults());
  return success();
}

LogicalResult LaneWriter::branch(scf::IfOp op) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes()) {
    if (isa<tile::TokenType>(type))
      return op.emitOpError() << "yields a token; lanes await copies where control flow is the same for all";
    types.push_back(typeOf(type));
  }
  bool hasElse = !op.getElseRegion().empty();
  Value condition = value(op.getCondition());
  bool isOneWay = op->hasAttr(oneWayAttr);
  if (isOneWay) { // so that lanes need not be told apart
    Value bit = arith::ExtUIOp::create(builder, op.getLoc(), builder.getI32Type(), condition);
    bit = context.ops.uniform(builder, op.getLoc(), bit);
    condition = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ne, bit, context.i32(0));
  }
  auto branch = scf::IfOp::create(builder, op.getLoc(), types, condition, hasElse);
  if (isOneWay)
    branch->setAttr(oneWayAttr, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] : {std::pair(op.thenBlock(), branch.thenBlock()),
                          {hasElse ? op.elseBlock() : nullptr, hasElse ? branch.elseBlock() : nullptr}}) {
    if (!from)
      continue;
    if (!to->empty())
      to->back().erase();
    builder.setInsertionPointToEnd(to);
    if (failed(lower(*from)))
      return failure();
    scf::YieldOp::create(builder, op.getLoc(), valuesOf(from->getTerminator()->getOperands()));
  }
  values.map(op.getResults(), branch.getResults());
  return success();
}
