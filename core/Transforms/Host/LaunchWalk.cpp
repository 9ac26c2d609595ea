//===- LaunchWalk.cpp - Control flow of a launch, counted -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds which values decide, then walks loops and levels whose index is one of them and
/// multiplies the others.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/LaunchWalk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

Known OpReader::sizeOf(Value array, unsigned d) const {
  auto found = dynamicSizes.find(array);
  if (found == dynamicSizes.end())
    return std::nullopt;
  return found->second[cast<MemRefType>(array.getType()).getDynamicDimIndex(d)];
}

bool LaunchWalk::fail(Operation &op, StringRef why) {
  std::string place;
  llvm::raw_string_ostream(place) << op.getLoc();
  counts.unknown = llvm::formatv("{0} at {1}: {2}", op.getName().getStringRef(), place, why);
  return false;
}

/// Closes `decides` over what its members are computed of.
void LaunchWalk::findDecisive(func::FuncOp launch) {
  SmallVector<Value> open;
  launch.walk([&](Operation *op) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      open.push_back(branch.getCondition());
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      open.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      open.push_back(loop.getConditionOp().getCondition());
    else
      reader.decisive(*op, open);
    if (reader.asksForLane(*op))
      for (auto each = op->getParentOfType<tile::ParallelOp>(); each; each = each->getParentOfType<tile::ParallelOp>())
        if (auto shape = levelOf(each); shape && shape->by == Executions::By::Lane)
          ofLanes.insert(each);
  });
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!decides.insert(value).second)
      continue;
    if (Operation *def = value.getDefiningOp()) {
      unsigned i = cast<OpResult>(value).getResultNumber();
      if (auto loop = dyn_cast<scf::ForOp>(def)) {
        open.append({loop.getInitArgs()[i], loop.getYieldedValues()[i], loop.getInductionVar()});
      } else if (auto branch = dyn_cast<scf::IfOp>(def)) {
        open.append({branch.thenYield().getResults()[i], branch.elseYield().getResults()[i]});
      } else if (auto loop = dyn_cast<scf::WhileOp>(def)) {
        open.push_back(loop.getConditionOp().getArgs()[i]);
      } else if (def->getNumRegions() == 0) {
        llvm::append_range(open, def->getOperands());
      }
      continue;
    }
    auto argument = cast<BlockArgument>(value);
    unsigned i = argument.getArgNumber();
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && i > 0)
      open.append({loop.getInitArgs()[i - 1], loop.getYieldedValues()[i - 1]});
    else if (auto loop = dyn_cast<scf::WhileOp>(parent); loop && argument.getOwner() == loop.getBeforeBody())
      open.append({loop.getInits()[i], loop.getYieldOp()->getOperand(i)});
    else if (loop)
      open.push_back(loop.getConditionOp().getArgs()[i]);
  }
}

SmallVector<Known> LaunchWalk::numbersOf(ValueRange of) const {
  return llvm::map_to_vector(of, [&](Value each) { return isNumber(each) ? values.get(each) : std::nullopt; });
}

void LaunchWalk::assign(ValueRange to, ArrayRef<Known> numbers) {
  for (auto [value, number] : llvm::zip(to, numbers))
    if (number)
      values.set(value, *number);
    else
      values.forget(value);
}

/// A dimension of an array.
void LaunchWalk::size(Operation &op) {
  auto dim = cast<memref::DimOp>(op);
  auto type = cast<MemRefType>(dim.getSource().getType());
  std::optional<int64_t> d = dim.getConstantIndex();
  values.forget(dim.getResult());
  if (!d)
    return;
  if (Known extent = type.isDynamicDim(*d) ? reader.sizeOf(dim.getSource(), *d) : Known(type.getDimSize(*d)))
    values.set(dim.getResult(), *extent);
}

/// Whether `op` counts the same in each iteration of the loop around it, and nothing that decides is computed of it.
bool LaunchWalk::isSteady(Operation &op) const {
  if (isa<tile::ParallelOp, scf::ForOp, scf::WhileOp, scf::IfOp>(op) ||
      llvm::any_of(op.getResults(), [&](Value result) { return decides.contains(result); }))
    return false;
  SmallVector<Value> operands;
  reader.decisive(op, operands);
  return operands.empty();
}

bool LaunchWalk::loop(scf::ForOp op, Executions how) {
  Known lower = values.get(op.getLowerBound()), upper = values.get(op.getUpperBound()), step = values.get(op.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return fail(*op, "its trips follow from data");
  const int64_t trips = *upper > *lower ? llvm::divideCeil(*upper - *lower, *step) : 0;
  assign(op.getRegionIterArgs(), numbersOf(op.getInitArgs()));
  auto decidesOne = [&](Value each) { return decides.contains(each); };
  if (trips && !decides.contains(op.getInductionVar()) && llvm::none_of(op.getRegionIterArgs(), decidesOne)) {
    how.times *= trips;
    how.ofBlock *= trips;
    if (!walk(*op.getBody(), how))
      return false;
    assign(op.getResults(), numbersOf(op.getYieldedValues()));
    return true;
  }
  Executions ofAll = how;
  ofAll.times *= trips;
  ofAll.ofBlock *= trips;
  SmallVector<Operation *> changing;
  for (Operation &each : op.getBody()->without_terminator())
    if (!isSteady(each))
      changing.push_back(&each);
    else if (trips && !walk(each, ofAll))
      return false;
  for (int64_t i = 0; i < trips; ++i) {
    values.set(op.getInductionVar(), *lower + i * *step);
    for (Operation *each : changing)
      if (!walk(*each, how))
        return false;
    assign(op.getRegionIterArgs(), numbersOf(op.getYieldedValues()));
  }
  assign(op.getResults(), numbersOf(op.getRegionIterArgs()));
  return true;
}

bool LaunchWalk::loop(scf::WhileOp op, Executions how) {
  assign(op.getBeforeArguments(), numbersOf(op.getInits()));
  for (;;) {
    if (!walk(*op.getBeforeBody(), how))
      return false;
    Known goesOn = values.get(op.getConditionOp().getCondition());
    if (!goesOn)
      return fail(*op, "its trips follow from data");
    SmallVector<Known> carried = numbersOf(op.getConditionOp().getArgs());
    assign(op.getAfterArguments(), carried);
    assign(op.getResults(), carried);
    if (!*goesOn)
      return true;
    if (!walk(*op.getAfterBody(), how))
      return false;
    assign(op.getBeforeArguments(), numbersOf(op.getYieldOp().getResults()));
  }
}

bool LaunchWalk::branch(scf::IfOp op, Executions how) {
  Known condition = values.get(op.getCondition());
  if (!condition)
    return fail(*op, "its condition follows from data");
  Block *taken = *condition ? op.thenBlock() : op.elseBlock();
  if (!taken)
    return true;
  if (!walk(*taken, how))
    return false;
  if (op.getNumResults())
    assign(op.getResults(), numbersOf(taken->getTerminator()->getOperands()));
  return true;
}

/// The members of a level from dimension `index` on; `number`: of the member, of the dimensions before.
bool LaunchWalk::levelFrom(tile::ParallelOp op, const LevelShape &shape, unsigned index, bool isFirst, int64_t number,
                           Executions how) {
  if (index == shape.extents.size()) {
    how.by = shape.by;
    if (shape.by == Executions::By::Lane)
      how.lane = number;
    if (shape.by != Executions::By::Block && !isFirst)
      how.ofBlock = 0;
    return walk(op.getBody().front(), how);
  }
  Value argument = op.getBody().getArgument(index);
  const int64_t extent = shape.extents[index];
  if (extent && !decides.contains(argument) && !ofLanes.contains(op)) {
    how.times *= extent;
    if (shape.by == Executions::By::Block)
      how.ofBlock *= extent;
    values.set(argument, 0);
    return levelFrom(op, shape, index + 1, isFirst, number * extent, how);
  }
  for (int64_t i = 0; i < extent; ++i) {
    values.set(argument, i);
    if (!levelFrom(op, shape, index + 1, isFirst && i == 0, number * extent + i, how))
      return false;
  }
  return true;
}

bool LaunchWalk::level(tile::ParallelOp op, Executions how) {
  std::optional<LevelShape> shape = levelOf(op);
  if (!shape)
    return fail(*op, "a level that the launch does not have");
  return levelFrom(op, *shape, 0, /*isFirst=*/true, 0, how);
}

bool LaunchWalk::walk(Operation &op, Executions how) {
  if (--budget < 0)
    return fail(op, "the walk is too long");
  counts.barriers += how.ofBlock * reader.barriersAt(op);
  if (auto each = dyn_cast<tile::ParallelOp>(op))
    return level(each, how);
  if (auto each = dyn_cast<scf::ForOp>(op))
    return loop(each, how);
  if (auto each = dyn_cast<scf::WhileOp>(op))
    return loop(each, how);
  if (auto each = dyn_cast<scf::IfOp>(op))
    return branch(each, how);
  if (isa<memref::DimOp>(op)) {
    size(op);
    return true;
  }
  values.visit(op);
  return reader.count(op, how, values, counts);
}

bool LaunchWalk::walk(Block &block, Executions how) {
  for (Operation &op : block.without_terminator())
    if (!walk(op, how))
      return false;
  return true;
}

bool LaunchWalk::run(func::FuncOp launch) {
  findDecisive(launch);
  return walk(launch.front(), Executions());
}
