//===- EnterStates.cpp - What must surround matrix units ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Enters and leaves the states of units around all of their uses in a function,
/// or in what one core runs of it, outside of every other loop, and refuses what
/// a state forbids inside. What a state sets for a function is that of a function
/// of its own, which holds the uses alone: calls and parallel loops stay outside.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright {
#define GEN_PASS_DEF_ENTERSTATES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// The states that a call of a unit or of its registers needs.
static SmallVector<const State *> statesOf(func::CallOp call, const TargetDescription &target) {
  StringRef name = call.getCallee();
  if (name.consume_front(unitPrefix)) {
    SmallVector<const State *> states;
    if (const MatrixUnit *unit = target.unit(name))
      for (const State &state : unit->states)
        states.push_back(&state);
    return states;
  }
  if (name.consume_front(registerPrefix))
    return statesOfRegisters(target, name.split('.').first);
  return {};
}

/// The kind of `op` in the words of `State::forbids`; empty: nothing that a state could forbid.
static StringRef kindOf(Operation &op) {
  StringRef callee;
  if (auto call = dyn_cast<func::CallOp>(op))
    callee = call.getCallee();
  else if (auto call = dyn_cast<LLVM::CallOp>(op))
    callee = call.getCallee().value_or("?");
  if (!callee.empty())
    return callee.starts_with("tilewright.") ? "" : "call";
  if (isa<memref::AllocOp, memref::DeallocOp>(op))
    return "alloc";
  // Those that are no instruction everywhere become calls of libm.
  if (isa<math::MathDialect>(op.getDialect()) &&
      !isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::SqrtOp, math::FmaOp, math::FloorOp, math::CeilOp,
           math::RoundEvenOp, math::TruncOp>(op))
    return "libm";
  return "";
}

/// The block of a function, or of what one core runs, that `op` lies in.
static Block *homeOf(Operation *op) {
  for (Block *block = op->getBlock();; block = block->getParentOp()->getBlock()) {
    Operation *parent = block->getParentOp();
    if (isa<FunctionOpInterface, scf::ParallelOp, scf::ForallOp>(parent) ||
        isa<omp::OpenMPDialect>(parent->getDialect()))
      return block;
  }
}

namespace {

/// The uses of one state in one block.
struct Span {
  const State *state = nullptr;
  Operation *first = nullptr, *last = nullptr;
  void include(Operation *op) {
    first = !first || op->isBeforeInBlock(first) ? op : first;
    last = !last || last->isBeforeInBlock(op) ? op : last;
  }
};

LogicalResult checkForbidden(Operation *root, const State &state) {
  WalkResult walk = root->walk([&](Operation *op) {
    StringRef kind = kindOf(*op);
    if (kind.empty() || !llvm::is_contained(state.forbids, kind))
      return WalkResult::advance();
    op->emitOpError() << "(" << kind << ") stands inside of the state \"" << state.name << "\", which forbids it";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Moves the ops from `span.first` to `span.last` into a private function of `name` and calls it in their place; gives
/// the function. Constants go along, other values become arguments and results.
FailureOr<func::FuncOp> outline(const Span &span, StringRef name) {
  Block *block = span.first->getBlock();
  Location loc = span.first->getLoc();
  IRRewriter rewriter(span.first->getContext());
  rewriter.setInsertionPoint(span.first);
  auto inside = [&](Operation *op) {
    Operation *here = block->findAncestorOpInBlock(*op);
    return here && !here->isBeforeInBlock(span.first) && !span.last->isBeforeInBlock(here);
  };
  SmallVector<Value> results;
  SetVector<Operation *> constants;
  for (Operation *op = span.first;; op = op->getNextNode()) {
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside(user); }))
        results.push_back(result);
    op->walk([&](Operation *each) {
      for (Value operand : each->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && !inside(source) && matchPattern(source, m_Constant()))
          constants.insert(source);
    });
    if (op == span.last)
      break;
  }
  SmallVector<Type> types(ValueRange(results).getTypes());
  auto place = scf::ExecuteRegionOp::create(rewriter, loc, types);
  Block *body = &place.getRegion().emplaceBlock();
  for (auto [result, outer] : llvm::zip(results, place.getResults()))
    result.replaceUsesWithIf(outer, [&](OpOperand &use) { return !inside(use.getOwner()); });
  body->getOperations().splice(body->end(), block->getOperations(), span.first->getIterator(),
                               std::next(span.last->getIterator()));
  rewriter.setInsertionPointToEnd(body);
  scf::YieldOp::create(rewriter, loc, results);
  rewriter.setInsertionPointToStart(body);
  for (Operation *constant : constants) {
    Operation *copy = rewriter.clone(*constant);
    for (auto [from, to] : llvm::zip(constant->getResults(), copy->getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) { return place->isAncestor(use.getOwner()); });
  }
  func::CallOp call;
  FailureOr<func::FuncOp> function = outlineSingleBlockRegion(rewriter, loc, place.getRegion(), name, &call);
  if (failed(function))
    return failure();
  function->setPrivate();
  call->moveBefore(place);
  rewriter.replaceOp(place, call.getResults());
  return function;
}

struct EnterStates : tilewright::impl::EnterStatesBase<EnterStates> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::CallOp> calls;
    module.walk([&](func::CallOp call) {
      if (call.getCallee().starts_with(unitPrefix) || call.getCallee().starts_with(registerPrefix))
        calls.push_back(call);
    });
    if (calls.empty())
      return;
    auto target = requireTarget(module);
    if (failed(target))
      return signalPassFailure();
    llvm::MapVector<std::pair<Block *, StringRef>, Span> spans;
    for (func::CallOp call : calls) {
      Block *home = homeOf(call);
      for (const State *state : statesOf(call, **target)) {
        Span &span = spans[{home, state->name}];
        span.state = state;
        span.include(home->findAncestorOpInBlock(*call));
      }
    }
    OpBuilder builder(&getContext());
    llvm::MapVector<Block *, Span> ofFunctions;
    for (auto &[key, span] : spans) {
      const State &state = *span.state;
      Location loc = span.first->getLoc();
      if (!state.attributes.empty()) {
        Span &all = ofFunctions[key.first];
        all.state = &state;
        all.include(span.first);
        all.include(span.last);
      }
      for (Operation *op = span.first;; op = op->getNextNode()) {
        if (failed(checkForbidden(op, state)))
          return signalPassFailure();
        if (op == span.last)
          break;
      }
      if (!state.enter.name.empty()) {
        builder.setInsertionPoint(span.first);
        callByName(builder, loc, module, (statePrefix + state.name + ".enter").str(), {}, {});
      }
      if (!state.leave.name.empty()) {
        builder.setInsertionPointAfter(span.last);
        callByName(builder, loc, module, (statePrefix + state.name + ".leave").str(), {}, {});
      }
    }
    for (auto &[block, span] : ofFunctions) {
      auto function = span.first->getParentOfType<func::FuncOp>();
      unsigned number = 0;
      std::string name;
      do
        name = (function.getName() + "." + span.state->name + (number ? "." + Twine(number) : Twine())).str();
      while (++number && module.lookupSymbol(name));
      if (failed(outline(span, name)))
        return signalPassFailure();
    }
  }
};
} // namespace
