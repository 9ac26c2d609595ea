//===- NestRange.cpp - Nests that may share tiles ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a range of nests needs, by the sets of elements that they touch.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/NestRange.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "core/Analysis/TileSets.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

double NestRange::saved(const MemoryModel &model, double tiles) const {
  double seconds = 0;
  for (double each : handedOn)
    seconds += model.moveSeconds(each, 0) - tiles * model.moveSeconds(each / tiles, 0);
  return seconds;
}

void tilewright::accessesOf(Operation *root,
                            llvm::function_ref<void(Operation *op, Value memref, bool isStore)> visit) {
  root->walk([&](Operation *op) {
    if (isa<AffineLoadOp, AffineStoreOp>(op))
      visit(op, affineAccess(op).memref, isa<AffineStoreOp>(op));
  });
}

/// Whether all that `writer` writes of `memref` is touched by `last`, so that the tiles of `last` leave nothing out.
static bool isCoveredBy(AffineForOp last, AffineForOp writer, Value memref) {
  TileSets sets(*writer->getBlock());
  TileRelation written = sets.touched(memref, {writer}), touched = sets.touched(memref, {last});
  return written && touched && written.isWithin(touched);
}

/// Whether tiles of `last` touch boxes of `memref` that have no element in common: then another nest may prepare each
/// of them before its tile.
static bool hasOwnBoxes(const Nest &last, Value memref) {
  const Access *first = nullptr;
  for (const Access &access : llvm::concat<const Access>(last.loads, last.stores)) {
    if (access.memref != memref)
      continue;
    if (first && (access.map != first->map || access.symbols != first->symbols))
      return false;
    first = &access;
  }
  return ownDims(first->map).has_value();
}

/// Whether each iteration of the nest reads of `memref` the element that it writes alone.
static bool readsWhatItWrites(AffineForOp root, Value memref) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest))
    return false;
  const Access *store = llvm::find_if(nest->stores, [&](const Access &each) { return each.memref == memref; });
  return store != nest->stores.end() && llvm::all_of(nest->loads, [&](const Access &load) {
           return load.memref != memref || (load.map == store->map && load.symbols == store->symbols);
         });
}

std::optional<NestRange> tilewright::findRange(ArrayRef<AffineForOp> nests, double apart) {
  NestRange range;
  range.nests.assign(nests.begin(), nests.end());
  range.apart = apart;
  AffineForOp last = nests.back();
  auto isInside = [&](Operation *user) {
    return isa<memref::DeallocOp>(user) ||
           llvm::any_of(nests, [&](AffineForOp nest) { return nest->isAncestor(user); });
  };
  auto isBetween = [&](Value memref) {
    auto buffer = memref.getDefiningOp<memref::AllocOp>();
    return buffer && buffer.getType().hasStaticShape() && buffer.getType().getLayout().isIdentity() &&
           llvm::all_of(memref.getUsers(), isInside);
  };
  llvm::SmallSetVector<Value, 8> between, byLast;
  accessesOf(last, [&](Operation *, Value memref, bool isStore) {
    if (isStore && !isBetween(memref))
      byLast.insert(memref);
  });
  bool isLegal = true;
  for (AffineForOp nest : nests) {
    nest->walk([&](AffineForOp loop) {
      range.hasMasks |= !llvm::all_of(loop.getInductionVar().getUsers(), [](Operation *user) {
        return isa<AffineLoadOp, AffineStoreOp, AffineApplyOp, AffineForOp>(user);
      });
    });
    llvm::SmallSetVector<Value, 4> filled, readBack;
    accessesOf(nest, [&](Operation *, Value memref, bool isStore) {
      if (isBetween(memref))
        between.insert(memref);
      else if (nest == last)
        return;
      else if (isStore)
        filled.insert(memref);
      else if (byLast.contains(memref))
        readBack.insert(memref);
    });
    // Other tiles may have written what it reads, but for an element that it goes on with itself.
    for (Value memref : readBack)
      isLegal &= readsWhatItWrites(nest, memref);
    // A nest before may prepare what the last one goes on with, and that alone.
    for (Value memref : filled)
      isLegal &= byLast.contains(memref) && hasOwnBoxes(*analyzeNest(last), memref) && isCoveredBy(last, nest, memref);
    if (!isLegal)
      return std::nullopt;
  }
  for (Value memref : between) {
    auto type = cast<MemRefType>(memref.getType());
    if (!type.getElementType().isIntOrFloat())
      return std::nullopt;
    range.bytes += type.getNumElements() * elementBytes(type.getElementType());
  }
  range.between = between.takeVector();
  if (range.between.empty())
    return std::nullopt;
  return range;
}

int64_t tilewright::longestSum(ArrayRef<AffineForOp> nests) {
  int64_t longest = 1;
  for (AffineForOp root : nests) {
    Nest nest = *analyzeNest(root);
    for (unsigned d = 0; d < nest.depth(); ++d)
      if (llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(d); }))
        longest = std::max(longest, *nest.tripCounts[d]);
  }
  return longest;
}
