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
#include "core/Transforms/Host/HostForms.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/SetVector.h"
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

/// Whether `loop` hands on what it carries one by one: then each is written into one buffer.
bool staysInPlace(scf::WhileOp loop) { return loop.getInits().getTypes() == loop.getResultTypes(); }

/// Whether `value` is `buffer` after updates that bufferization makes in place anyway: insertions, destination-passing
/// operations, loops and branches over them. `seen`: values that are, unless another is not.
bool updates(Value value, Value buffer, llvm::SmallPtrSetImpl<Value> &seen) {
  while (value != buffer) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    if (!seen.insert(value).second)
      return true;
    Operation *op = result.getOwner();
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned index = result.getResultNumber();
      return updates(branch.thenYield()->getOperand(index), buffer, seen) &&
             updates(branch.elseYield()->getOperand(index), buffer, seen);
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      value = loop.getInitArgs()[result.getResultNumber()];
    else if (auto loop = dyn_cast<scf::WhileOp>(op); loop && staysInPlace(loop))
      value = loop.getInits()[result.getResultNumber()];
    else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      value = destination.getTiedOpOperand(result)->get();
    else
      return false;
  }
  return true;
}

bool updates(Value value, Value buffer) {
  llvm::SmallPtrSet<Value, 8> seen;
  return updates(value, buffer, seen);
}

/// Whether nothing reads `buffer`, or what may lie in it, once `op` has begun, but what stands in `op` itself.
bool isLastUser(Operation *op, Value buffer) {
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state(options);
  llvm::SetVector<Value> inside;
  inside.insert(buffer);
  for (size_t i = 0; i < inside.size(); ++i)
    for (OpOperand &use : inside[i].getUses()) {
      Operation *top = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
      if (top == op)
        continue;
      if (!top || !top->isBeforeInBlock(op))
        return false;
      for (const bufferization::AliasingValue &alias : state.getAliasingValues(use))
        inside.insert(alias.value);
    }
  return true;
}

/// Whether `carried`, what an enclosing loop carries, or what may lie in its buffer, is read after or inside of `op`.
bool isReadAgain(Operation *op, BlockArgument carried) {
  for (Operation *parent = op->getParentOp(); parent != carried.getOwner()->getParentOp();
       parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      return true; // in its next iteration
  enum { Before, Elsewhere, After };
  auto placeOf = [&](Operation *user) {
    for (Block *block = op->getBlock();; block = block->getParentOp()->getBlock())
      if (Operation *other = block->findAncestorOpInBlock(*user)) {
        Operation *own = block->findAncestorOpInBlock(*op);
        if (own == other)
          return op == own ? After : Elsewhere; // inside of it; in the other side of a branch
        return own->isBeforeInBlock(other) ? After : Before;
      }
  };
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state(options);
  llvm::SetVector<Value> same;
  same.insert(carried);
  unsigned own = 0;
  for (size_t i = 0; i < same.size(); ++i)
    for (OpOperand &use : same[i].getUses()) {
      if (use.getOwner() == op) {
        if (++own > 1)
          return true;
        continue;
      }
      auto place = placeOf(use.getOwner());
      if (place == After)
        return true;
      if (place == Elsewhere)
        continue;
      for (const bufferization::AliasingValue &alias : state.getAliasingValues(use))
        same.insert(alias.value);
    }
  return false;
}

/// Marks in `result` whose buffer among those of `carried` `value` may lie in, as bufferization sees it.
void mayLieIn(Value value, ValueRange carried, llvm::SmallBitVector &result) {
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state(options);
  llvm::SetVector<Value> sources;
  sources.insert(value);
  for (size_t i = 0; i < sources.size(); ++i) {
    for (auto [index, buffer] : llvm::enumerate(carried))
      if (sources[i] == buffer)
        result.set(index);
    Operation *op = sources[i].getDefiningOp();
    if (!op || (OpTrait::hasElementwiseMappableTraits(op) && !options.dynCastBufferizableOp(op)))
      continue; // element-wise arithmetic becomes a generic
    for (const bufferization::AliasingOpOperand &alias : state.getAliasingOpOperands(sources[i]))
      sources.insert(alias.opOperand->get());
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

/// A copy of `value`, made at `b`.
Value copyOf(OpBuilder &b, Value value) {
  return bufferization::AllocTensorOp::create(b, value.getLoc(), cast<RankedTensorType>(value.getType()), ValueRange{},
                                              value);
}

/// Replaces `operand` of a terminator, or what it is in each side of a branch, by a copy where it may lie in a buffer
/// of `carried` but the one of `own`; made where the value is, since that buffer may be written after it. Behind a
/// branch would be too late: what may be one buffer or another makes one of both for bufferization.
void copyOut(OpOperand &operand, ValueRange carried, unsigned own) {
  llvm::SmallBitVector others(carried.size());
  mayLieIn(operand.get(), carried, others);
  if (others.reset(own).none())
    return;
  Operation *op = operand.get().getDefiningOp();
  if (auto branch = dyn_cast_or_null<scf::IfOp>(op)) {
    unsigned index = cast<OpResult>(operand.get()).getResultNumber();
    copyOut(branch.thenYield()->getOpOperand(index), carried, own);
    copyOut(branch.elseYield()->getOpOperand(index), carried, own);
    return;
  }
  OpBuilder b(operand.getOwner());
  if (op)
    b.setInsertionPointAfter(op);
  operand.set(copyOf(b, operand.get()));
}

/// Writes each tensor among `terminator`'s operands from `first` on into the buffer of `carried`. A buffer whose old
/// contents go to another one (`yield %new, %current`) is written behind that; where two wait for each other (`yield
/// %b, %a`), one of them is copied first. What may lie in another's buffer, but is not its old contents (the result of
/// a branch, an insertion), is copied where it is made.
void writeInPlace(Operation *terminator, unsigned first, ValueRange carried) {
  unsigned count = carried.size();
  // Buffers of others that each operand lies in.
  SmallVector<llvm::SmallBitVector> others(count, llvm::SmallBitVector(count));
  SmallVector<unsigned> waiting;
  llvm::SmallBitVector shared(count);
  for (unsigned i = 0; i < count; ++i) {
    if (!isa<TensorType>(carried[i].getType()))
      continue;
    waiting.push_back(i);
    OpOperand &operand = terminator->getOpOperand(first + i);
    mayLieIn(operand.get(), carried, others[i]);
    others[i].reset(i);
    shared |= others[i];
    if (isa<OpResult>(operand.get())) {
      copyOut(operand, carried, i);
      others[i].reset();
    }
  }
  OpBuilder b(terminator);
  while (!waiting.empty()) {
    auto next = llvm::find_if(
        waiting, [&](unsigned i) { return llvm::none_of(waiting, [&](unsigned j) { return others[j].test(i); }); });
    if (next == waiting.end()) {
      next = waiting.begin();
      auto reader = llvm::find_if(waiting, [&](unsigned j) { return others[j].test(*next); });
      OpOperand &operand = terminator->getOpOperand(first + *reader);
      operand.set(copyOf(b, operand.get()));
      others[*reader].reset();
      continue;
    }
    unsigned i = *next;
    writeInPlace(terminator->getOpOperand(first + i), carried[i], !shared.test(i));
    waiting.erase(next);
  }
}

/// Begins `loop` with a copy of what an enclosing loop carries if that is read again: bufferization writes to what a
/// while loop begins with, and refuses it otherwise.
void copyInits(scf::WhileOp loop) {
  for (OpOperand &init : loop.getInitsMutable()) {
    auto carried = dyn_cast<BlockArgument>(init.get());
    if (!carried || !isa<TensorType>(carried.getType()) ||
        !isa<scf::ForOp, scf::WhileOp>(carried.getOwner()->getParentOp()) || !isReadAgain(loop, carried))
      continue;
    OpBuilder b(loop);
    init.set(copyOf(b, carried));
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

/// Makes a copy where a function returns one tensor twice, or a side of a branch gives it twice: two results are two
/// buffers.
void separateResults(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (!isa<func::ReturnOp>(op) && !(isa<scf::YieldOp>(op) && isa<scf::IfOp>(op->getParentOp())))
      return;
    llvm::SmallPtrSet<Value, 4> seen;
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()) && !seen.insert(operand.get()).second)
        operand.set(copyOf(b, operand.get()));
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
    // The one that is left stands with its user too: equal operations are then equal code wherever they stand.
    if (op->hasOneUse())
      if (OpOperand &use = *op->getResult(0).use_begin(); isInit(use) && use.getOwner()->getBlock() == op->getBlock())
        op->moveBefore(use.getOwner());
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
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (isa<RankedTensorType>(function.getArgument(i).getType()))
          function.setArgAttr(i, writable, b.getBoolAttr(false));
      if (function.getNumResults() != 0) {
        function->setAttr("tilewright.inputs", b.getI64IntegerAttr(function.getNumArguments()));
        function->setAttr("tilewright.outputs", b.getI64IntegerAttr(function.getNumResults()));
      }
    }
    for (auto function : module.getOps<func::FuncOp>()) {
      separateResults(function);
      separateInits(function);
    }
    // Upstream's analysis does not see that what a case yields is the result of the switch.
    IRRewriter rewriter(&getContext());
    module.walk([&](scf::IndexSwitchOp op) {
      rewriter.setInsertionPoint(op);
      if (llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
        tilewright::switchToBranches(rewriter, op);
    });
    module.walk([](scf::WhileOp loop) { copyInits(loop); });
    module.walk([](scf::ForOp loop) { writeInPlace(loop.getBody()->getTerminator(), 0, loop.getRegionIterArgs()); });
    module.walk([](scf::WhileOp loop) {
      if (!staysInPlace(loop))
        return;
      writeInPlace(loop.getConditionOp(), 1, loop.getBeforeArguments());
      writeInPlace(loop.getYieldOp(), 0, loop.getAfterArguments());
    });
  }
};

} // namespace
