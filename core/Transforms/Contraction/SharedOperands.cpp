//===- SharedOperands.cpp - Operands that tiles have in common ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The loops over tiles around a contraction, from the inside.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/SharedOperands.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Iterations of a loop, at most; 1 where nothing is known.
static int64_t mostTrips(AffineForOp loop) {
  AffineMap low = loop.getLowerBoundMap(), high = loop.getUpperBoundMap();
  if (loop.hasConstantBounds())
    return std::max<int64_t>(1, loop.getConstantUpperBound() - loop.getConstantLowerBound());
  if (low.getNumResults() != 1 ||
      !(low.isConstant() || llvm::equal(loop.getLowerBoundOperands(), loop.getUpperBoundOperands())))
    return 1;
  std::optional<int64_t> most;
  for (AffineExpr end : high.getResults())
    if (auto trips = dyn_cast<AffineConstantExpr>(
            simplifyAffineExpr(end - low.getResult(0), high.getNumDims(), high.getNumSymbols())))
      most = std::min(most.value_or(trips.getValue()), trips.getValue());
  return std::max<int64_t>(1, most.value_or(1));
}

static double tilesSharing(const Contraction &c, const ContractionOperand &operand) {
  double tiles = 1;
  for (auto loop = dyn_cast<AffineForOp>(Nest(c.nest).root()->getParentOp()); loop && loop->hasAttr(tile::atAttr);
       loop = dyn_cast<AffineForOp>(loop->getParentOp())) {
    auto isInside = [&](Value value) { return loop.getRegion().isAncestor(value.getParentRegion()); };
    bool changes = isInside(operand.access.memref) || llvm::any_of(operand.access.symbols, isInside);
    for (Operation *user : operand.access.memref.getUsers())
      changes |= !isa<AffineLoadOp>(user) && loop->isAncestor(user);
    if (changes)
      break;
    tiles *= double(mostTrips(loop));
  }
  return tiles;
}

PlanOptions tilewright::withSharedOperands(PlanOptions options, const Contraction &c) {
  options.tilesSharing[0] = tilesSharing(c, c.a);
  options.tilesSharing[1] = tilesSharing(c, c.b);
  return options;
}
