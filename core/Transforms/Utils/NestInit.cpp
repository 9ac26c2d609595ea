//===- NestInit.cpp - The nest that sets what another one adds to ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the access that stores with the one that adds.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/NestInit.h"
#include "core/Analysis/LoopDependence.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

std::optional<NestInit> tilewright::findInit(const Nest &nest, const Access &result, unsigned loops) {
  Operation *root = nest.root(), *last = nullptr; // the one that touches the array last before it
  for (Operation *user : result.memref.getUsers()) {
    Operation *op = root->getBlock()->findAncestorOpInBlock(*user);
    if (op && op->isBeforeInBlock(root) && (!last || last->isBeforeInBlock(op)))
      last = op;
  }
  auto loop = dyn_cast_or_null<AffineForOp>(last);
  if (!loop)
    return std::nullopt;
  auto init = analyzeNest(loop);
  if (failed(init) || init->stores.size() != 1 || init->stores.front().memref != result.memref)
    return std::nullopt;
  Value value = cast<AffineStoreOp>(init->stores.front().op).getValueToStore();
  Operation *def = value.getDefiningOp();
  if (loop->isAncestor(value.getParentRegion()->getParentOp()) && !(def && def->hasTrait<OpTrait::ConstantLike>()))
    return std::nullopt;
  // The same elements: each result of both maps is one dimension of the same trip count, or both are equal.
  AffineMap stored = init->stores.front().map, added = result.map;
  if (init->stores.front().symbols != result.symbols)
    return std::nullopt;
  for (auto [x, y] : llvm::zip(stored.getResults(), added.getResults())) {
    auto dx = shiftedDim(x, stored), dy = shiftedDim(y, added);
    if (dx && dy && dx->shift == dy->shift) {
      if (!equalTripCounts(init->loops[dx->dim], nest.loops[dy->dim]))
        return std::nullopt;
    } else if (dx || dy || x != y || !x.isSymbolicOrConstant()) {
      return std::nullopt;
    }
  }
  // One element is stored in a loop of one iteration.
  bool isOne = loops == 0 && init->depth() == 1 && init->tripCounts.front() == 1;
  return isOne || init->depth() == loops ? std::optional(NestInit{loop, value}) : std::nullopt;
}
