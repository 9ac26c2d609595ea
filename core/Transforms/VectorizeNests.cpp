//===- VectorizeNests.cpp - Vectorise memory-bound nests ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the nests of a kernel, flattens what is contiguous, and has each one
// rewritten; a nest that stays scalar says why in a remark.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/NestVectorizer.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_VECTORIZENESTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// A nest whose every access is `memref[i, j, ..]` over all its loops, on equal static shapes: one loop over the
/// elements in memory order, so that short inner dimensions cost no tails.
void flatten(AffineForOp root) {
  auto nest = analyzeNest(root);
  if (failed(nest) || nest->depth() < 2)
    return;
  int64_t total = 1;
  SmallVector<int64_t> shape;
  for (std::optional<int64_t> trips : nest->tripCounts) {
    if (!trips)
      return;
    shape.push_back(*trips);
    total *= *trips;
  }
  auto isWhole = [&](const Access &access) {
    auto type = cast<MemRefType>(access.memref.getType());
    return access.map.isIdentity() && type.getLayout().isIdentity() && type.getShape() == ArrayRef(shape);
  };
  if (!llvm::all_of(nest->loads, isWhole) || !llvm::all_of(nest->stores, isWhole) || total == 0)
    return;
  for (AffineForOp loop : nest->loops)
    for (Operation *user : loop.getInductionVar().getUsers())
      if (!isa<AffineLoadOp, AffineStoreOp>(user))
        return;

  OpBuilder b(root);
  Location loc = root.getLoc();
  auto loop = AffineForOp::create(b, loc, 0, total);
  llvm::SmallDenseMap<Value, Value> flat;
  auto flatOf = [&](Value memref) {
    Value &value = flat[memref];
    if (!value) {
      OpBuilder before(loop);
      ReassociationIndices all(llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
      value = memref::CollapseShapeOp::create(before, loc, memref, SmallVector<ReassociationIndices>{all});
    }
    return value;
  };
  loop.getBody()->getOperations().splice(loop.getBody()->begin(), nest->body->getOperations(), nest->body->begin(),
                                         std::prev(nest->body->end()));
  AffineMap identity = b.getMultiDimIdentityMap(1);
  for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
    b.setInsertionPoint(&op);
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      Value value = AffineLoadOp::create(b, load.getLoc(), flatOf(load.getMemRef()), identity,
                                         ValueRange{loop.getInductionVar()});
      load.getResult().replaceAllUsesWith(value);
      load.erase();
    } else if (auto store = dyn_cast<AffineStoreOp>(op)) {
      AffineStoreOp::create(b, store.getLoc(), store.getValueToStore(), flatOf(store.getMemRef()), identity,
                            ValueRange{loop.getInductionVar()});
      store.erase();
    }
  }
  root.erase();
}

struct VectorizeNests : tilewright::impl::VectorizeNestsBase<VectorizeNests> {
  void vectorizeBlock(Block &block, const MemoryModel &model, bool mayReassociate) {
    for (auto loop : llvm::make_early_inc_range(block.getOps<AffineForOp>()))
      flatten(loop);
    for (auto loop : llvm::make_early_inc_range(block.getOps<AffineForOp>())) {
      auto nest = analyzeNest(loop);
      if (failed(nest)) {
        if (loop.getNumIterOperands() == 0)
          vectorizeBlock(*loop.getBody(), model, mayReassociate);
        continue;
      }
      NestVectorizer vectorizer(*nest, model, mayReassociate);
      std::string reason;
      if (!vectorizer.choose(reason)) {
        loop.emitRemark("this nest stays scalar: ") << reason;
        continue;
      }
      if (DecisionLog *log = DecisionLog::of(&getContext()))
        log->add("vectorize-nest", loop.getLoc(),
                 llvm::json::Object{{"inputs", llvm::json::Object{{"loops", static_cast<int64_t>(nest->depth())},
                                                                  {"vector_bytes", model.vectorBytes()},
                                                                  {"stream_threshold", model.streamThreshold()}}},
                                    {"choice", llvm::json::Object{{"lane_loop", static_cast<int64_t>(vectorizer.lane())},
                                                                  {"lanes", vectorizer.width()},
                                                                  {"vectors", vectorizer.copies()},
                                                                  {"streaming_store", vectorizer.streams()}}}});
      vectorizer.rewrite();
    }
  }

  /// Buffers that fusion put into loops: in front of the loops again, small ones on the stack.
  void placeBuffers(const MemoryModel &model) {
    func::FuncOp function = getOperation();
    int64_t stack = 0;
    SmallVector<memref::AllocOp> buffers;
    function.walk([&](memref::AllocOp buffer) {
      if (buffer->getParentOfType<AffineForOp>())
        buffers.push_back(buffer);
    });
    for (memref::AllocOp buffer : buffers) {
      MemRefType type = buffer.getType();
      Operation *outermost = buffer;
      while (!isa<func::FuncOp>(outermost->getParentOp()))
        outermost = outermost->getParentOp();
      buffer->moveBefore(outermost);
      if (!type.hasStaticShape())
        continue;
      int64_t bytes = type.getNumElements() * std::max(type.getElementTypeBitWidth() / 8, 1u);
      if (stack + bytes > model.stackBytes())
        continue;
      stack += bytes;
      OpBuilder b(buffer);
      auto onStack =
          memref::AllocaOp::create(b, buffer.getLoc(), type, b.getI64IntegerAttr(std::max<int64_t>(model.lineBytes(), 16)));
      buffer.getResult().replaceAllUsesWith(onStack.getResult());
      buffer.erase();
    }
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    auto target = targetOf(function);
    if (!target) {
      function.emitError() << llvm::toString(target.takeError());
      return signalPassFailure();
    }
    MemoryModel model(**target);
    auto contract = function->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>("tilewright.fp");
    bool mayReassociate = !contract || contract.getValue() != "strict";
    for (Block &block : function.getBody())
      vectorizeBlock(block, model, mayReassociate);
    placeBuffers(model);
  }
};

} // namespace
