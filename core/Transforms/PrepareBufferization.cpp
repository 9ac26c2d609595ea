//===- PrepareBufferization.cpp - Who may write which tensor ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What bufferization has to know at function boundaries and loops: inputs are
/// read only, every result is a tensor, loops write into one buffer.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tilewright {
#define GEN_PASS_DEF_PREPAREBUFFERIZATION
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// Whether `a` and `b` provably have the same sizes.
bool sameShape(Value a, Value b) {
  auto type = dyn_cast<RankedTensorType>(a.getType());
  if (!type || b.getType() != type)
    return false;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim))
      continue;
    FailureOr<bool> equal = ValueBoundsConstraintSet::areEqual({a, dim}, {b, dim});
    if (failed(equal) || !*equal)
      return false;
  }
  return true;
}

/// Whether `value` is `buffer` after updates that bufferization makes in place anyway: insertions, destination-passing
/// operations, loops and branches over them.
bool updates(Value value, Value buffer) {
  while (value != buffer) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    Operation *op = result.getOwner();
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned index = result.getResultNumber();
      return updates(branch.thenYield()->getOperand(index), buffer) &&
             updates(branch.elseYield()->getOperand(index), buffer);
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      value = loop.getInitArgs()[result.getResultNumber()];
    else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      value = destination.getTiedOpOperand(result)->get();
    else
      return false;
  }
  return true;
}

/// Whether nothing reads `buffer` once `op` has begun, but what stands in `op` itself.
bool isLastUser(Operation *op, Value buffer) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
    return top && (top == op || top->isBeforeInBlock(op));
  });
}

/// Marks in `result` whose buffer among those of `carried` `value` may lie in.
void mayLieIn(Value value, ValueRange carried, llvm::SmallBitVector &result) {
  for (auto [index, buffer] : llvm::enumerate(carried))
    if (value == buffer)
      result.set(index);
  Operation *op = value.getDefiningOp();
  if (auto branch = dyn_cast_or_null<scf::IfOp>(op)) {
    unsigned index = cast<OpResult>(value).getResultNumber();
    mayLieIn(branch.thenYield()->getOperand(index), carried, result);
    mayLieIn(branch.elseYield()->getOperand(index), carried, result);
  } else if (isa_and_nonnull<arith::SelectOp, tensor::ExtractSliceOp, tensor::CastOp, tensor::ExpandShapeOp,
                             tensor::CollapseShapeOp>(op)) {
    for (Value operand : op->getOperands())
      mayLieIn(operand, carried, result);
  } else if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) {
    mayLieIn(loop.getInitArgs()[cast<OpResult>(value).getResultNumber()], carried, result);
  } else if (auto destination = dyn_cast_or_null<DestinationStyleOpInterface>(op)) {
    mayLieIn(destination.getTiedOpOperand(cast<OpResult>(value))->get(), carried, result);
  }
}

/// Replaces `operand` of a terminator by its copy into `buffer`. Where it is the result of a branch and
/// `insideBranches`, each side makes its own copy, if any: a side that updates the buffer has nothing to copy, and a
/// copy behind the branch would read what that side has written.
void writeInPlace(OpOperand &operand, Value buffer, bool insideBranches) {
  if (updates(operand.get(), buffer) || !sameShape(operand.get(), buffer))
    return;
  auto result = dyn_cast<OpResult>(operand.get());
  auto branch = result && insideBranches ? dyn_cast<scf::IfOp>(result.getOwner()) : scf::IfOp();
  if (branch && result.hasOneUse() && isLastUser(branch, buffer)) {
    unsigned index = result.getResultNumber();
    OpOperand *sides[] = {&branch.thenYield()->getOpOperand(index), &branch.elseYield()->getOpOperand(index)};
    if (llvm::all_of(sides, [&](OpOperand *side) { return sameShape(side->get(), buffer); })) {
      for (OpOperand *side : sides)
        writeInPlace(*side, buffer, insideBranches);
      return;
    }
  }
  OpBuilder b(operand.getOwner());
  operand.set(bufferization::MaterializeInDestinationOp::create(b, operand.getOwner()->getLoc(), buffer.getType(),
                                                                operand.get(), buffer)
                  .getResult());
}

/// Writes each tensor among `terminator`'s operands from `first` on into the buffer of `carried`. A buffer whose old
/// contents go to another one (`yield %new, %current`) is written behind that; where two wait for each other (`yield
/// %b, %a`), one of them is copied first.
void writeInPlace(Operation *terminator, unsigned first, ValueRange carried) {
  unsigned count = carried.size();
  SmallVector<llvm::SmallBitVector> others(
      count, llvm::SmallBitVector(count)); // buffers of others that each operand may lie in
  SmallVector<unsigned> waiting;
  for (unsigned i = 0; i < count; ++i)
    if (isa<TensorType>(carried[i].getType())) {
      waiting.push_back(i);
      mayLieIn(terminator->getOperand(first + i), carried, others[i]);
      others[i].reset(i);
    }
  llvm::SmallBitVector shared(count);
  for (const llvm::SmallBitVector &each : others)
    shared |= each;
  while (!waiting.empty()) {
    auto next = llvm::find_if(
        waiting, [&](unsigned i) { return llvm::none_of(waiting, [&](unsigned j) { return others[j].test(i); }); });
    if (next == waiting.end()) {
      next = waiting.begin();
      auto reader = llvm::find_if(waiting, [&](unsigned j) { return others[j].test(*next); });
      OpOperand &operand = terminator->getOpOperand(first + *reader);
      OpBuilder b(terminator);
      operand.set(bufferization::AllocTensorOp::create(
          b, terminator->getLoc(), cast<RankedTensorType>(operand.get().getType()), ValueRange{}, operand.get()));
      others[*reader].reset();
      continue;
    }
    unsigned i = *next;
    writeInPlace(terminator->getOpOperand(first + i), carried[i], !shared.test(i));
    waiting.erase(next);
  }
}

/// Makes every scalar result of `function` a tensor of rank 0, so that it counts as an array from here on. A function
/// on memrefs keeps them: its arrays are arguments that it may write, not results.
void boxScalarResults(func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  if (llvm::any_of(type.getInputs(), llvm::IsaPred<BaseMemRefType>))
    return;
  SmallVector<Type> results;
  for (Type result : type.getResults())
    results.push_back(isa<ShapedType>(result) ? result : RankedTensorType::get({}, result));
  if (results == type.getResults())
    return;
  function.walk([&](func::ReturnOp op) {
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands())
      if (!isa<ShapedType>(operand.get().getType()))
        operand.set(tensor::FromElementsOp::create(b, op.getLoc(), RankedTensorType::get({}, operand.get().getType()),
                                                   ValueRange{operand.get()}));
  });
  function.setFunctionType(FunctionType::get(function.getContext(), type.getInputs(), results));
  if (function->hasAttr(tilewright::arrayResultsAttr))
    function->setAttr(tilewright::arrayResultsAttr,
                      DenseBoolArrayAttr::get(function.getContext(), SmallVector<bool>(results.size(), true)));
}

/// Returns a copy where one tensor is returned twice: two results are two buffers.
void separateResults(func::FuncOp function) {
  function.walk([](func::ReturnOp op) {
    llvm::SmallPtrSet<Value, 4> seen;
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.get().getType()); type && !seen.insert(operand.get()).second)
        operand.set(bufferization::AllocTensorOp::create(b, op.getLoc(), type, ValueRange{}, operand.get()));
  });
}

/// Gives every use of an empty tensor, and of a fill that a later operation overwrites, a tensor of its own: one that
/// is shared would make unrelated results share a buffer, or be copied.
void separateInits(func::FuncOp function) {
  auto isInit = [](OpOperand &use) {
    auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
    return user && user.isDpsInit(&use);
  };
  auto separate = [&](Operation *op) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getResult(0).getUses())
      if (isInit(use))
        uses.push_back(&use);
    for (OpOperand *use : uses) {
      if (op->hasOneUse())
        break;
      OpBuilder b(use->getOwner());
      use->set(b.clone(*op)->getResult(0));
    }
  };
  SmallVector<Operation *> fills, empties;
  function.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && op->getNumResults() == 1 && op.getNumReductionLoops() == 0 &&
        llvm::none_of(op.getDpsInputs(), [](Value v) { return isa<ShapedType>(v.getType()); }) &&
        !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
      fills.push_back(op);
  });
  for (Operation *op : fills)
    separate(op);
  function.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  for (Operation *op : empties)
    separate(op);
}

struct PrepareBufferization : tilewright::impl::PrepareBufferizationBase<PrepareBufferization> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto writable = bufferization::BufferizationDialect::kWritableAttrName;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.isPublic())
        continue;
      Builder b(&getContext());
      bool called = !SymbolTable::symbolKnownUseEmpty(function, module);
      if (!called)
        boxScalarResults(function);
      separateResults(function);
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (isa<RankedTensorType>(function.getArgument(i).getType()))
          function.setArgAttr(i, writable, b.getBoolAttr(false));
      if (function.getNumResults() != 0) {
        function->setAttr("tilewright.inputs", b.getI64IntegerAttr(function.getNumArguments()));
        function->setAttr("tilewright.outputs", b.getI64IntegerAttr(function.getNumResults()));
      }
    }
    for (auto function : module.getOps<func::FuncOp>())
      separateInits(function);
    module.walk([](scf::ForOp loop) { writeInPlace(loop.getBody()->getTerminator(), 0, loop.getRegionIterArgs()); });
    module.walk([](scf::WhileOp loop) {
      if (loop.getInits().getTypes() != loop.getResultTypes())
        return;
      writeInPlace(loop.getConditionOp(), 1, loop.getBeforeArguments());
      writeInPlace(loop.getYieldOp(), 0, loop.getAfterArguments());
    });
  }
};

} // namespace
