//===- SplitKernels.cpp - Each nest of a kernel is a function -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels are what is fused; code is generated nest by nest. Nests become
/// functions, so that equal ones are compiled once (share-kernels), and so that
/// what LLVM spends on a function does not grow with the kernel.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITKERNELS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct SplitKernels : tilewright::impl::SplitKernelsBase<SplitKernels> {
  void runOnOperation() override;
};

/// Operations that become one function: a loop, or a chain of operations that fragments link.
using Nest = SmallVector<Operation *>;

/// What the function of one nest takes, and what it makes for itself.
struct Captures {
  llvm::SetVector<Value> arguments;
  llvm::SetVector<Operation *> own; // in the order of their operands
};
} // namespace

/// Whether code calls functions with `type`: fragments of units, for one, stay in the function that makes them.
static bool isPassed(Type type) { return isa<MemRefType>(type) || type.isIntOrIndexOrFloat() || isa<VectorType>(type); }

/// Whether each function that uses the results of `op` makes them for itself: constants, views, fragments of zeros.
static bool isMadeAnew(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || isa<ViewLikeOpInterface>(op) ||
         (op->getNumOperands() == 0 && op->getNumRegions() == 0 && isPure(op));
}

/// Whether every user of `alloca` is in `nest`.
static bool isOnlyIn(memref::AllocaOp alloca, ArrayRef<Operation *> nest) {
  return llvm::all_of(alloca->getUsers(), [&](Operation *user) {
    return llvm::any_of(nest, [&](Operation *op) { return op->isAncestor(user); });
  });
}

/// The nest that begins with `first`: to the last user of what its operations make. Arrays that are made within its
/// bounds stay outside. Empty where an operation stands there that no nest may hold.
static Nest nestFrom(Operation &first) {
  Block *block = first.getBlock();
  Operation *last = &first;
  Nest nest;
  for (Operation *op = &first;; op = op->getNextNode()) {
    if (!isMadeAnew(op) && !isa<memref::AllocOp, memref::AllocaOp>(op)) {
      if (isa<CallOpInterface, memref::DeallocOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
        return {};
      nest.push_back(op);
      for (Operation *user : op->getUsers())
        if (Operation *within = block->findAncestorOpInBlock(*user); last->isBeforeInBlock(within))
          last = within;
    }
    if (op == last)
      return nest;
  }
}

/// The nests of a kernel, in order: loops, and what is linked by values that no call passes.
static SmallVector<Nest> nestsOf(Block &kernel) {
  SmallVector<Nest> nests;
  for (Operation *op = &kernel.front(); op; op = op->getNextNode()) {
    const bool isLoop = op->getNumRegions() != 0 && op->getNumResults() == 0;
    const bool isLinked =
        !isMadeAnew(op) && llvm::any_of(op->getResultTypes(), [](Type type) { return !isPassed(type); });
    if (!isLoop && !isLinked)
      continue;
    if (Nest nest = nestFrom(*op); !nest.empty()) {
      op = nest.back();
      nests.push_back(std::move(nest));
    }
  }
  return nests;
}

/// Constants, views and stack buffers of one nest belong to its function: so no two of its arrays share memory. All
/// other values are passed. Failure where one cannot be.
static FailureOr<Captures> capturesOf(ArrayRef<Operation *> nest) {
  Captures captures;
  auto need = [&](auto &self, Value value) -> bool {
    Operation *op = value.getDefiningOp();
    if (op && captures.own.contains(op))
      return true;
    if (op && llvm::is_contained(nest, op))
      return false; // a view of what the nest makes
    auto alloca = dyn_cast_or_null<memref::AllocaOp>(op);
    if (!op || !(isMadeAnew(op) || (alloca && isOnlyIn(alloca, nest)))) {
      captures.arguments.insert(value);
      return isPassed(value.getType());
    }
    for (Value operand : op->getOperands())
      if (!self(self, operand))
        return false;
    captures.own.insert(op);
    return true;
  };
  llvm::SetVector<Value> used;
  for (Operation *op : nest) {
    used.insert(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
  }
  for (Value value : used)
    if (Operation *op = value.getDefiningOp(); !(op && llvm::is_contained(nest, op)) && !need(need, value))
      return failure();
  return captures;
}

/// Makes the function of `nest`, which moves there, after `after` and calls it instead. Returns the function.
static func::FuncOp outline(ArrayRef<Operation *> nest, const Captures &captures, StringRef name, Operation *after,
                            SymbolTable &symbols) {
  Location loc = nest.front()->getLoc();
  OpBuilder builder(nest.front()->getContext());
  ArrayRef<Value> arguments = captures.arguments.getArrayRef();
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(llvm::to_vector(ValueRange(arguments).getTypes()), {}));
  function.setPrivate();
  function->setAttr(kernelAttr, builder.getUnitAttr());
  function->setAttr(nestAttr, builder.getUnitAttr());
  symbols.insert(function, std::next(after->getIterator()));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(arguments, body->getArguments());
  for (Operation *op : captures.own)
    builder.clone(*op, mapping);
  auto returned = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(nest.back());
  func::CallOp::create(builder, loc, function, arguments);
  for (Operation *op : nest) {
    op->moveBefore(returned);
    op->walk([&](Operation *inside) {
      for (OpOperand &operand : inside->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
    });
  }
  for (Operation *op : llvm::reverse(captures.own))
    if (op->use_empty())
      op->erase();
  return function;
}

/// Whether `op` holds uses of a unit with states; `ofFunction`: of one that is a property of the function.
static bool usesStates(Operation *op, const TargetDescription &chip, bool ofFunction = false) {
  return op
      ->walk([&](tile::MmaOp mma) {
        const MatrixUnit *unit = chip.unit(mma.getUnit());
        bool uses = unit && llvm::any_of(unit->states,
                                         [&](const State &state) { return !ofFunction || !state.attributes.empty(); });
        return uses ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `kernel` stays whole, of which `nests` can be functions. A state that is left between them would surround
/// their calls, which it may forbid, so all of its uses have to be in nests; one that is a property of its function
/// (a streaming mode) is entered for the kernel.
static bool mustStayWhole(func::FuncOp kernel, ArrayRef<Nest> nests, const TargetDescription &chip) {
  if (usesStates(kernel, chip, /*ofFunction=*/true))
    return true;
  llvm::SmallPtrSet<Operation *, 32> inNests;
  for (const Nest &nest : nests)
    inNests.insert(nest.begin(), nest.end());
  return llvm::any_of(kernel.front(), [&](Operation &op) { return !inNests.contains(&op) && usesStates(&op, chip); });
}

void SplitKernels::runOnOperation() {
  ModuleOp module = getOperation();
  std::shared_ptr<const TargetDescription> chip;
  if (module->hasAttr(targetAttr)) {
    auto found = targetOf(module);
    if (!found) {
      module.emitError() << llvm::toString(found.takeError());
      return signalPassFailure();
    }
    chip = std::move(*found);
  }
  SymbolTable symbols(module);
  for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!isKernel(kernel) || !llvm::hasSingleElement(kernel.getBody()))
      continue;
    SmallVector<Nest> nests = nestsOf(kernel.front()), passed;
    llvm::copy_if(nests, std::back_inserter(passed), [](const Nest &nest) { return succeeded(capturesOf(nest)); });
    if (nests.size() < 2 || (chip && mustStayWhole(kernel, passed, *chip)))
      continue;
    Operation *last = kernel;
    for (auto [number, nest] : llvm::enumerate(nests)) {
      FailureOr<Captures> captures = capturesOf(nest);
      if (succeeded(captures))
        last = outline(nest, *captures, (kernel.getName() + "_nest_" + Twine(number)).str(), last, symbols);
    }
  }
}
