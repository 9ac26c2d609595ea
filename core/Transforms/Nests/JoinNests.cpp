//===- JoinNests.cpp - Neighbouring nests in one launch -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nests that no launch has taken yet, with equal parallel loops, become one:
///
///   for %j { s[%j] = 0 }
///   for %i { for %j { s[%j] += x[%i, %j] } }   ->   for %j { s[%j] = 0; for %i { s[%j] += .. }; y[%j] = f(s[%j]) }
///   for %j { y[%j] = f(s[%j]) }
///
/// What one iteration hands on to the same iteration of a later nest stays in a
/// register.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Nests/ParallelLoops.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Analysis/AliasAnalysis.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_JOINNESTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Operations of a joined nest beyond which registers would spill.
static constexpr unsigned mostOperations = 64;

/// Nests that another one may pass: more are looked at in vain.
static constexpr size_t mostNestsPast = 4;

static unsigned operationsBelow(AffineForOp loop) {
  unsigned count = 0;
  loop.walk([&](Operation *) { ++count; });
  return count;
}

static bool runsOnce(AffineForOp loop) { return loop.hasConstantBounds() && loop.getConstantUpperBound() == 1; }

/// Moves what is in `second` to the end of `first`, which is before it in one block, and erases it.
static void append(AffineForOp first, AffineForOp second) {
  second.getInductionVar().replaceAllUsesWith(first.getInductionVar());
  Operation *end = first.getBody()->getTerminator();
  for (Operation &op : llvm::make_early_inc_range(second.getBody()->without_terminator()))
    op.moveBefore(end);
  second.erase();
}

/// Whether nothing that `loop` and `op` touch is written by the other one.
static bool areApart(AffineForOp loop, Operation *op) {
  auto own = accessesBelow(loop), other = accessesBelow(op);
  if (!own || !other)
    return false;
  return llvm::none_of(*own, [&](const LinearAccess &a) {
    return llvm::any_of(*other,
                        [&](const LinearAccess &b) { return a.memref == b.memref && (a.isStore || b.isStore); });
  });
}

/// Merges loops of the body that run equally often and touch nothing of each other's: sums over the same rows.
static void mergeSums(Block *body) {
  SmallVector<AffineForOp> loops(body->getOps<AffineForOp>());
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    AffineForOp loop = loops[i], next = loops[i + 1];
    if (!equalTripCounts(loop, next))
      continue;
    bool free = areApart(loop, next);
    for (Operation *op = loop->getNextNode(); free && op != next; op = op->getNextNode())
      free = areApart(loop, op);
    if (!free)
      continue;
    loop->moveBefore(next);
    append(loop, next);
    loops[i + 1] = loop;
  }
}

/// Whether the bands run equally often and iterations of the second one need those of the first one alone.
static bool canJoin(ArrayRef<AffineForOp> first, ArrayRef<AffineForOp> second) {
  if (first.empty() || first.size() != second.size())
    return false;
  return llvm::all_of(llvm::zip(first, second), [](auto pair) {
    auto [p, q] = pair;
    return (runsOnce(p) && runsOnce(q)) || canMerge(p, q);
  });
}

namespace {
struct JoinNests : tilewright::impl::JoinNestsBase<JoinNests> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel))
      return;
    if (failed(requireLanes(kernel)))
      return signalPassFailure();
    bool joined = false;
    kernel.walk([&](Block *block) {
      if (isa<func::FuncOp, scf::IfOp>(block->getParentOp()))
        joined |= joinIn(*block);
    });
    if (!joined)
      return;
    DominanceInfo dominance(kernel);
    PostDominanceInfo postDominance(kernel);
    AliasAnalysis aliases(kernel);
    affineScalarReplace(kernel, dominance, postDominance, aliases);
  }

  /// Whether any nests of the block became one.
  static bool joinIn(Block &block) {
    SmallVector<AffineForOp> nests; // since what no nest may move past
    bool joined = false;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto root = dyn_cast<AffineForOp>(op);
      if (!root) {
        if (!isa<memref::AllocOp>(op) && !isMemoryEffectFree(&op))
          nests.clear();
        continue;
      }
      root = moveIndependentLoopsOut(root);
      auto [partner, mayStay] = findPartner(nests, root);
      if (partner == nests.end()) {
        nests.push_back(root);
        continue;
      }
      AffineForOp nest = *partner;
      if (!mayStay) {
        nest->moveBefore(root);
        nests.erase(partner);
        nests.push_back(nest);
      }
      join(nest, root);
      joined = true;
    }
    return joined;
  }

  /// The last of `nests` that `root`, which comes after all of them, can join, and whether `root` can move up to it
  /// past the nests between; else it moves down.
  static std::pair<SmallVectorImpl<AffineForOp>::iterator, bool> findPartner(SmallVectorImpl<AffineForOp> &nests,
                                                                             AffineForOp root) {
    size_t first = nests.size() - std::min(nests.size(), mostNestsPast);
    for (size_t i = nests.size(); i-- > first;) {
      if (!mayJoin(nests[i], root))
        continue;
      ArrayRef<AffineForOp> between = ArrayRef(nests).drop_front(i + 1);
      auto isFree = [&](AffineForOp nest) {
        return llvm::all_of(between, [&](AffineForOp other) { return areApart(nest, other); });
      };
      if (isFree(root))
        return {nests.begin() + i, true};
      if (isFree(nests[i]))
        return {nests.begin() + i, false};
    }
    return {nests.end(), false};
  }

  static bool mayJoin(AffineForOp first, AffineForOp second) {
    return operationsBelow(first) + operationsBelow(second) <= mostOperations &&
           canJoin(parallelBand(first), parallelBand(second));
  }

  static void join(AffineForOp root, AffineForOp other) {
    SmallVector<AffineForOp> first = parallelBand(root), second = parallelBand(other);
    // What stands between the nests and is none moves before the first one: it touches no memory.
    for (Operation *op = root->getNextNode(); op != other;) {
      Operation *next = op->getNextNode();
      if (!isa<AffineForOp>(op))
        op->moveBefore(root);
      op = next;
    }
    for (auto [p, q] : llvm::zip(first, second))
      q.getInductionVar().replaceAllUsesWith(p.getInductionVar());
    Block *body = AffineForOp(first.back()).getBody();
    for (Operation &op : llvm::make_early_inc_range(AffineForOp(second.back()).getBody()->without_terminator()))
      op.moveBefore(body->getTerminator());
    other.erase();
    mergeSums(body);
  }
};
} // namespace
