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

std::optional<IterationAccesses::Index> IterationAccesses::indexOf(const LinearIndex &linear, AffineForOp loop) {
  Index index;
  index.low = index.high = linear.constant;
  for (auto [value, factor] : linear.terms) {
    if (factor == 0)
      continue;
    if (value == loop.getInductionVar()) {
      index.step = factor;
    } else if (!variesBelow(value, loop)) {
      index.others.emplace_back(value.getAsOpaquePointer(), factor);
    } else {
      std::optional<int64_t> last = lastIteration(value);
      if (!last)
        return std::nullopt;
      (factor < 0 ? index.low : index.high) += factor * *last;
    }
  }
  llvm::sort(index.others);
  return index;
}

IterationAccesses::IterationAccesses(AffineForOp loop, ArrayRef<LinearAccess> accesses) {
  for (const LinearAccess &access : accesses) {
    Access found;
    for (const std::optional<LinearIndex> &index : access.indices)
      found.push_back(index ? indexOf(*index, loop) : std::nullopt);
    OfArray &array = arrays[access.memref];
    insert(access.isStore ? array.writes : array.reads, found);
  }
}

std::optional<IterationAccesses> IterationAccesses::ofPlain(AffineForOp loop) {
  // Values are forwarded within one block.
  if (loop->walk([](AffineIfOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return std::nullopt;
  auto accesses = accessesBelow(loop);
  return accesses ? std::optional(IterationAccesses(loop, *accesses)) : std::nullopt;
}

void IterationAccesses::insert(SmallVectorImpl<Access> &accesses, const Access &access) {
  if (!llvm::is_contained(accesses, access))
    accesses.push_back(access);
}

void IterationAccesses::add(const IterationAccesses &other) {
  for (const auto &[memref, added] : other.arrays) {
    OfArray &array = arrays[memref];
    for (const Access &access : added.reads)
      insert(array.reads, access);
    for (const Access &access : added.writes)
      insert(array.writes, access);
  }
}

/// Whether `a` of iteration p and `b` of iteration q may be one element where p != q.
bool IterationAccesses::meet(const Access &a, const Access &b) {
  return llvm::none_of(llvm::zip_equal(a, b), [](auto pair) {
    const auto &[x, y] = pair;
    return x && y && x->step != 0 && x->step == y->step && x->others == y->others &&
           x->low - y->high > -std::abs(x->step) && x->high - y->low < std::abs(x->step);
  });
}

bool IterationAccesses::meetInOtherIterations(const IterationAccesses &other) const {
  auto anyMeet = [](ArrayRef<Access> left, ArrayRef<Access> right) {
    return llvm::any_of(
        left, [&](const Access &a) { return llvm::any_of(right, [&](const Access &b) { return meet(a, b); }); });
  };
  return llvm::any_of(other.arrays, [&](const auto &entry) {
    auto found = arrays.find(entry.first);
    if (found == arrays.end())
      return false;
    const OfArray &own = found->second, &others = entry.second;
    return anyMeet(own.writes, others.writes) || anyMeet(own.writes, others.reads) || anyMeet(own.reads, others.writes);
  });
}

bool canMerge(AffineForOp p, AffineForOp q) {
  if (!equalTripCounts(p, q))
    return false;
  auto ofP = IterationAccesses::ofPlain(p), ofQ = IterationAccesses::ofPlain(q);
  return ofP && ofQ && !ofP->meetInOtherIterations(*ofQ);
}

bool isParallelLoop(AffineForOp loop, bool mayGather) {
  SmallVector<Value> gathered;
  auto accesses = accessesBelow(loop, mayGather ? &gathered : nullptr);
  if (!accesses || loop.getNumIterOperands() != 0)
    return false;
  llvm::erase_if(*accesses, [&](const LinearAccess &access) { // of the loop's own buffers
    Operation *definition = access.memref.getDefiningOp();
    return definition && loop->isProperAncestor(definition);
  });
  for (const LinearAccess &access : *accesses)
    if (access.isStore && llvm::is_contained(gathered, behindViews(access.memref)))
      return false;
  const IterationAccesses all(loop, *accesses);
  return !all.meetInOtherIterations(all);
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
