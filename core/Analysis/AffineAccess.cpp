//===- AffineAccess.cpp - One affine load or store ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the two operations in one way.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace mlir::affine;

tilewright::AffineAccess tilewright::affineAccess(Operation *op) {
  AffineAccess access;
  if (auto load = dyn_cast<AffineLoadOp>(op)) {
    access.memref = load.getMemRef();
    access.map = load.getAffineMap();
    access.operands = llvm::to_vector(load.getMapOperands());
  } else {
    auto store = cast<AffineStoreOp>(op);
    access.memref = store.getMemRef();
    access.isStore = true;
    access.map = store.getAffineMap();
    access.operands = llvm::to_vector(store.getMapOperands());
  }
  fullyComposeAffineMapAndOperands(&access.map, &access.operands);
  access.map = simplifyAffineMap(access.map);
  return access;
}

void tilewright::composeAccesses(Operation *root) {
  SmallVector<AffineApplyOp> applies;
  root->walk([&](Operation *op) {
    if (auto apply = dyn_cast<AffineApplyOp>(op))
      applies.push_back(apply);
    if (!isa<AffineLoadOp, AffineStoreOp>(op))
      return;
    AffineAccess access = affineAccess(op);
    canonicalizeMapAndOperands(&access.map, &access.operands);
    unsigned first = isa<AffineLoadOp>(op) ? 1 : 2; // behind the array, and the value that is stored
    op->setOperands(first, op->getNumOperands() - first, access.operands);
    op->setAttr(isa<AffineLoadOp>(op) ? AffineLoadOp::getMapAttrStrName() : AffineStoreOp::getMapAttrStrName(),
                AffineMapAttr::get(access.map));
  });
  for (AffineApplyOp apply : llvm::reverse(applies))
    if (apply->use_empty())
      apply.erase();
}
