//===- ReturnWholeArrays.cpp - Results are computed where they are returned ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The caller gives the array of a result. What the function computes in another
/// shape is computed in a view of it, so that nothing is copied at the end.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"

namespace tilewright {
#define GEN_PASS_DEF_RETURNWHOLEARRAYS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

/// The allocation that `value` is a reshaped view of; `views`: those between, from the result on.
static memref::AllocOp viewedAlloc(Value value, SmallVectorImpl<Operation *> &views) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return alloc;
    if (!isa<memref::CollapseShapeOp, memref::ExpandShapeOp>(op))
      return nullptr;
    views.push_back(op);
    value = op->getOperand(0);
  }
  return nullptr;
}

/// The sizes that are values.
static SmallVector<Value> dynamicOf(ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> values;
  for (OpFoldResult size : sizes)
    if (auto value = dyn_cast<Value>(size))
      values.push_back(value);
  return values;
}

static bool isPlain(Value memref) { return cast<MemRefType>(memref.getType()).getLayout().isIdentity(); }

/// The sizes of `view`, whose source has sizes `source`, before `builder`'s place; none where a dynamic one is not
/// known there.
static std::optional<SmallVector<OpFoldResult>> sizesOfView(Operation *view, ArrayRef<OpFoldResult> source,
                                                            OpBuilder &builder, const DominanceInfo &dominance) {
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(view)) {
    SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
    for (OpFoldResult size : sizes)
      if (auto value = dyn_cast<Value>(size);
          value && !dominance.properlyDominates(value, &*builder.getInsertionPoint()))
        return std::nullopt;
    return sizes;
  }
  SmallVector<OpFoldResult> sizes;
  auto collapse = cast<memref::CollapseShapeOp>(view);
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    AffineExpr product = builder.getAffineConstantExpr(1);
    SmallVector<OpFoldResult> factors;
    for (int64_t dim : group) {
      product = product * builder.getAffineSymbolExpr(factors.size());
      factors.push_back(source[dim]);
    }
    sizes.push_back(affine::makeComposedFoldedAffineApply(builder, view->getLoc(), product, factors));
  }
  return sizes;
}

/// Allocates the operand of the terminator as it is returned; what it was a view of becomes a view of it.
static void returnWhole(OpOperand &operand, const DominanceInfo &dominance) {
  SmallVector<Operation *> views;
  memref::AllocOp alloc = viewedAlloc(operand.get(), views);
  if (!alloc || views.empty() || !isPlain(alloc) ||
      !llvm::all_of(views, [](Operation *view) { return isPlain(view->getResult(0)); }))
    return;
  // An array has one place: of two results that look at one, the second is copied.
  for (OpOperand &other : operand.getOwner()->getOpOperands()) {
    SmallVector<Operation *> ignored;
    if (&other != &operand && isa<MemRefType>(other.get().getType()) && viewedAlloc(other.get(), ignored) == alloc)
      return;
  }
  OpBuilder builder(alloc);
  SmallVector<SmallVector<OpFoldResult>> sizes{alloc.getMixedSizes()}; // of the allocation and each view of it
  for (Operation *view : llvm::reverse(views)) {
    auto own = sizesOfView(view, sizes.back(), builder, dominance);
    if (!own)
      return;
    sizes.push_back(std::move(*own));
  }
  Value whole = memref::AllocOp::create(builder, alloc.getLoc(), cast<MemRefType>(operand.get().getType()),
                                        dynamicOf(sizes.back()), alloc.getAlignmentAttr());
  Value part = whole;
  for (Operation *view : views) {
    sizes.pop_back();
    auto type = cast<MemRefType>(view->getOperand(0).getType());
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view))
      part = memref::ExpandShapeOp::create(builder, view->getLoc(), type, part, collapse.getReassociationIndices(),
                                           sizes.back());
    else
      part = memref::CollapseShapeOp::create(builder, view->getLoc(), type, part,
                                             cast<memref::ExpandShapeOp>(view).getReassociationIndices());
  }
  alloc.replaceAllUsesWith(part);
  alloc.erase();
  operand.set(whole);
}

namespace {
struct ReturnWholeArrays : tilewright::impl::ReturnWholeArraysBase<ReturnWholeArrays> {
  void runOnOperation() override {
    if (getOperation().isExternal() || !llvm::hasSingleElement(getOperation().getBody()))
      return;
    for (OpOperand &operand : getOperation().front().getTerminator()->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()))
        returnWhole(operand, DominanceInfo(getOperation()));
  }
};
} // namespace
