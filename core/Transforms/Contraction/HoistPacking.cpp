//===- HoistPacking.cpp - Copies that all tiles have in common ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a tile computes into a buffer of its own from arrays that no tile writes,
/// without the tile's number, is computed before the first tile.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_HOISTPACKING
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Whether `op` reads memory, and writes none.
static bool onlyReads(Operation *op) {
  return isa<AffineLoadOp, AffineVectorLoadOp, vector::MaskedLoadOp, tile::LoadOp, memref::DimOp>(op);
}

/// The buffer that `pack`, a loop in the body of `tiles`, fills with the same in all tiles; null where it does anything
/// else.
static memref::AllocOp filledBuffer(AffineForOp tiles, AffineForOp pack) {
  memref::AllocOp buffer;
  bool isSame = true;
  auto varies = [&](Value value) {
    Operation *def = value.getDefiningOp();
    return !pack.getRegion().isAncestor(value.getParentRegion()) &&
           tiles.getRegion().isAncestor(value.getParentRegion()) && !isa_and_nonnull<memref::AllocOp>(def) &&
           !(def && def->hasTrait<OpTrait::ConstantLike>());
  };
  pack->walk([&](Operation *op) {
    isSame &= !llvm::any_of(op->getOperands(), varies);
    Value written;
    if (auto store = dyn_cast<AffineStoreOp>(op))
      written = store.getMemRef();
    else if (auto store = dyn_cast<AffineVectorStoreOp>(op))
      written = store.getMemRef();
    if (written) {
      auto alloc = written.getDefiningOp<memref::AllocOp>();
      isSame &= alloc && alloc->getBlock() == tiles.getBody() && (!buffer || buffer == alloc);
      buffer = alloc;
    } else if (onlyReads(op)) {
      // Of what nobody writes while tiles are computed.
      for (Value array : op->getOperands())
        if (isa<MemRefType>(array.getType()))
          isSame &= !tiles.getRegion().isAncestor(array.getParentRegion()) &&
                    llvm::all_of(array.getUsers(),
                                 [&](Operation *user) { return !tiles->isAncestor(user) || onlyReads(user); });
    } else {
      isSame &= isa<AffineForOp, AffineYieldOp>(op) || isMemoryEffectFree(op);
    }
  });
  // Sizes of the buffer that are made in the tile stay there with it.
  if (!isSame || !buffer || llvm::any_of(buffer->getOperands(), varies))
    return nullptr;
  return buffer;
}

/// Moves out of `tiles` the buffers that are filled before anything else touches them, with what fills them.
static void hoist(AffineForOp tiles) {
  for (auto pack : llvm::make_early_inc_range(tiles.getBody()->getOps<AffineForOp>())) {
    memref::AllocOp buffer = filledBuffer(tiles, pack);
    if (!buffer)
      continue;
    bool isFilledFirst = true;
    for (Operation *user : buffer->getUsers()) {
      Operation *top = tiles.getBody()->findAncestorOpInBlock(*user);
      bool writes = top && !isa<memref::DeallocOp>(user) && !onlyReads(user);
      isFilledFirst &= !writes || top == pack;
      isFilledFirst &= top == pack || pack->isBeforeInBlock(top);
    }
    if (!isFilledFirst)
      continue;
    pack->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == tiles.getBody() && def != buffer)
          def->moveBefore(tiles); // a constant
    });
    for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->moveAfter(tiles);
    buffer->moveBefore(tiles);
    pack->moveBefore(tiles);
  }
}

namespace {
struct HoistPacking : tilewright::impl::HoistPackingBase<HoistPacking> {
  void runOnOperation() override {
    // From the inside, so that a copy may pass several loops.
    getOperation().walk([](AffineForOp loop) {
      if (loop->hasAttr(tile::atAttr))
        hoist(loop);
    });
  }
};
} // namespace
