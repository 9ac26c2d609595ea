//===- ErrorFlow.cpp - Which values of a program carry errors -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A fixed point over all functions of a module.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Bufferize/ErrorFlow.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tilewright;

std::optional<ArrayAccess> tilewright::arrayAccess(Operation *op) {
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    return ArrayAccess{load.getMemRef(), Value(), load.getMapOperands()};
  if (auto store = dyn_cast<affine::AffineStoreOp>(op))
    return ArrayAccess{store.getMemRef(), store.getValueToStore(), store.getMapOperands()};
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return ArrayAccess{load.getMemRef(), Value(), load.getIndices()};
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return ArrayAccess{store.getMemRef(), store.getValueToStore(), store.getIndices()};
  return std::nullopt;
}

Value tilewright::viewedArray(Operation *op) {
  if (isa<memref::SubViewOp, memref::CastOp, memref::ReinterpretCastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
          memref::TransposeOp, memref::ReshapeOp, memref::AssumeAlignmentOp>(op))
    return op->getOperand(0);
  return {};
}

static bool isArray(Value value) { return isa<BaseMemRefType>(value.getType()); }

Value ErrorFlow::leader(Value array) const {
  auto at = parents.find(array);
  if (at == parents.end() || at->second == array)
    return array;
  Value top = leader(at->second);
  parents[array] = top;
  return top;
}

void ErrorFlow::unite(Value a, Value b) {
  if (isArray(a) && isArray(b))
    if (Value top = leader(a), other = leader(b); top != other)
      parents[top] = other;
}

bool ErrorFlow::carries(Value value) const { return carrying.contains(isArray(value) ? leader(value) : value); }
bool ErrorFlow::sums(Value value) const { return summing.contains(isArray(value) ? leader(value) : value); }
bool ErrorFlow::mark(Value value) { return carrying.insert(isArray(value) ? leader(value) : value).second; }

void ErrorFlow::forEachFlow(Operation *op, llvm::function_ref<void(Value, Value)> f) const {
  auto each = [&](ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      f(source, target);
  };
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    auto condition = loop.getConditionOp();
    each(loop.getInits(), loop.getBeforeArguments());
    each(condition.getArgs(), loop.getAfterArguments());
    each(condition.getArgs(), loop.getResults());
    each(loop.getYieldOp().getResults(), loop.getBeforeArguments());
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    SmallVector<Value> inits;
    for (OpOperand &init : loop.getInitsMutable())
      inits.push_back(init.get());
    SmallVector<Value> yields;
    for (OpOperand &yielded :
         loop.getYieldedValuesMutable() ? *loop.getYieldedValuesMutable() : MutableArrayRef<OpOperand>())
      yields.push_back(yielded.get());
    ResultRange results = op->getResults();
    each(inits, loop.getRegionIterArgs());
    each(yields, loop.getRegionIterArgs());
    each(inits, results);
    each(yields, results);
  } else if (isa<scf::IfOp, affine::AffineIfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(op)) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.getTerminator()->getNumOperands() == op->getNumResults())
          each(block.getTerminator()->getOperands(), op->getResults());
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr());
    if (!callee || callee.isExternal())
      return;
    each(call.getOperands(), callee.getArguments());
    callee.walk([&](func::ReturnOp end) { each(end.getOperands(), call.getResults()); });
  } else if (isa<arith::SelectOp>(op)) {
    f(op->getOperand(1), op->getResult(0));
    f(op->getOperand(2), op->getResult(0));
  } else if (Value viewed = viewedArray(op)) {
    f(viewed, op->getResult(0));
  }
}

/// Whether an operation on exact values makes one that is not.
static bool rounds(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  auto type = dyn_cast<FloatType>(op->getResult(0).getType());
  if (!type)
    return false;
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    auto integer = dyn_cast<IntegerType>(op->getOperand(0).getType());
    return !integer || integer.getWidth() > type.getFPMantissaWidth();
  }
  if (isa<arith::ArithDialect>(op->getDialect()))
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op);
  return isa<math::MathDialect>(op->getDialect()) && !isa<math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp,
                                                          math::RoundOp, math::RoundEvenOp, math::TruncOp>(op);
}

/// Marks what carries since what `op` reads does; whether something was new.
bool ErrorFlow::update(Operation *op) {
  bool changed = false;
  forEachFlow(op, [&](Value from, Value to) {
    if (carries(from))
      changed |= mark(to);
  });
  if (auto access = arrayAccess(op)) {
    bool unsure = llvm::any_of(access->indices, [&](Value index) { return carries(index); });
    if (!access->stored) {
      if (unsure || carries(access->array))
        changed |= mark(op->getResult(0));
    } else if (unsure || carries(access->stored)) {
      changed |= mark(access->array);
    }
    return changed;
  }
  if (isa<arith::ArithDialect, math::MathDialect, affine::AffineDialect>(op->getDialect()) &&
      op->getNumRegions() == 0 && op->getNumResults() == 1 && !isArray(op->getResult(0)) &&
      (rounds(op) || llvm::any_of(op->getOperands(), [&](Value operand) { return carries(operand); })))
    changed |= mark(op->getResult(0));
  return changed;
}

void ErrorFlow::uniteArrays(Operation *op) {
  forEachFlow(op, [&](Value from, Value to) { unite(from, to); });
}

/// Whether additions lead from `value` back to a target.
bool ErrorFlow::reaches(Value value, llvm::function_ref<bool(Value)> isTarget) const {
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> visited;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!visited.insert(next).second)
      continue;
    if (isTarget(next))
      return true;
    Operation *op = next.getDefiningOp();
    if (op && isa<arith::AddFOp, arith::SubFOp>(op))
      llvm::append_range(work, op->getOperands());
    else if (op && isa<arith::SelectOp>(op))
      llvm::append_range(work, op->getOperands().drop_front());
    else if (op && isa<LoopLikeOpInterface>(op))
      forEachFlow(op, [&](Value from, Value to) {
        if (to == next)
          work.push_back(from);
      });
    else if (!op)
      if (auto loop = dyn_cast<LoopLikeOpInterface>(cast<BlockArgument>(next).getOwner()->getParentOp()))
        forEachFlow(loop, [&](Value from, Value to) {
          if (to == next)
            work.push_back(from);
        });
  }
  return false;
}

void ErrorFlow::findSums(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (auto access = arrayAccess(op); access && access->stored && isa<FloatType>(access->stored.getType())) {
      Value array = leader(access->array);
      bool isSum = isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::SelectOp, LoopLikeOpInterface>(
                       access->stored.getDefiningOp()) &&
                   reaches(access->stored, [&](Value value) {
                     Operation *load = value.getDefiningOp();
                     auto from = load ? arrayAccess(load) : std::nullopt;
                     return from && !from->stored && leader(from->array) == array;
                   });
      if (isSum)
        summing.insert(array);
      return;
    }
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    if (!loop || isa<scf::WhileOp>(op) || !loop.getYieldedValuesMutable())
      return;
    for (auto [yielded, argument, result] :
         llvm::zip(*loop.getYieldedValuesMutable(), loop.getRegionIterArgs(), op->getResults()))
      if (isa<FloatType>(argument.getType()) && yielded.get() != argument &&
          reaches(yielded.get(), [&, own = Value(argument)](Value value) { return value == own; })) {
        summing.insert(argument);
        summing.insert(result);
      }
  });
}

/// Whether `index` is computed from `variable`.
static bool dependsOn(Value index, Value variable) {
  SmallVector<Value> work{index};
  llvm::DenseSet<Value> visited;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (next == variable)
      return true;
    if (Operation *op = next.getDefiningOp(); op && visited.insert(next).second)
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

bool ErrorFlow::findShared(Operation *add, Value term) const {
  // The loops that repeat the sum: those on which its place in an array does not depend, or those that hand it on.
  SmallVector<Value> places, variables, sums;
  Operation *outermost = nullptr;
  llvm::DenseSet<Value> seen;
  for (Value value : add->getOperands())
    if (value != term)
      sums.push_back(value);
  while (!sums.empty()) {
    Value next = sums.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op) {
      auto loop = dyn_cast<LoopLikeOpInterface>(cast<BlockArgument>(next).getOwner()->getParentOp());
      if (!loop)
        continue;
      outermost = loop;
      if (OpOperand *init = loop.getTiedLoopInit(cast<BlockArgument>(next)); init && !init->get().getDefiningOp())
        sums.push_back(init->get());
    } else if (auto access = arrayAccess(op)) {
      llvm::append_range(places, access->indices);
      outermost = add->getParentOfType<func::FuncOp>();
    } else if (isa<arith::AddFOp, arith::SubFOp, arith::SelectOp>(op)) {
      llvm::append_range(sums, op->getOperands());
    }
  }
  for (Operation *parent = add->getParentOp(); parent && outermost && !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<LoopLikeOpInterface>(parent))
      if (auto induction = loop.getSingleInductionVar())
        if (llvm::none_of(places, [&](Value place) { return dependsOn(place, *induction); }))
          variables.push_back(*induction);
    if (parent == outermost)
      break;
  }
  SmallVector<Value> work{term};
  llvm::DenseSet<Value> visited;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!visited.insert(next).second || !carries(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (!op)
      return true;
    if (auto access = arrayAccess(op)) {
      for (Value variable : variables)
        if (llvm::none_of(access->indices, [&](Value index) { return dependsOn(index, variable); }))
          return true;
      continue;
    }
    if (op->getNumRegions())
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// Whether `value` differs between iterations of a loop: `variable`, or what is computed or loaded by it.
static bool followsLoop(Value value, Value variable) {
  if (value == variable)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions())
    return !op ? isa<LoopLikeOpInterface>(value.getParentBlock()->getParentOp()) && !isa<IndexType>(value.getType())
               : true;
  if (auto access = arrayAccess(op))
    return llvm::any_of(access->indices, [&](Value index) { return dependsOn(index, variable); });
  return llvm::any_of(op->getOperands(), [&](Value operand) { return followsLoop(operand, variable); });
}

/// `seen`: leaders of the arrays that callers see.
bool ErrorFlow::findScaling(arith::TruncFOp op, const llvm::DenseSet<Value> &seen) const {
  Value product = op.getIn();
  while (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(product.getDefiningOp()))
    product = product.getDefiningOp()->getOperand(0);
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(product.getDefiningOp()))
    return false;
  // What a caller sees is rounded where the program says.
  auto isSeen = [&](Operation *user) {
    auto access = arrayAccess(user);
    return !access || !access->stored || seen.contains(leader(access->array));
  };
  if (llvm::any_of(op->getUsers(), isSeen))
    return false;
  SmallVector<Value> loops;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (auto loop = dyn_cast<LoopLikeOpInterface>(parent))
      if (auto induction = loop.getSingleInductionVar())
        loops.push_back(*induction);
  return llvm::any_of(product.getDefiningOp()->getOperands(), [&](Value factor) {
    return !matchPattern(factor, m_Constant()) &&
           llvm::any_of(loops, [&](Value loop) { return !followsLoop(factor, loop); });
  });
}

ErrorFlow::ErrorFlow(ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    uniteArrays(op);
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : operations)
      changed |= update(op);
  }
  findSums(module);
  llvm::DenseSet<Value> seen;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic())
      for (Value argument : function.getArguments())
        seen.insert(leader(argument));
  module.walk([&](arith::TruncFOp op) {
    if (findScaling(op, seen))
      scaledLater.insert(op);
  });
  for (Operation *op : operations)
    if (isa<arith::AddFOp, arith::SubFOp, math::FmaOp>(op))
      for (OpOperand &operand : op->getOpOperands())
        if (findShared(op, operand.get()))
          shared.insert({op, operand.getOperandNumber()});
}
