//===- LoopDependence.cpp - May two loops become one? ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dependence tests on linear indices: the difference of two of them, bounded
// over the loops that only one of the two accesses sees.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/Guards.h"
#include "mlir/Dialect/Affine/Analysis/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

int64_t LinearIndex::coefficient(Value value) const {
  for (auto [term, factor] : terms)
    if (term == value)
      return factor;
  return 0;
}

void LinearIndex::add(Value value, int64_t factor) {
  for (auto &[term, existing] : terms)
    if (term == value) {
      existing += factor;
      return;
    }
  terms.emplace_back(value, factor);
}

/// Adds `factor` * `expr` to `index`; false if the expression is not linear.
static bool accumulate(AffineExpr expr, unsigned numDims, ValueRange operands, int64_t factor, LinearIndex &index) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    index.constant += factor * constant.getValue();
    return true;
  }
  auto addOperand = [&](Value operand) {
    if (std::optional<int64_t> constant = getConstantIntValue(operand))
      index.constant += factor * *constant;
    else
      index.add(operand, factor);
    return true;
  };
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return addOperand(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return addOperand(operands[numDims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (binary.getKind() == AffineExprKind::Add)
    return accumulate(binary.getLHS(), numDims, operands, factor, index) &&
           accumulate(binary.getRHS(), numDims, operands, factor, index);
  if (binary.getKind() == AffineExprKind::Mul)
    if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      return accumulate(binary.getLHS(), numDims, operands, factor * constant.getValue(), index);
  return false;
}

LinearAccess linearAccess(Operation *op) {
  LinearAccess access;
  access.op = op;
  auto [memref, map, operands, isStore] = affineAccess(op);
  access.memref = memref;
  access.isStore = isStore;
  for (AffineExpr expr : map.getResults()) {
    LinearIndex index;
    bool linear = accumulate(expr, map.getNumDims(), operands, 1, index);
    access.indices.push_back(linear ? std::optional(index) : std::nullopt);
  }
  return access;
}

/// The array of which `memref` is a view.
static Value behindViews(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

std::optional<SmallVector<LinearAccess, 0>> accessesBelow(Operation *root, SmallVectorImpl<Value> *gathered) {
  SmallVector<LinearAccess, 0> accesses;
  WalkResult result = root->walk([&](Operation *op) {
    if (isa<AffineLoadOp, AffineStoreOp>(op)) {
      accesses.push_back(linearAccess(op));
      return WalkResult::advance();
    }
    if (auto load = dyn_cast<memref::LoadOp>(op); load && gathered) {
      gathered->push_back(behindViews(load.getMemRef()));
      return WalkResult::advance();
    }
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      bool plain = loop.getNumIterOperands() == 0 && loop.hasConstantLowerBound() &&
                   loop.getConstantLowerBound() == 0 && loop.getStepAsInt() == 1 &&
                   loop.getUpperBoundMap().getNumResults() == 1;
      return plain ? WalkResult::advance() : WalkResult::interrupt();
    }
    if (auto test = dyn_cast<AffineIfOp>(op); test && isGuardedRead(test)) // what may be read
      return WalkResult::advance();
    if (op->getNumRegions() != 0)
      return WalkResult::interrupt();
    return isMemoryEffectFree(op) || isa<memref::AllocOp, memref::AllocaOp>(op) ? WalkResult::advance()
                                                                                : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return std::nullopt;
  return accesses;
}

bool equalTripCounts(AffineForOp a, AffineForOp b) {
  if (a.hasConstantUpperBound() || b.hasConstantUpperBound())
    return a.hasConstantUpperBound() && b.hasConstantUpperBound() &&
           a.getConstantUpperBound() == b.getConstantUpperBound();
  return a.getUpperBoundMap() == b.getUpperBoundMap() &&
         llvm::equal(a.getUpperBoundOperands(), b.getUpperBoundOperands());
}

/// Largest value of an induction variable; nullopt if its loop has no constant bound or `value` is no such variable.
static std::optional<int64_t> lastIteration(Value value) {
  AffineForOp loop = getForInductionVarOwner(value);
  if (!loop || !loop.hasConstantUpperBound())
    return std::nullopt;
  return std::max<int64_t>(loop.getConstantUpperBound() - 1, 0);
}

/// Whether `value` is an induction variable of `loop` or of a loop below it.
static bool variesBelow(Value value, AffineForOp loop) {
  AffineForOp owner = getForInductionVarOwner(value);
  return owner && loop->isAncestor(owner);
}

/// Whether index `a` differs from index `b` whenever p != q.
static bool differ(const LinearIndex &a, AffineForOp p, const LinearIndex &b, AffineForOp q) {
  int64_t step = a.coefficient(p.getInductionVar());
  if (step == 0 || step != b.coefficient(q.getInductionVar()))
    return false;
  int64_t low = a.constant - b.constant, high = low;
  auto widen = [&](Value value, int64_t factor) {
    auto last = lastIteration(value);
    if (!last)
      return factor == 0;
    (factor < 0 ? low : high) += factor * *last;
    return true;
  };
  for (auto [value, factor] : a.terms) {
    if (value == p.getInductionVar())
      continue;
    if (variesBelow(value, p)) {
      if (!widen(value, factor))
        return false;
    } else if (factor != b.coefficient(value)) {
      return false;
    }
  }
  for (auto [value, factor] : b.terms) {
    if (value == q.getInductionVar())
      continue;
    if (variesBelow(value, q)) {
      if (!widen(value, -factor))
        return false;
    } else if (factor != a.coefficient(value)) {
      return false;
    }
  }
  step = std::abs(step);
  return low > -step && high < step;
}

bool meetInDifferentIterations(const LinearAccess &a, AffineForOp p, const LinearAccess &b, AffineForOp q) {
  for (auto [left, right] : llvm::zip_equal(a.indices, b.indices))
    if (left && right && differ(*left, p, *right, q))
      return false;
  return true;
}

bool hasPlainAccesses(AffineForOp loop) {
  // Values are forwarded within one block.
  bool hasTests = loop->walk([](AffineIfOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return !hasTests && accessesBelow(loop);
}

bool overlapInEqualIterations(AffineForOp p, AffineForOp q) {
  if (!equalTripCounts(p, q))
    return false;
  SmallVector<LinearAccess, 0> accesses = *accessesBelow(q);
  for (const LinearAccess &b : accesses)
    for (Operation *user : b.memref.getUsers()) {
      if (!p->isAncestor(user) || !(b.isStore ? isa<AffineLoadOp, AffineStoreOp>(user) : isa<AffineStoreOp>(user)))
        continue;
      if (meetInDifferentIterations(linearAccess(user), p, b, q))
        return false;
    }
  return true;
}

bool canMerge(AffineForOp p, AffineForOp q) {
  return hasPlainAccesses(p) && hasPlainAccesses(q) && overlapInEqualIterations(p, q);
}

bool isParallelLoop(AffineForOp loop, bool mayGather) {
  SmallVector<Value> gathered;
  auto accesses = accessesBelow(loop, mayGather ? &gathered : nullptr);
  if (!accesses || loop.getNumIterOperands() != 0)
    return false;
  for (const LinearAccess &a : *accesses) {
    Operation *definition = a.memref.getDefiningOp();
    if (definition && loop->isProperAncestor(definition))
      continue;
    if (a.isStore && llvm::is_contained(gathered, behindViews(a.memref)))
      return false;
    if (a.isStore)
      for (const LinearAccess &b : *accesses)
        if (a.memref == b.memref && meetInDifferentIterations(a, loop, b, loop))
          return false;
  }
  return true;
}

} // namespace tilewright

bool tilewright::isIndependentLoop(AffineForOp loop, AffineForOp root, ArrayRef<LinearAccess> accesses) {
  auto isAlone = [&](const LinearIndex &index) {
    return llvm::all_of(index.terms, [&](const auto &term) {
      AffineForOp owner = getForInductionVarOwner(term.first);
      return owner == loop ? term.second != 0 : !owner || !root->isAncestor(owner);
    });
  };
  auto areApart = [&](const LinearAccess &a, const LinearAccess &b) {
    return llvm::any_of(llvm::zip_equal(a.indices, b.indices), [&](auto pair) {
      const auto &[x, y] = pair;
      if (!x || !y || !isAlone(*x) || !isAlone(*y) || x->terms.size() != y->terms.size())
        return false;
      return std::abs(x->constant - y->constant) < std::abs(x->coefficient(loop.getInductionVar())) &&
             llvm::all_of(x->terms, [&](const auto &term) { return y->coefficient(term.first) == term.second; });
    });
  };
  for (const LinearAccess &a : accesses) {
    Operation *definition = a.memref.getDefiningOp();
    if (a.isStore && !(definition && loop->isProperAncestor(definition)))
      for (const LinearAccess &b : accesses)
        if (a.memref == b.memref && !areApart(a, b))
          return false;
  }
  return true;
}
