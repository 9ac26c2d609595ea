//===- DelaySums.cpp - Sums over rows after what rows are computed by -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program computes row by row can be one launch, if its operations are
/// neighbours. Sums over rows between them, as of weight gradients and losses,
/// and what follows from these, come after them:
///
///   m[i] = max of x[i, j]                     m[i] = max of x[i, j]
///   c = sum over i of (t[i] >= 0)       ->    y[i, j] = x[i, j] - m[i]
///   y[i, j] = x[i, j] - m[i]                  c = sum over i of (t[i] >= 0)
///
/// Contractions and whatever has an effect stay where they are, and nothing
/// moves past them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_DELAYSUMS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

/// Whether the operation sums along the outermost dimension of what it reads, which has more than one element.
static bool sumsOverRows(linalg::GenericOp op) {
  SmallVector<int64_t> trips = op.getStaticLoopRanges();
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    for (AffineExpr index : map.getResults()) {
      auto loop = dyn_cast<AffineDimExpr>(index);
      if (loop && trips[loop.getPosition()] != 1)
        return op.getIteratorTypesArray()[loop.getPosition()] == utils::IteratorType::reduction;
    }
    return false;
  });
}

/// Whether elements of an operand are read by several iterations of a sum: a contraction, a pooling.
static bool readsAgain(linalg::GenericOp op) {
  return op.getNumReductionLoops() != 0 && op.getNumDpsInputs() > 1 &&
         llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
           return op.getMatchingIndexingMap(input).getNumResults() < op.getNumLoops();
         });
}

/// Whether `op` may come after what follows it.
static bool mayMove(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.hasPureTensorSemantics() && !readsAgain(generic) &&
           llvm::none_of(*generic.getBody(), llvm::IsaPred<tensor::ExtractOp>);
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>();
}

namespace {
struct DelaySums : tilewright::impl::DelaySumsBase<DelaySums> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) {
      if (!isa<linalg::GenericOp>(block->getParentOp()))
        delayIn(*block);
    });
  }

  static void delayIn(Block &block) {
    llvm::SmallSetVector<Operation *, 16> delayed;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!mayMove(&op)) {
        for (Operation *each : delayed)
          each->moveBefore(&op);
        delayed.clear();
        continue;
      }
      auto generic = dyn_cast<linalg::GenericOp>(op);
      bool follows = op.walk([&](Operation *inner) {
                         return llvm::any_of(inner->getOperands(),
                                             [&](Value operand) { return delayed.contains(operand.getDefiningOp()); })
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       }).wasInterrupted();
      if (follows || (generic && sumsOverRows(generic)))
        delayed.insert(&op);
    }
  }
};
} // namespace
