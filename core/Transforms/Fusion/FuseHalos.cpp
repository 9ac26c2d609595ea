//===- FuseHalos.cpp - Stencils computed where they are read --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stencil that reads several elements of what another one wrote computes
// those elements itself, or takes them from a circular buffer of rows, if moving the buffer
// between them costs more. Where each nest is a launch, a stencil that stays alone keeps its sums in
// registers from their beginning.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/Transforms/Fusion/StencilPair.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_FUSEHALOS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// Whether its terms lie in windows that move with the result: each loop over terms shares an index of a load with a
/// loop of the result. Others are sums over dimensions, which programs of rows fuse with what uses them.
bool isWindow(const Stencil &stencil) {
  return llvm::all_of(stencil.taps, [&](unsigned tap) {
    return llvm::any_of(stencil.nest.loads, [&](const Access &load) {
      return llvm::any_of(load.map.getResults(), [&](AffineExpr index) {
        return index.isFunctionOfDim(tap) &&
               llvm::any_of(stencil.space, [&](unsigned loop) { return index.isFunctionOfDim(loop); });
      });
    });
  });
}

/// Whether an element is made of several elements of an array: by taps of a window, or written out. An element-wise
/// nest behind it is no part of a program of rows.
bool readsNeighbours(const Stencil &stencil) {
  if (stencil.points > 1)
    return isWindow(stencil);
  llvm::SmallDenseSet<Value> arrays;
  return llvm::any_of(stencil.nest.loads, [&](const Access &load) { return !arrays.insert(load.memref).second; });
}

/// Whether the stencil is element-wise and reads what a nest that a unit may compute has summed up: it is computed on
/// the sums then, once for each element.
bool followsProduct(const Stencil &stencil) {
  if (!stencil.taps.empty())
    return false;
  return llvm::any_of(stencil.nest.loads, [&](const Access &load) {
    return load.memref.getDefiningOp<memref::AllocOp>() && llvm::any_of(load.memref.getUsers(), [&](Operation *user) {
             Operation *top = stencil.nest.root()->getBlock()->findAncestorOpInBlock(*user);
             auto writer = isa<AffineStoreOp>(user) ? dyn_cast_or_null<AffineForOp>(top) : AffineForOp();
             FailureOr<Nest> nest = writer ? analyzeNest(writer) : FailureOr<Nest>(failure());
             return succeeded(nest) && isProduct(*nest);
           });
  });
}

/// Whether neighbouring lanes would read neighbouring elements of all arrays.
bool isAlongLanes(const Stencil &stencil) {
  return llvm::all_of(stencil.nest.loads, [&](const Access &load) { return stencil.isAlongLanes(load); });
}

/// Whether the stencil may be written anew where nests run as launches or are scheduled between two memories.
bool isForAnyChip(const Stencil &stencil) {
  return !isProduct(stencil.nest) && isWindow(stencil) && isAlongLanes(stencil);
}

struct FuseHalos : tilewright::impl::FuseHalosBase<FuseHalos> {
  /// Fuses one pair of `block`, if any is worth it.
  bool fuseOne(Block &block, const PassModel &model, int64_t threads) {
    SmallVector<Stencil, 0> stencils;
    for (auto loop : block.getOps<AffineForOp>())
      if (std::optional<Stencil> stencil = recognizeStencil(loop, mostStencilPoints);
          stencil && !(stencil->usesIndices && model.onCaches()))
        stencils.push_back(std::move(*stencil));
    for (const Stencil &second : stencils)
      for (const Stencil &first : stencils) {
        if (llvm::none_of(second.nest.loads, [&](const Access &load) { return load.memref == first.target(); }) ||
            !first.nest.root()->isBeforeInBlock(second.nest.root()))
          continue;
        // Of caches the model sees products as the cores compute them.
        if (!model.onCaches() && (isProduct(first.nest) || isProduct(second.nest) || followsProduct(first) ||
                                  !isAlongLanes(first) || !isAlongLanes(second)))
          continue;
        StencilPair pair(first, second);
        if (!seen.insert({first.nest.root(), second.nest.root()}).second ||
            !pair.isLegal(/*elementwise=*/model.onLanes() && readsNeighbours(first)))
          continue;
        HaloAnswer answer = pair.compare(model, threads);
        bool slides = answer.slid < answer.fused && answer.slid < answer.apart;
        bool fuses = !slides && answer.fused < answer.apart;
        if (DecisionLog *log = DecisionLog::of(&getContext())) {
          llvm::json::Array candidates;
          for (auto [form, seconds] : {std::pair("overlapped tiling", answer.fused),
                                       std::pair("sliding window", answer.slid), std::pair("apart", answer.apart)})
            if (seconds != HUGE_VAL)
              candidates.push_back(llvm::json::Object{{"form", form}, {"seconds", seconds}});
          log->add("fuse-stencils", second.nest.root(),
                   llvm::json::Object{{"inputs", llvm::json::Object{{"taps_of_first", first.points},
                                                                    {"taps_of_second", second.points}}},
                                      {"choice", llvm::json::Object{{"fused", fuses || slides},
                                                                    {"form", slides  ? "sliding window"
                                                                             : fuses ? "overlapped tiling"
                                                                                     : "apart"}}},
                                      {"candidates", std::move(candidates)}});
        }
        if (!fuses && !slides)
          continue;
        if (slides)
          pair.slide();
        else
          pair.fuse();
        seen.clear(); // operations were erased
        return true;
      }
    return false;
  }

  /// Writes stencils with sums anew, so that the nests before them that set these are gone.
  static void beginInRegisters(Block &block) {
    for (auto loop : llvm::to_vector(block.getOps<AffineForOp>())) {
      std::optional<Stencil> stencil = recognizeStencil(loop, mostStencilPoints);
      if (stencil && stencil->init && isForAnyChip(*stencil))
        StencilPair(std::move(*stencil)).fuse();
    }
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    for (Block &block : function.getBody())
      if (llvm::any_of(block, [](Operation &op) { return op.hasAttr(tile::scheduleAttr); }))
        return; // its nests are decided, and counted
    LogicalResult done = withMemoryModel(function, [&](const NestContext &context) {
      PassModel model(context.chip);
      for (Block &block : function.getBody()) {
        while (fuseOne(block, model, context.settings.threads)) {
        }
        if (model.onLanes())
          beginInRegisters(block);
      }
    });
    if (failed(done))
      signalPassFailure();
  }

  llvm::DenseSet<std::pair<Operation *, Operation *>> seen; // pairs that stay apart
};

} // namespace
