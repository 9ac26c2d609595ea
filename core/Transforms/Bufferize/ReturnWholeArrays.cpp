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
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

static bool isPlain(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return type.hasStaticShape() && type.getLayout().isIdentity();
}

/// Allocates the operand of the terminator as it is returned; what it was a view of becomes a view of it.
static void returnWhole(OpOperand &operand) {
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
  Value whole = memref::AllocOp::create(builder, alloc.getLoc(), cast<MemRefType>(operand.get().getType()),
                                        alloc.getAlignmentAttr());
  Value part = whole;
  for (Operation *view : views) {
    auto type = cast<MemRefType>(view->getOperand(0).getType());
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view))
      part = memref::ExpandShapeOp::create(builder, view->getLoc(), type, part, collapse.getReassociationIndices());
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
        returnWhole(operand);
  }
};
} // namespace
