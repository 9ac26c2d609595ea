//===- LowerTileParallel.cpp - Levels become parallel loops ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// tile.parallel of levels whose members are independent threads becomes
/// affine.parallel; of all other levels, and of one member, loops.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/IterationSpace.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/PatternMatch.h"
#include "tilewright/TargetDescription.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERTILEPARALLEL
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace tilewright;

/// Moves the body of `op` before the terminator of `target`, with `indices` for its arguments.
static void moveBody(RewriterBase &rewriter, tile::ParallelOp op, Block *target, ValueRange indices) {
  Block &body = op.getBody().front();
  rewriter.eraseOp(body.getTerminator());
  rewriter.inlineBlockBefore(&body, target->getTerminator(), indices);
  rewriter.eraseOp(op);
}

/// Bounds of loops, accesses and expressions in the body take `indices` as dimensions: only in the body of a
/// tile.parallel are they symbols.
static void useAsDimensions(ValueRange indices) {
  for (Value index : indices)
    for (Operation *user : llvm::make_early_inc_range(index.getUsers())) {
      auto loop = dyn_cast<affine::AffineForOp>(user);
      if (!loop) {
        auto attribute = user->getAttrOfType<AffineMapAttr>("map");
        if (!attribute || !isa<affine::AffineDialect>(user->getDialect()))
          continue;
        AffineMap map = attribute.getValue();
        const unsigned first = user->getNumOperands() - map.getNumInputs(); // a value and an array may come before
        SmallVector<Value> operands(user->getOperands().drop_front(first));
        demoteSymbols(map, operands);
        user->setAttr("map", AffineMapAttr::get(map));
        user->setOperands(first, user->getNumOperands() - first, operands);
        continue;
      }
      AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
      SmallVector<Value> lowerOperands(loop.getLowerBoundOperands()), upperOperands(loop.getUpperBoundOperands());
      demoteSymbols(lower, lowerOperands);
      demoteSymbols(upper, upperOperands);
      loop.setLowerBound(lowerOperands, lower);
      loop.setUpperBound(upperOperands, upper);
    }
}

static void lowerToThreads(RewriterBase &rewriter, tile::ParallelOp op) {
  AffineMap bounds = op.getUpperBounds();
  MLIRContext *context = op.getContext();
  unsigned count = bounds.getNumResults();
  SmallVector<AffineMap> lower(count, AffineMap::getConstantMap(0, context)), upper;
  for (unsigned i = 0; i < count; ++i)
    upper.push_back(bounds.getSubMap({i}));
  auto parallel =
      affine::AffineParallelOp::create(rewriter, op.getLoc(), TypeRange(), ArrayRef<arith::AtomicRMWKind>(), lower,
                                       ValueRange(), upper, op.getBoundOperands(), SmallVector<int64_t>(count, 1));
  moveBody(rewriter, op, parallel.getBody(), parallel.getIVs());
  useAsDimensions(parallel.getIVs());
}

static void lowerToLoops(RewriterBase &rewriter, tile::ParallelOp op) {
  AffineMap bounds = op.getUpperBounds();
  SmallVector<Value> indices;
  Block *target = nullptr;
  OpBuilder::InsertionGuard guard(rewriter);
  for (unsigned i = 0; i < bounds.getNumResults(); ++i) {
    auto loop =
        affine::AffineForOp::create(rewriter, op.getLoc(), ValueRange(), AffineMap::getConstantMap(0, op.getContext()),
                                    op.getBoundOperands(), bounds.getSubMap({i}));
    indices.push_back(loop.getInductionVar());
    target = loop.getBody();
    rewriter.setInsertionPointToStart(target);
  }
  moveBody(rewriter, op, target, indices);
  useAsDimensions(indices);
}

namespace {
struct LowerTileParallel : tilewright::impl::LowerTileParallelBase<LowerTileParallel> {
  void runOnOperation() override {
    SmallVector<tile::ParallelOp> ops;
    getOperation().walk([&](tile::ParallelOp op) { ops.push_back(op); });
    if (ops.empty())
      return;
    auto target = requireTarget(getOperation());
    if (failed(target))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (tile::ParallelOp op : ops) {
      auto level = llvm::find_if((*target)->levels(), [&](const Level &level) { return level.name == op.getLevel(); });
      if (level == (*target)->levels().end()) {
        InFlightDiagnostic diag = op.emitOpError() << "chip " << (*target)->target() << ":" << (*target)->chip()
                                                   << " has no level \"" << op.getLevel() << "\", only ";
        llvm::interleaveComma((*target)->levels(), diag, [&](const Level &level) { diag << level.name; });
        diag.report();
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      bool isOne = op.getUpperBounds().isSingleConstant() && op.getUpperBounds().getSingleConstantResult() == 1;
      if (level->kind == LevelKind::Parallel && level->count > 1 && !isOne)
        lowerToThreads(rewriter, op);
      else
        lowerToLoops(rewriter, op);
    }
  }
};
} // namespace
