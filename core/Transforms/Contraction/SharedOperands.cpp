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
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/LoopTrips.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Tile/OnlineReductions.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

static double tilesSharing(const Contraction &c, const ContractionOperand &operand) {
  double tiles = 1;
  SmallVector<Value, 1> steps;
  for (auto loop = dyn_cast<AffineForOp>(Nest(c.nest).root()->getParentOp()); loop && loop->hasAttr(tile::atAttr);
       loop = dyn_cast<AffineForOp>(loop->getParentOp())) {
    // Each step has a copy of its own, which other tiles use again.
    bool isStep = cast<IntegerAttr>(loop->getAttr(tile::atAttr)).getInt() == stepLoop;
    if (isStep)
      steps.push_back(loop.getInductionVar());
    auto isInside = [&](Value value) { return loop.getRegion().isAncestor(value.getParentRegion()); };
    bool changes = isInside(operand.access.memref) || llvm::any_of(operand.access.symbols, [&](Value value) {
                     return isInside(value) && !llvm::is_contained(steps, value);
                   });
    for (Operation *user : operand.access.memref.getUsers())
      changes |= loop->isAncestor(user) && !onlyReads(user);
    if (changes)
      break;
    if (!isStep)
      tiles *= double(std::max<int64_t>(1, mostTrips(loop).value_or(1)));
  }
  return tiles;
}

/// Whether the operand is a constant argument of a program that binds these; not where it has no array yet.
static bool isConstant(const ContractionOperand &operand) {
  Value array = operand.access.memref;
  if (!array || !operand.access.symbols.empty() || !isPromised(array, constantAttr))
    return false;
  auto module = array.getParentRegion()->getParentOfType<ModuleOp>(); // none of a chain that is tried
  return module && module->hasAttr(bindAttr);
}

PlanOptions tilewright::withSharedOperands(PlanOptions options, const Contraction &c) {
  options.tilesSharing[0] = tilesSharing(c, c.a);
  options.tilesSharing[1] = tilesSharing(c, c.b);
  options.constant[0] = isConstant(c.a);
  options.constant[1] = isConstant(c.b);
  return options;
}
