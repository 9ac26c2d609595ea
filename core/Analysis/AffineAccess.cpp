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
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace mlir::affine;

/// Whether simplification leaves `expr` as it is, seen without trying: a dimension, a symbol or a constant, or a sum of
/// two of them in this order. Most indices are.
static bool isSimple(AffineExpr expr) {
  auto rank = [](AffineExpr leaf) -> std::pair<unsigned, unsigned> {
    if (auto dim = dyn_cast<AffineDimExpr>(leaf))
      return {0, dim.getPosition()};
    if (auto symbol = dyn_cast<AffineSymbolExpr>(leaf))
      return {1, symbol.getPosition()};
    auto constant = dyn_cast<AffineConstantExpr>(leaf);
    return {constant && constant.getValue() != 0 ? 2 : 3, 0};
  };
  if (isa<AffineConstantExpr>(expr) || rank(expr).first < 3)
    return true;
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return false;
  auto left = rank(sum.getLHS()), right = rank(sum.getRHS());
  return left.first < 2 && right.first < 3 && left < right;
}

/// Whether composing leaves `map` as it is, seen without trying: it takes variables of different loops.
static bool isComposed(AffineMap map, ValueRange operands) {
  for (auto [place, operand] : llvm::enumerate(operands))
    if (place >= map.getNumDims() || !getForInductionVarOwner(operand) || !map.isFunctionOfDim(place) ||
        llvm::is_contained(operands.take_front(place), operand))
      return false;
  return true;
}

Value tilewright::arrayOf(Operation *access) {
  auto load = dyn_cast<AffineLoadOp>(access);
  return load ? load.getMemRef() : cast<AffineStoreOp>(access).getMemRef();
}

tilewright::AffineAccess tilewright::affineAccess(Operation *op) {
  AffineAccess access;
  if (auto load = dyn_cast<AffineReadOpInterface>(op)) {
    access.memref = load.getMemRef();
    access.map = load.getAffineMap();
    access.operands = llvm::to_vector(load.getMapOperands());
  } else {
    auto store = cast<AffineWriteOpInterface>(op);
    access.memref = store.getMemRef();
    access.isStore = true;
    access.map = store.getAffineMap();
    access.operands = llvm::to_vector(store.getMapOperands());
  }
  if (!isComposed(access.map, access.operands))
    fullyComposeAffineMapAndOperands(&access.map, &access.operands);
  if (!llvm::all_of(access.map.getResults(), isSimple))
    access.map = simplifyAffineMap(access.map);
  return access;
}

bool tilewright::onlyReads(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
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
  for (AffineApplyOp apply : applies) {
    AffineMap map = apply.getAffineMap();
    SmallVector<Value> operands(apply.getMapOperands());
    fullyComposeAffineMapAndOperands(&map, &operands);
    canonicalizeMapAndOperands(&map, &operands);
    apply->setOperands(operands);
    apply.setMap(simplifyAffineMap(map));
    if (isa<AffineDimExpr, AffineSymbolExpr>(apply.getMap().getResult(0)))
      apply.getResult().replaceAllUsesWith(apply.getOperand(0));
  }
  for (AffineApplyOp apply : llvm::reverse(applies)) {
    if (apply->use_empty()) {
      apply.erase();
      continue;
    }
    // To the loop that all users are in.
    auto loopOfUsers = [&]() -> AffineForOp {
      AffineForOp loop;
      for (Operation *user : apply->getUsers()) {
        auto around = dyn_cast<AffineForOp>(apply->getBlock()->findAncestorOpInBlock(*user));
        if (!around || around == user || (loop && loop != around))
          return nullptr;
        loop = around;
      }
      return loop;
    };
    while (AffineForOp loop = loopOfUsers())
      apply->moveBefore(loop.getBody(), loop.getBody()->begin());
  }
}
