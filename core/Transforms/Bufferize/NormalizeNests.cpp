//===- NormalizeNests.cpp - One form of nests for stage 3 ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lower bound 0 and step 1 for every loop, a loop of one iteration around
/// statements that have none, allocations at the top of the kernel.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/StatementLoops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {
#define GEN_PASS_DEF_NORMALIZENESTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

bool isSingle(affine::AffineForOp loop) {
  return loop.hasConstantBounds() && loop.getConstantUpperBound() - loop.getConstantLowerBound() == 1 &&
         loop.getNumIterOperands() == 0;
}

/// Whether each store in the loop writes the same element whatever the loop's number is: then it sums, over one.
bool sumsUp(affine::AffineForOp loop) {
  bool isIndex = true;
  loop->walk([&](affine::AffineStoreOp store) {
    isIndex &= llvm::is_contained(store.getMapOperands(), loop.getInductionVar());
  });
  return !isIndex;
}

/// A loop of one iteration in another one is none: arrays with sizes of 1 leave them, and views of such arrays sums of
/// their numbers. So what has one element a row runs over rows alone. Of the first ones one stays: it may be a row.
/// Where a nest that sums has one, all stay: it may be a dimension of a contraction, whose nests before and behind have
/// it, too, or of rows of one element.
void dropSingleIterations(func::FuncOp function) {
  SmallVector<affine::AffineForOp> loops;
  bool sums = false;
  function.walk([&](affine::AffineForOp loop) {
    if (!isSingle(loop))
      return;
    auto root = loop;
    while (auto around = dyn_cast<affine::AffineForOp>(root->getParentOp()))
      root = around;
    if (root == loop) {
      FailureOr<tilewright::Nest> nest = tilewright::analyzeNest(root);
      sums |= succeeded(nest) && succeeded(tilewright::recognizeContraction(*nest));
      return;
    }
    loops.push_back(loop);
    root->walk([&](affine::AffineForOp each) { sums |= sumsUp(each); });
  });
  if (!sums)
    for (affine::AffineForOp loop : loops) // from the inside
      (void)affine::promoteIfSingleIteration(loop);
}

struct NormalizeNests : tilewright::impl::NormalizeNestsBase<NormalizeNests> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(tilewright::kernelAttr))
      return;
    function.walk([](affine::AffineForOp loop) { (void)affine::normalizeAffineFor(loop); });
    dropSingleIterations(function);
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      if (auto store = dyn_cast<affine::AffineStoreOp>(op))
        tilewright::wrapStatement(store);
    // Allocations whose sizes are arguments or constants go to the top.
    Block &entry = function.getBody().front();
    Operation *front = nullptr;
    llvm::SmallPtrSet<Operation *, 16> moved;
    for (Operation &op : llvm::make_early_inc_range(entry)) {
      bool movable = isa<memref::AllocOp, memref::DimOp, affine::AffineApplyOp>(op) ||
                     op.hasTrait<OpTrait::ConstantLike>() ||
                     (isMemoryEffectFree(&op) && op.getNumRegions() == 0 && op.getNumResults() == 1 &&
                      isa<IndexType>(op.getResult(0).getType()));
      movable &= llvm::all_of(op.getOperands(), [&](Value operand) {
        return isa<BlockArgument>(operand) || moved.contains(operand.getDefiningOp());
      });
      if (!movable)
        continue;
      moved.insert(&op);
      if (front)
        op.moveAfter(front);
      else
        op.moveBefore(&entry, entry.begin());
      front = &op;
    }
  }
};

} // namespace
