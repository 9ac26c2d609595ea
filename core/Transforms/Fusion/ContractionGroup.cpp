//===- ContractionGroup.cpp - Nests that belong to a contraction ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether a nest may be moved to the contraction: what it computes, and what
/// stands between them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Fusion/ContractionGroup.h"
#include "core/Analysis/Elementwise.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Transforms/Utils/NestInit.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The memref is a temporary of this kernel that nobody but `users` (top-level operations) touches.
static bool isOnlyUsedBy(Value memref, Block *block, ArrayRef<Operation *> users) {
  if (!isa_and_nonnull<memref::AllocOp, tile::AllocOp>(memref.getDefiningOp()))
    return false;
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    if (isa<memref::DeallocOp, memref::DimOp>(user))
      return true;
    Operation *top = block->findAncestorOpInBlock(*user);
    return top && llvm::is_contained(users, top);
  });
}

static bool touches(Operation *op, Value memref) {
  bool found = false;
  op->walk([&](Operation *inner) { found |= llvm::is_contained(inner->getOperands(), memref); });
  return found;
}

static bool writes(Operation *op, Value memref) {
  bool found = false;
  op->walk([&](Operation *inner) {
    if (!llvm::is_contained(inner->getOperands(), memref))
      return;
    auto store = dyn_cast<AffineStoreOp>(inner);
    found |= store ? store.getMemRef() == memref : !isa<AffineLoadOp, memref::DimOp>(inner);
  });
  return found;
}

AffineForOp tilewright::findZeroInit(const Contraction &c) {
  std::optional<NestInit> init = findInit(c.nest, c.c, c.nest.depth() - c.k.size());
  bool isZero = init && (matchPattern(init->value, m_AnyZeroFloat()) || matchPattern(init->value, m_Zero()));
  return isZero ? init->loop : AffineForOp();
}

/// Whether `a` is where `b` is, but for constants: in a part of a larger array, or inside of a padded one.
static bool isAtDistance(const Access &a, const Access &b) {
  return a.map.getNumResults() == b.map.getNumResults() && a.map.getNumSymbols() == b.map.getNumSymbols() &&
         a.symbols == b.symbols && llvm::all_of(llvm::zip(a.map.getResults(), b.map.getResults()), [&](auto pair) {
           auto [x, y] = pair;
           return isa<AffineConstantExpr>(simplifyAffineExpr(x - y, a.map.getNumDims(), a.map.getNumSymbols()));
         });
}

/// Whether `nest` runs element-wise over the result of `c` (in memref `source`, indexed like C) so that it can be
/// executed on its fragments.
static std::optional<EpilogueStep> asEpilogue(const Nest &nest, const Contraction &c, ArrayRef<Value> available) {
  EpilogueStep step;
  step.nest = nest;
  if (nest.depth() != c.nest.depth() - c.k.size() || nest.stores.empty())
    return std::nullopt;
  if (!isElementwise(nest))
    return std::nullopt;
  auto isPlain = [](Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 8; };

  const Access *anchor = nullptr;
  for (const Access &load : nest.loads) {
    if (!isPlain(load.op->getResult(0).getType()))
      return std::nullopt;
    if (load.memref == c.c.memref)
      anchor = &load;
  }
  if (!anchor)
    for (const Access &load : nest.loads)
      if (llvm::is_contained(available, load.memref))
        anchor = &load;
  if (!anchor)
    return std::nullopt;
  step.toContraction.assign(nest.depth(), ~0u);
  if (anchor->symbols != c.c.symbols)
    return std::nullopt;
  for (auto [mine, theirs] : llvm::zip(anchor->map.getResults(), c.c.map.getResults())) {
    auto x = shiftedDim(mine, anchor->map), y = shiftedDim(theirs, c.c.map);
    if (!x && !y && mine == theirs && mine.isSymbolicOrConstant())
      continue;
    if (!x || !y || x->shift != y->shift || step.toContraction[x->dim] != ~0u)
      return std::nullopt;
    if (!equalTripCounts(nest.loops[x->dim], c.nest.loops[y->dim]))
      return std::nullopt;
    step.toContraction[x->dim] = y->dim;
  }
  if (llvm::is_contained(step.toContraction, ~0u))
    return std::nullopt;
  // What the group has written is read and written exactly at this element.
  for (const Access &access : llvm::concat<const Access>(nest.loads, nest.stores)) {
    bool isAvailable = access.memref == c.c.memref || llvm::is_contained(available, access.memref);
    if (isAvailable && (access.map != anchor->map || access.symbols != anchor->symbols))
      return std::nullopt;
    for (AffineExpr result : access.map.getResults())
      for (unsigned dim = 0; dim < nest.depth(); ++dim)
        if (!linearCoefficient(result, dim))
          return std::nullopt;
  }
  for (const Access &store : nest.stores) {
    if (!isPlain(cast<AffineStoreOp>(store.op).getValueToStore().getType()))
      return std::nullopt;
    // Each iteration writes its own element, at the same place of each result as C, or at a constant distance from it.
    if (!isAtDistance(store, *anchor))
      return std::nullopt;
    for (const Access &load : nest.loads)
      if (load.memref == store.memref && load.map != store.map)
        return std::nullopt;
  }
  return step;
}

/// Whether `step` writes over what other fragments still read: an operand of `c` (a product of a buffer that a loop
/// carries goes back into it), or elements that an earlier step reads at other places than its own.
static bool overwritesInputs(const EpilogueStep &step, const Contraction &c, ArrayRef<EpilogueStep> earlier) {
  return llvm::any_of(step.nest.stores, [&](const Access &store) {
    for (const ContractionOperand *operand : {&c.a, &c.b})
      if (store.memref == operand->access.memref || (operand->scale && store.memref == operand->scale->access.memref) ||
          (operand->index && store.memref == operand->index->access.memref))
        return true;
    Access place = onContraction(store, step, c);
    return llvm::any_of(earlier, [&](const EpilogueStep &other) {
      return llvm::any_of(other.nest.loads, [&](const Access &load) {
        if (load.memref != store.memref)
          return false;
        Access read = onContraction(load, other, c);
        return read.map != place.map || read.symbols != place.symbols;
      });
    });
  });
}

/// Element-wise nests after `c` that can run on its fragments: each reads the result, and nothing between it and the
/// contraction conflicts with moving it up.
static std::vector<EpilogueStep> collectEpilogue(const Contraction &c) {
  std::vector<EpilogueStep> steps;
  SmallVector<Value> available;
  llvm::SmallPtrSet<Operation *, 8> readers; // of what the group has written
  auto make = [&](Value memref) {
    available.push_back(memref);
    for (Operation *user : memref.getUsers())
      if (isa<AffineLoadOp>(user))
        readers.insert(Nest(c.nest).root()->getBlock()->findAncestorOpInBlock(*user));
  };
  make(c.c.memref);
  SmallVector<Operation *> skipped;
  for (Operation *op = c.nest.root()->getNextNode(); op; op = op->getNextNode()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop) {
      if (op->hasTrait<OpTrait::IsTerminator>())
        break;
      if (isMemoryEffectFree(op) || isa<memref::AllocOp>(op))
        continue;
      break;
    }
    std::optional<EpilogueStep> step;
    if (readers.contains(op))
      if (FailureOr<Nest> nest = analyzeNest(loop); succeeded(nest))
        step = asEpilogue(*nest, c, available);
    auto conflicts = [&](const EpilogueStep &step) {
      return llvm::any_of(skipped, [&](Operation *other) {
        return llvm::any_of(step.nest.loads, [&](const Access &load) { return writes(other, load.memref); }) ||
               llvm::any_of(step.nest.stores, [&](const Access &store) { return touches(other, store.memref); });
      });
    };
    // Values that the step uses must be defined before the contraction.
    auto isDefinedLater = [&](Value value) {
      Operation *def = value.getDefiningOp();
      return def && def->getBlock() == c.nest.root()->getBlock() && c.nest.root()->isBeforeInBlock(def) &&
             !isa<memref::AllocOp>(def) && !def->hasTrait<OpTrait::ConstantLike>();
    };
    if (step) {
      bool late = false;
      op->walk([&](Operation *inner) { late |= llvm::any_of(inner->getOperands(), isDefinedLater); });
      if (late || conflicts(*step) || overwritesInputs(*step, c, steps))
        step.reset();
    }
    if (!step) {
      skipped.push_back(op);
      continue;
    }
    for (const Access &store : step->nest.stores)
      make(store.memref);
    steps.push_back(std::move(*step));
  }
  return steps;
}

SmallVector<Operation *> tilewright::gatherGroup(ContractionTask &task, bool withEpilogue) {
  const Contraction &c = task.contraction;
  AffineForOp root = Nest(c.nest).root(), init = findZeroInit(c);
  task.zeroInit = bool(init);
  task.epilogue.clear();
  if (withEpilogue)
    task.epilogue = collectEpilogue(c);

  SmallVector<Operation *> group{root};
  if (init)
    group.push_back(init);
  for (EpilogueStep &step : task.epilogue)
    group.push_back(step.nest.root());
  Block *block = root->getBlock();
  auto isPrivate = [&](Value memref) { return isOnlyUsedBy(memref, block, group); };
  bool cOnlyInGroup = isPrivate(c.c.memref) && init;
  task.keepC = !(cOnlyInGroup && !task.epilogue.empty());
  for (EpilogueStep &step : task.epilogue)
    for (const Access &store : step.nest.stores)
      step.keepStore.push_back(!isPrivate(store.memref));
  // What a later step writes over, at the same element, is seen by nobody.
  llvm::SmallPtrSet<Value, 4> overwritten;
  for (EpilogueStep &step : llvm::reverse(task.epilogue))
    for (auto [store, keep] : llvm::reverse(llvm::zip(step.nest.stores, step.keepStore)))
      keep &= overwritten.insert(store.memref).second;
  task.keepC &= !overwritten.contains(c.c.memref);
  return group;
}
