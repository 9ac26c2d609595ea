//===- FoldViews.cpp - Views become part of access maps --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Composes offsets, strides and reassociations of memref views into the maps
/// of the affine loads and stores that access them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

namespace tilewright {
#define GEN_PASS_DEF_FOLDVIEWS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// Indices of an access as expressions over `operands`, of which the first `dims` are dimensions.
struct Indices {
  SmallVector<AffineExpr> exprs;
  SmallVector<Value> dims, symbols;
};

/// An expression for `value`: a constant, or a new symbol.
AffineExpr exprOf(OpFoldResult value, Indices &indices, MLIRContext *context) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, context);
  indices.symbols.push_back(cast<Value>(value));
  return getAffineSymbolExpr(indices.symbols.size() - 1, context);
}

/// Rewrites `indices` from those of `view`'s result to those of its source, which is returned; null if `view` is of a
/// kind that is not folded.
Value fold(Operation *view, Indices &indices) {
  MLIRContext *context = view->getContext();
  if (auto slice = dyn_cast<memref::SubViewOp>(view)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<AffineExpr> exprs;
    unsigned next = 0;
    for (auto [dim, offset, stride] : llvm::enumerate(slice.getMixedOffsets(), slice.getMixedStrides())) {
      AffineExpr index = dropped.test(dim) ? getAffineConstantExpr(0, context) : indices.exprs[next++];
      exprs.push_back(index * exprOf(stride, indices, context) + exprOf(offset, indices, context));
    }
    indices.exprs = std::move(exprs);
    return slice.getSource();
  }
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(view)) {
    SmallVector<AffineExpr> exprs;
    SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
    for (const auto &group : expand.getReassociationIndices()) {
      AffineExpr index = getAffineConstantExpr(0, context);
      for (int64_t dim : group)
        index = index * exprOf(sizes[dim], indices, context) + indices.exprs[dim];
      exprs.push_back(index);
    }
    indices.exprs = std::move(exprs);
    return expand.getSrc();
  }
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view)) {
    MemRefType type = collapse.getSrcType();
    SmallVector<AffineExpr> exprs(type.getRank(), getAffineConstantExpr(0, context));
    for (auto [position, group] : llvm::enumerate(collapse.getReassociationIndices())) {
      AffineExpr rest = indices.exprs[position];
      SmallVector<int64_t> real; // dimensions of size 1 keep index 0
      for (int64_t dim : group)
        if (type.getDimSize(dim) != 1)
          real.push_back(dim);
      for (int64_t dim : llvm::reverse(real)) {
        if (dim == real.front()) {
          exprs[dim] = rest;
        } else if (type.isDynamicDim(dim)) {
          return {};
        } else {
          exprs[dim] = rest % type.getDimSize(dim);
          rest = rest.floorDiv(type.getDimSize(dim));
        }
      }
    }
    indices.exprs = std::move(exprs);
    return collapse.getSrc();
  }
  if (auto change = dyn_cast<memref::CastOp>(view); change && isa<MemRefType>(change.getSource().getType()))
    return change.getSource();
  return {};
}

/// The access of `op` through all views behind its memref; null if there is none to fold.
Value foldAll(Value memref, AffineMap map, ValueRange operands, Indices &indices) {
  indices.exprs.assign(map.getResults().begin(), map.getResults().end());
  indices.dims.assign(operands.begin(), operands.begin() + map.getNumDims());
  indices.symbols.assign(operands.begin() + map.getNumDims(), operands.end());
  Value base;
  while (Operation *view = memref.getDefiningOp()) {
    Indices saved = indices;
    Value source = fold(view, indices);
    if (!source) {
      indices = saved;
      break;
    }
    memref = base = source;
  }
  return base;
}

struct FoldViews : tilewright::impl::FoldViewsBase<FoldViews> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    auto finish = [&](Indices &indices, AffineMap &map, SmallVector<Value> &operands) {
      map = AffineMap::get(indices.dims.size(), indices.symbols.size(), indices.exprs, &getContext());
      operands = indices.dims;
      operands.append(indices.symbols);
      affine::fullyComposeAffineMapAndOperands(&map, &operands);
      affine::canonicalizeMapAndOperands(&map, &operands);
      map = simplifyAffineMap(map);
    };
    getOperation().walk([&](Operation *op) {
      Indices indices;
      AffineMap map;
      SmallVector<Value> operands;
      rewriter.setInsertionPoint(op);
      if (auto load = dyn_cast<affine::AffineLoadOp>(op)) {
        Value base = foldAll(load.getMemRef(), load.getAffineMap(), load.getMapOperands(), indices);
        if (!base)
          return;
        finish(indices, map, operands);
        rewriter.replaceOpWithNewOp<affine::AffineLoadOp>(load, base, map, operands);
      } else if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
        Value base = foldAll(store.getMemRef(), store.getAffineMap(), store.getMapOperands(), indices);
        if (!base)
          return;
        finish(indices, map, operands);
        rewriter.replaceOpWithNewOp<affine::AffineStoreOp>(store, store.getValueToStore(), base, map, operands);
      }
    });
  }
};

} // namespace
