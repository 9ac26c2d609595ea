//===- ShareArrays.cpp - Nests that write over what they read last --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The array that a nest reads for the last time, element by element, becomes
/// that which it writes.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Nest.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tilewright {
#define GEN_PASS_DEF_SHAREARRAYS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Whether `memref` is an array of this kernel that affine accesses alone touch, and all of them stand in `block`'s
/// nests for which `holds`.
static bool isTouchedWhere(Value memref, Block *block, llvm::function_ref<bool(Operation *top)> holds) {
  return memref.getDefiningOp<memref::AllocOp>() && llvm::all_of(memref.getUsers(), [&](Operation *user) {
           if (isa<memref::DeallocOp>(user))
             return true;
           Operation *top = block->findAncestorOpInBlock(*user);
           return isa<AffineLoadOp, AffineStoreOp>(user) && top && holds(top);
         });
}

/// Whether both are allocated alike, dynamic sizes included.
static bool haveEqualShapes(Value a, Value b) {
  auto left = a.getDefiningOp<memref::AllocOp>(), right = b.getDefiningOp<memref::AllocOp>();
  return left && right && left.getType() == right.getType() &&
         llvm::equal(left.getDynamicSizes(), right.getDynamicSizes());
}

/// The array that the nest at `root` may write its result over; null if there is none.
static Value findDying(AffineForOp root, const Nest &nest) {
  if (nest.stores.size() != 1)
    return nullptr;
  const Access &store = nest.stores.front();
  Block *block = root->getBlock();
  // The nest is the first that touches the result, ...
  bool isFirst = isTouchedWhere(store.memref, block, [&](Operation *top) { return !top->isBeforeInBlock(root); });
  // Each iteration has an element of its own.
  std::optional<llvm::SmallBitVector> dims = ownDims(store.map);
  if (!isFirst || !dims || !dims->all())
    return nullptr;
  for (const Access &load : nest.loads) {
    Value memref = load.memref;
    if (memref == store.memref || !haveEqualShapes(memref, store.memref))
      continue;
    // ... and the last that touches the other, of which it reads the element that it writes; an array that nobody but
    // its writers and this nest touches may not be needed at all.
    bool isRead = false;
    bool isLast = isTouchedWhere(memref, block, [&](Operation *top) { return !root->isBeforeInBlock(top); });
    for (Operation *user : memref.getUsers())
      if (auto read = dyn_cast<AffineLoadOp>(user)) {
        Operation *top = block->findAncestorOpInBlock(*user);
        bool isSum = false; // a nest that goes on with what it wrote
        top->walk([&](AffineStoreOp other) { isSum |= other.getMemRef() == memref; });
        isRead |= top != root && !isSum;
      }
    bool atSameElement = llvm::all_of(nest.loads, [&](const Access &other) {
      return other.memref != memref || (other.map == store.map && other.symbols == store.symbols);
    });
    if (isLast && isRead && atSameElement)
      return memref;
  }
  return nullptr;
}

namespace {
struct ShareArrays : tilewright::impl::ShareArraysBase<ShareArrays> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isKernel(function) || isScheduled(function))
      return;
    for (auto root : function.front().getOps<AffineForOp>()) {
      FailureOr<Nest> nest = analyzeNest(root);
      if (failed(nest))
        continue;
      Value dying = findDying(root, *nest);
      if (!dying)
        continue;
      Value result = nest->stores.front().memref;
      Operation *buffer = result.getDefiningOp();
      for (Operation *user : llvm::make_early_inc_range(dying.getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      result.replaceAllUsesWith(dying);
      buffer->erase();
    }
  }
};
} // namespace
