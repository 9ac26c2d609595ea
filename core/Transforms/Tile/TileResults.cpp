//===- TileResults.cpp - Results that a tile computes in several nests ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One array and one copy for each result.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Tile/TileResults.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The loops of `nest` that index `store`, one of one iteration if there are none, at the builder's place, with a copy
/// from one array to the other inside.
static void copyLike(OpBuilder &builder, const Nest &nest, const Access &store, Value from, Value to) {
  IRMapping mapping;
  OpBuilder inner = builder;
  Location loc = store.op->getLoc();
  for (unsigned d = 0; d < nest.depth(); ++d) {
    AffineForOp loop = nest.loops[d];
    if (!store.dims().test(d))
      continue;
    auto copy = AffineForOp::create(inner, loc, loop.getLowerBoundOperands(), loop.getLowerBoundMap(),
                                    loop.getUpperBoundOperands(), loop.getUpperBoundMap(), loop.getStepAsInt());
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    inner = OpBuilder::atBlockBegin(copy.getBody());
  }
  if (store.dims().none())
    inner = OpBuilder::atBlockBegin(AffineForOp::create(inner, loc, 0, 1).getBody());
  auto own = cast<AffineStoreOp>(store.op);
  SmallVector<Value> operands =
      llvm::map_to_vector(own.getMapOperands(), [&](Value operand) { return mapping.lookupOrDefault(operand); });
  Value value = AffineLoadOp::create(inner, loc, from, own.getAffineMap(), operands);
  AffineStoreOp::create(inner, loc, value, to, own.getAffineMap(), operands);
}

/// The nest around `access` in `tile`; null where it is in a loop over steps.
static AffineForOp nestIn(Block &tile, Operation *access) {
  auto root = dyn_cast_or_null<AffineForOp>(tile.findAncestorOpInBlock(*access));
  return root && !root->hasAttr(tile::atAttr) ? root : AffineForOp();
}

void tilewright::keepResults(tile::ParallelOp tiles) {
  Block &tile = tiles.getBody().front();
  struct Uses {
    SmallVector<Operation *> accesses; // in order
    bool isRead = false;
    llvm::SmallPtrSet<Operation *, 2> writers; // nests
  };
  llvm::MapVector<Value, Uses> arrays;
  tile.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto load = dyn_cast<AffineLoadOp>(op);
    auto store = dyn_cast<AffineStoreOp>(op);
    if (!load && !store)
      return;
    Uses &uses = arrays[load ? load.getMemRef() : store.getMemRef()];
    uses.accesses.push_back(op);
    uses.isRead |= bool(load);
    if (store)
      uses.writers.insert(tile.findAncestorOpInBlock(*op));
  });
  for (auto &[memref, uses] : arrays) {
    const bool isOwn = memref.getDefiningOp<memref::AllocOp>() && llvm::all_of(memref.getUsers(), [&](Operation *user) {
                         return isa<memref::DeallocOp>(user) || tiles->isProperAncestor(user);
                       });
    if (isOwn || uses.writers.size() + uses.isRead < 2 || uses.writers.empty())
      continue;
    AffineForOp first = nestIn(tile, uses.accesses.front());
    FailureOr<Nest> nest = first ? analyzeNest(first) : FailureOr<Nest>(failure());
    if (failed(nest))
      continue;
    const Access *store =
        llvm::find_if(nest->stores, [&, memref = memref](const Access &each) { return each.memref == memref; });
    if (store == nest->stores.end())
      continue;
    const bool isFilled =
        llvm::any_of(nest->loads, [&, memref = memref](const Access &each) { return each.memref == memref; });
    OpBuilder before(tiles);
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<Value> extents;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        extents.push_back(memref::DimOp::create(before, memref.getLoc(), memref, d));
    Value kept = memref::AllocOp::create(before, memref.getLoc(),
                                         MemRefType::get(type.getShape(), type.getElementType()), extents);
    OpBuilder end(tile.getTerminator()), begin(first);
    copyLike(end, *nest, *store, kept, memref);
    if (isFilled)
      copyLike(begin, *nest, *store, memref, kept);
    for (Operation *access : uses.accesses)
      access->replaceUsesOfWith(memref, kept);
  }
}
