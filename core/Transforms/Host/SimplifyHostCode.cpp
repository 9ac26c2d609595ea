//===- SimplifyHostCode.cpp - Ops on memrefs that one lane has ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What programs on memrefs have for CPUs: the stack, vectors, hints, atomic updates, affine control flow.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Bufferize/VectorAccesses.h"
#include "core/Transforms/Lower/LLVM/LowerAffine.h"
#include "core/Transforms/Lower/Vectors/ParallelLoops.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tilewright {
#define GEN_PASS_DEF_SIMPLIFYHOSTCODE
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Updates that other iterations must not come between, and memory of one iteration.
static bool needsOrder(scf::ParallelOp parallel) {
  return parallel
      ->walk([](Operation *op) {
        return isa<memref::AtomicRMWOp, memref::GenericAtomicRMWOp, memref::AllocOp, memref::AllocaOp,
                   memref::AllocaScopeOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// One lane is alone: it loads, computes and stores. The result is what was there.
static void expand(memref::AtomicRMWOp op) {
  OpBuilder b(op);
  Value old = memref::LoadOp::create(b, op.getLoc(), op.getMemref(), op.getIndices());
  Value fresh = op.getKind() == arith::AtomicRMWKind::assign
                    ? op.getValue()
                    : arith::getReductionOp(op.getKind(), b, op.getLoc(), old, op.getValue());
  memref::StoreOp::create(b, op.getLoc(), fresh, op.getMemref(), op.getIndices());
  op.replaceAllUsesWith(old);
  op.erase();
}

static void expand(memref::GenericAtomicRMWOp op) {
  OpBuilder b(op);
  Value old = memref::LoadOp::create(b, op.getLoc(), op.getMemref(), op.getIndices());
  Block &body = op.getRegion().front();
  auto yield = cast<memref::AtomicYieldOp>(body.getTerminator());
  memref::StoreOp store = memref::StoreOp::create(b, op.getLoc(), yield.getResult(), op.getMemref(), op.getIndices());
  body.getArgument(0).replaceAllUsesWith(old);
  yield.erase();
  op->getBlock()->getOperations().splice(store->getIterator(), body.getOperations());
  op.replaceAllUsesWith(old);
  op.erase();
}

/// One of the dimensions, chosen by a number.
static void expand(memref::DimOp op) {
  auto type = dyn_cast<MemRefType>(op.getSource().getType());
  if (!type || op.getConstantIndex() || type.getRank() == 0)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value size = memref::DimOp::create(b, loc, op.getSource(), 0);
  for (int64_t d = 1; d < type.getRank(); ++d) {
    Value isIt = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, op.getIndex(),
                                       arith::ConstantIndexOp::create(b, loc, d));
    size = arith::SelectOp::create(b, loc, isIt, memref::DimOp::create(b, loc, op.getSource(), d), size);
  }
  op.replaceAllUsesWith(size);
  op.erase();
}

/// The body of a scope in its place; what it allocates lives as long as the call.
static void inlineScope(memref::AllocaScopeOp scope) {
  if (!llvm::hasSingleElement(scope.getBodyRegion()))
    return;
  Block &body = scope.getBodyRegion().front();
  Operation *end = body.getTerminator();
  scope->replaceAllUsesWith(end->getOperands());
  end->erase();
  scope->getBlock()->getOperations().splice(scope->getIterator(), body.getOperations());
  scope.erase();
}

/// Whether control flow may hand `array` on, so that two of its kind exist at a time.
static bool isHandedOn(Value array) {
  SmallVector<Value> views{array};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>() || isa<scf::ForOp, scf::WhileOp, arith::SelectOp>(user) ||
          (isa<func::CallOp>(user) && llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>)))
        return true;
      if (isa<ViewLikeOpInterface>(user))
        llvm::append_range(views, user->getResults());
    }
  return false;
}

namespace {
struct SimplifyHostCode : tilewright::impl::SimplifyHostCodeBase<SimplifyHostCode> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || isKernel(function) || function->hasAttr(opaqueAttr))
      return;
    // Sums of indices stay, which the host knows.
    if (failed(lowerAffine({function}, &getContext(), /*keepIndices=*/true)) ||
        failed(lowerVectorAccesses(function, /*all=*/true)))
      return signalPassFailure();

    SmallVector<scf::ParallelOp> loops;
    function.walk([&](scf::ParallelOp op) { loops.push_back(op); });
    for (scf::ParallelOp op : loops) // inner ones first
      if (needsOrder(op))
        makeSequential(op);

    function.walk([](memref::AllocaScopeOp op) { inlineScope(op); });
    function.walk([&](Operation *op) {
      if (auto each = dyn_cast<memref::AtomicRMWOp>(op))
        return expand(each);
      if (auto each = dyn_cast<memref::GenericAtomicRMWOp>(op))
        return expand(each);
      if (auto each = dyn_cast<memref::DimOp>(op))
        return expand(each);
      if (auto hint = dyn_cast<memref::AssumeAlignmentOp>(op)) {
        hint.replaceAllUsesWith(hint.getMemref());
        return op->erase();
      }
      if (isa<memref::PrefetchOp, memref::DeallocOp>(op)) // arrays live as long as the call
        return op->erase();
      if (auto stack = dyn_cast<memref::AllocaOp>(op)) {
        OpBuilder builder(op);
        auto heap = memref::AllocOp::create(builder, op->getLoc(), stack.getType(), stack.getDynamicSizes());
        stack.replaceAllUsesWith(heap.getResult());
        stack.erase();
        hoist(heap, function);
      } else if (auto heap = dyn_cast<memref::AllocOp>(op)) {
        hoist(heap, function);
      }
    });
  }

  /// One array for all iterations of the loops around it, so that one lane can walk them.
  static void hoist(memref::AllocOp alloc, func::FuncOp function) {
    if (alloc->getParentOp() != function && alloc.getType().hasStaticShape() && !isHandedOn(alloc))
      alloc->moveBefore(&function.front(), function.front().begin());
  }
};
} // namespace
