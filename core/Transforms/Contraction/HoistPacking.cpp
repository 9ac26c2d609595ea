//===- HoistPacking.cpp - Copies that all tiles have in common ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a tile computes into a buffer of its own from arrays that no tile writes,
/// without the tile's number, is computed before the first tile:
///
///   for tile { b = pack x;  use b }                     ->  b = pack x;  for tile { use b }
///   for tile { for step { b = pack x[step];  use b } }  ->  for step { b[step] = pack x[step] }
///                                                           for tile { for step { use b[step] } }
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/LoopTrips.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Tile/OnlineReductions.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_HOISTPACKING
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The buffer that `pack`, a loop in `tiles`, fills with the same in all tiles; null where it does anything else. It is
/// allocated beside the loop. `step`: null, or a number that the buffer may differ with.
static memref::AllocOp filledBuffer(AffineForOp tiles, AffineForOp pack, Value step = {}) {
  memref::AllocOp buffer;
  bool isSame = true;
  auto varies = [&](Value value) {
    Operation *def = value.getDefiningOp();
    return value != step && !pack.getRegion().isAncestor(value.getParentRegion()) &&
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
      isSame &= alloc && alloc->getBlock() == pack->getBlock() && (!buffer || buffer == alloc);
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

/// Whether nothing touches the buffer before `pack`, and nothing else writes it.
static bool isFilledFirst(memref::AllocOp buffer, AffineForOp pack) {
  return llvm::all_of(buffer->getUsers(), [&](Operation *user) {
    Operation *top = pack->getBlock()->findAncestorOpInBlock(*user);
    bool writes = top && !isa<memref::DeallocOp>(user) && !onlyReads(user);
    return top == pack || (!writes && pack->isBeforeInBlock(top));
  });
}

/// Moves constants that `pack` uses from its block to before `tiles`.
static void moveConstants(AffineForOp tiles, AffineForOp pack, memref::AllocOp buffer) {
  pack->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == pack->getBlock() && def != buffer)
        def->moveBefore(tiles);
  });
}

//===-- Steps -------------------------------------------------------------===//

/// The operand list and map of an access that `shiftFirstIndex` can change.
static std::optional<std::pair<AffineMap, OperandRange>> indicesOf(Operation *op) {
  if (auto access = dyn_cast<AffineReadOpInterface>(op))
    return std::pair(access.getAffineMap(), access.getMapOperands());
  if (auto access = dyn_cast<AffineWriteOpInterface>(op))
    return std::pair(access.getAffineMap(), access.getMapOperands());
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return std::pair(load.getMap(), load.getMapOperands());
  return std::nullopt;
}

/// Adds `distance` * `number` to the first index of an access.
static void shiftFirstIndex(Operation *op, Value number, int64_t distance) {
  auto [map, operands] = *indicesOf(op);
  SmallVector<Value> values(operands);
  values.insert(values.begin() + map.getNumDims(), number);
  SmallVector<AffineExpr> results(map.getResults());
  results[0] = results[0] + getAffineDimExpr(map.getNumDims(), op->getContext()) * distance;
  AffineMap shifted =
      simplifyAffineMap(AffineMap::get(map.getNumDims() + 1, map.getNumSymbols(), results, op->getContext()));
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    load.setMap(shifted);
    load.getMapOperandsMutable().assign(values);
    return;
  }
  unsigned first = operands.getBeginOperandIndex();
  op->setOperands(first, operands.size(), values);
  op->setAttr("map", AffineMapAttr::get(shifted));
}

/// Whether the two loops do the same, one with `a` where the other one has `b`.
static bool areSame(AffineForOp left, AffineForOp right, Value a, Value b) {
  llvm::DenseMap<Value, Value> same{{a, b}};
  auto check = [&](Value x, Value y) { return success(x == y || same.lookup(x) == y); };
  auto mark = [&](Value x, Value y) { same[x] = y; };
  return OperationEquivalence::isEquivalentTo(left, right, check, mark, OperationEquivalence::IgnoreLocations);
}

/// The buffer of a loop before `pack`, for `tiles` alone, that holds what `pack` fills `buffer` with; null where there
/// is none.
static memref::AllocOp bufferOfSame(AffineForOp tiles, AffineForOp pack, memref::AllocOp buffer) {
  for (auto other : tiles->getBlock()->getOps<AffineForOp>()) {
    if (other == pack)
      break;
    memref::AllocOp known = filledBuffer(tiles, other);
    if (!known || known.getType() != buffer.getType() || !areSame(pack, other, buffer, known))
      continue;
    bool isForTiles = llvm::all_of(known->getUsers(), [&](Operation *user) {
      return isa<memref::DeallocOp>(user) || other->isAncestor(user) || tiles->isAncestor(user);
    });
    // What it was filled from has not changed since.
    other->walk([&](Operation *op) {
      for (Value array : op->getOperands())
        if (isa<MemRefType>(array.getType()) && array != known.getResult())
          isForTiles &= llvm::all_of(array.getUsers(), [&](Operation *user) {
            Operation *top = tiles->getBlock()->findAncestorOpInBlock(*user);
            return onlyReads(user) || !top || top->isBeforeInBlock(other) || !top->isBeforeInBlock(pack);
          });
    });
    if (isForTiles)
      return known;
  }
  return nullptr;
}

/// Fills the buffers of all steps before the first tile, if they are the same in all tiles. Loops over other steps of
/// the same dimension share them.
static void expandOverSteps(AffineForOp steps) {
  auto tiles = dyn_cast<AffineForOp>(steps->getParentOp());
  std::optional<int64_t> count = mostEnd(steps); // buffers are counted from step 0, wherever the loop begins
  if (!tiles || !tiles->hasAttr(tile::atAttr) || !count || *count < 1)
    return;
  for (auto pack : llvm::make_early_inc_range(steps.getBody()->getOps<AffineForOp>())) {
    memref::AllocOp buffer = filledBuffer(tiles, pack, steps.getInductionVar());
    auto canShift = [](Operation *user) { return isa<memref::DeallocOp>(user) || indicesOf(user); };
    if (!buffer || buffer.getType().getRank() == 0 || !buffer.getType().hasStaticShape() ||
        !isFilledFirst(buffer, pack) || !llvm::all_of(buffer->getUsers(), canShift))
      continue;
    moveConstants(tiles, pack, buffer);
    MemRefType type = buffer.getType();
    SmallVector<int64_t> shape(type.getShape());
    const int64_t each = shape[0];
    shape[0] *= *count;
    OpBuilder builder(tiles);
    auto all = memref::AllocOp::create(builder, buffer.getLoc(), MemRefType(MemRefType::Builder(type).setShape(shape)),
                                       buffer.getAlignmentAttr());
    auto over = AffineForOp::create(builder, pack.getLoc(), 0, *count);
    IRMapping mapping;
    mapping.map(buffer.getResult(), all.getResult());
    mapping.map(steps.getInductionVar(), over.getInductionVar());
    OpBuilder::atBlockBegin(over.getBody()).clone(*pack, mapping);
    over->walk([&](Operation *op) {
      if (llvm::is_contained(op->getOperands(), all.getResult()))
        shiftFirstIndex(op, over.getInductionVar(), each);
    });
    pack.erase();
    for (Operation *user : llvm::make_early_inc_range(buffer->getUsers())) {
      if (isa<memref::DeallocOp>(user))
        user->moveAfter(tiles);
      else
        shiftFirstIndex(user, steps.getInductionVar(), each);
      user->replaceUsesOfWith(buffer, all);
    }
    buffer.erase();
    if (memref::AllocOp known = bufferOfSame(tiles, over, all)) {
      over.erase();
      for (Operation *user : llvm::make_early_inc_range(all->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      all.replaceAllUsesWith(known.getResult());
      all.erase();
    }
  }
}

//===-- Tiles -------------------------------------------------------------===//

/// Moves out of `tiles` the buffers that are filled before anything else touches them, with what fills them.
static void hoist(AffineForOp tiles) {
  for (auto pack : llvm::make_early_inc_range(tiles.getBody()->getOps<AffineForOp>())) {
    memref::AllocOp buffer = filledBuffer(tiles, pack);
    if (!buffer || !isFilledFirst(buffer, pack))
      continue;
    moveConstants(tiles, pack, buffer);
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
      auto at = loop->getAttrOfType<IntegerAttr>(tile::atAttr);
      if (at && at.getInt() == stepLoop)
        expandOverSteps(loop);
      else if (at)
        hoist(loop);
    });
  }
};
} // namespace
