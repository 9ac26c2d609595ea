//===- LaneTail.cpp - What a kernel does with its sums ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks the nest that the emitter wrote: what it loads and stores once a fragment.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaneTail.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/LaneRings.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tilewright;

/// What a lane's elements are finished in parts behind: a sum that a loop gives, not one whose last products stand
/// behind it or whose only step stands alone.
static bool isOfLoop(Value value) {
  auto loop = value.getDefiningOp<affine::AffineForOp>();
  return loop && affine::getConstantTripCount(loop).value_or(2) > 1;
}

LaneTail tilewright::tailOf(Operation *grid, const LaneContractionPlan &plan, const LaneHierarchy &hierarchy) {
  LaneTail tail;
  int64_t fragments = plan.tilesM * plan.tilesN, smallest = INT64_MAX;
  auto isScratchpad = [&](MemRefType type) {
    auto space = dyn_cast_or_null<StringAttr>(type.getMemorySpace());
    return space && space.getValue() == hierarchy.scratchpad;
  };
  // A subgroup's fragments are loaded and stored by as many ops.
  llvm::MapVector<std::pair<Value, AffineMap>, int64_t> reads;
  bool inParts = false;
  grid->walk([&](Operation *op) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      auto type = cast<MemRefType>(load.getMemref().getType());
      if (isScratchpad(type))
        return;
      smallest = std::min(smallest, elementBytes(type.getElementType()));
      ++reads[{load.getMemref(), load.getElements()}];
    } else if (isa<tile::MapOp>(op)) {
      inParts |= llvm::any_of(op->getOperands(), isOfLoop);
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      int64_t bytes = elementBytes(store.getMemRefType().getElementType());
      smallest = std::min(smallest, bytes);
      tail.writtenBytes += bytes;
      if (storeLine(store, hierarchy.lanes))
        tail.scratchpadBytes += bytes;
    }
  });
  tail.writtenBytes /= fragments;
  tail.scratchpadBytes /= fragments;
  for (const auto &[read, ops] : reads) {
    int64_t bytes = elementBytes(elementOf(read.first));
    tail.reads.append(ops / fragments, {read.second, bytes});
  }
  if (inParts)
    tail.together = elementsTogether(smallest);
  return tail;
}
