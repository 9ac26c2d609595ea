//===- TileCanonicalize.cpp - Folds and canonical forms of tile ops -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accesses: subscripts composed, `valid` that covers the fragment dropped, loads
/// of what was just stored forwarded. Values: layouts converted once, products of
/// zeros and maps that only pass a value on removed.
///
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile;

//===-- Accesses ----------------------------------------------------------===//

static FragmentType fragmentOf(LoadOp op) { return op.getType(); }
static FragmentType fragmentOf(StoreOp op) { return op.getValue().getType(); }

/// Composes affine.apply and constants into the maps.
template <typename OpTy> static LogicalResult composeMaps(OpTy op, PatternRewriter &rewriter) {
  auto compose = [](AffineMap map, OperandRange range) {
    SmallVector<Value> operands(range);
    affine::fullyComposeAffineMapAndOperands(&map, &operands);
    affine::canonicalizeMapAndOperands(&map, &operands);
    return std::pair(map, operands);
  };
  auto [map, operands] = compose(op.getMap(), op.getMapOperands());
  bool changed = map != op.getMap() || !llvm::equal(operands, op.getMapOperands());
  AffineMap valid;
  SmallVector<Value> validOperands;
  if (op.getValidMap()) {
    std::tie(valid, validOperands) = compose(*op.getValidMap(), op.getValidOperands());
    changed |= valid != *op.getValidMap() || !llvm::equal(validOperands, op.getValidOperands());
  }
  if (!changed)
    return failure();
  rewriter.modifyOpInPlace(op, [&, map = map, &operands = operands] {
    op.setMapAttr(AffineMapAttr::get(map));
    op.getMapOperandsMutable().assign(operands);
    if (valid) {
      op.setValidMapAttr(AffineMapAttr::get(valid));
      op.getValidOperandsMutable().assign(validOperands);
    }
  });
  return success();
}

/// Drops a constant `valid` that covers the whole fragment.
template <typename OpTy> static LogicalResult dropFullValid(OpTy op, PatternRewriter &rewriter) {
  auto [rows, cols] = op.constantValid();
  FragmentType type = fragmentOf(op);
  if (!op.getValidMapAttr() || !rows || !cols || *rows < type.getRows() || *cols < type.getCols())
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.removeValidMapAttr();
    op.getValidOperandsMutable().clear();
  });
  return success();
}

/// Replaces a load by the fragment that the last store before it in its block wrote to the same place.
static LogicalResult forwardStore(LoadOp load, PatternRewriter &rewriter) {
  auto isStore = [&](Operation *user) { return isa<StoreOp>(user) && user->getBlock() == load->getBlock(); };
  if (load.getValidMapAttr() || llvm::none_of(load.getMemref().getUsers(), isStore))
    return failure();
  for (Operation *op = load->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto store = dyn_cast<StoreOp>(op)) {
      if (store.getMemref() != load.getMemref() || store.getValidMapAttr() ||
          store.getValue().getType() != load.getType() || store.getMap() != load.getMap() ||
          store.getElements() != load.getElements() || !llvm::equal(store.getMapOperands(), load.getMapOperands()))
        return failure();
      rewriter.replaceOp(load, store.getValue());
      return success();
    }
    if (!isMemoryEffectFree(op) && !isa<LoadOp>(op))
      return failure();
  }
  return failure();
}

void LoadOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(composeMaps<LoadOp>);
  patterns.add(dropFullValid<LoadOp>);
  patterns.add(forwardStore);
}

void StoreOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(composeMaps<StoreOp>);
  patterns.add(dropFullValid<StoreOp>);
}

//===-- Values ------------------------------------------------------------===//

static bool isZero(Value value) { return value.getDefiningOp<ZeroOp>() != nullptr; }

/// Adding a product of zeros changes nothing. One float zero is not enough: the other factor may hold infinities.
OpFoldResult MmaOp::fold(FoldAdaptor) {
  if (!getScales().empty()) // one may be NaN
    return {};
  bool a = isZero(getA()), b = isZero(getB());
  bool isInteger =
      isa<IntegerType>(getA().getType().getElementType()) && isa<IntegerType>(getB().getType().getElementType());
  if ((a && b) || (isInteger && (a || b)))
    return getC();
  return {};
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  return {};
}

/// A conversion of a conversion is one; a conversion of zeros is zeros.
static LogicalResult simplifyConvert(ConvertOp op, PatternRewriter &rewriter) {
  if (isZero(op.getSource())) {
    rewriter.replaceOpWithNewOp<ZeroOp>(op, op.getType());
    return success();
  }
  if (auto inner = op.getSource().getDefiningOp<ConvertOp>()) {
    rewriter.replaceOpWithNewOp<ConvertOp>(op, op.getType(), inner.getSource());
    return success();
  }
  return failure();
}

void ConvertOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(simplifyConvert);
}

static LogicalResult broadcastZero(BroadcastOp op, PatternRewriter &rewriter) {
  if (!isZero(op.getSource()) && !matchPattern(op.getSource(), m_Zero()) &&
      !matchPattern(op.getSource(), m_PosZeroFloat()))
    return failure();
  rewriter.replaceOpWithNewOp<ZeroOp>(op, op.getType());
  return success();
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(broadcastZero);
}

/// Results that the region passes on unchanged are the inputs themselves.
static LogicalResult forwardPassedOn(MapOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  bool changed = false;
  for (auto [result, yielded] : llvm::zip(op.getResults(), body.getTerminator()->getOperands())) {
    auto argument = dyn_cast<BlockArgument>(yielded);
    if (!argument || argument.getOwner() != &body || result.use_empty())
      continue;
    Value input = op.getInputs()[argument.getArgNumber()];
    if (input.getType() != result.getType())
      continue;
    rewriter.replaceAllUsesWith(result, input);
    changed = true;
  }
  return success(changed);
}

/// Inputs that the region does not use, or that it gets twice, are dropped.
static LogicalResult dropInputs(MapOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    BlockArgument argument = body.getArgument(i);
    unsigned first = llvm::find(op.getInputs(), op.getOperand(i)) - op.getInputs().begin();
    bool last = op.getNumOperands() == 1 && op.getNumResults() == 0;
    if (last || (first == i && !argument.use_empty()))
      continue;
    rewriter.modifyOpInPlace(op, [&] {
      if (first != i)
        argument.replaceAllUsesWith(body.getArgument(first));
      body.eraseArgument(i);
      op->eraseOperand(i);
    });
    return success();
  }
  return failure();
}

/// Results without uses are dropped.
static LogicalResult dropResults(MapOp op, PatternRewriter &rewriter) {
  Operation *yield = op.getBody().front().getTerminator();
  SmallVector<Value> kept, yielded;
  for (auto [result, value] : llvm::zip(op.getResults(), yield->getOperands()))
    if (!result.use_empty()) {
      kept.push_back(result);
      yielded.push_back(value);
    }
  if (kept.empty() || kept.size() == op.getNumResults())
    return failure();
  auto smaller = MapOp::create(rewriter, op.getLoc(), ValueRange(kept).getTypes(), op.getInputs(), nullptr);
  smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
  Block *body = &smaller.getBody().front();
  rewriter.mergeBlocks(&op.getBody().front(), body, body->getArguments());
  for (auto [old, result] : llvm::zip(kept, smaller.getResults()))
    rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(op);
  return success();
}

void MapOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(dropResults);
  patterns.add(forwardPassedOn);
  patterns.add(dropInputs);
}

/// A wait for nothing is nothing.
static LogicalResult eraseEmptyWait(WaitOp op, PatternRewriter &rewriter) {
  if (!op.getTokens().empty())
    return failure();
  rewriter.eraseOp(op);
  return success();
}

void WaitOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) { patterns.add(eraseEmptyWait); }

/// Sizes that are always equal need no comparison.
LogicalResult RequireSizeOp::canonicalize(RequireSizeOp op, PatternRewriter &rewriter) {
  std::optional<int64_t> produced = getConstantIntValue(op.getProduced());
  if (op.getProduced() != op.getGiven() && (!produced || produced != getConstantIntValue(op.getGiven())))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
