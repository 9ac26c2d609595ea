//===- ScratchpadTail.cpp - Finished tiles on cores with engines ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a finished tile goes through on its way out, slice by slice of its rows:
/// what the epilogue reads is copied in, vectors are computed, results copied out.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/Transforms/Contraction/ScratchpadContractionNest.h"
#include "core/Transforms/Lower/Engines/Requantisation.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

EpilogueAccesses accessesOfTail(const ContractionTask &task) {
  EpilogueAccesses accesses = epilogueAccesses(task);
  if (!task.zeroInit)
    accesses.loads.insert(accesses.loads.begin(), task.contraction.c);
  accesses.stores = resultsOf(task);
  return accesses;
}

/// The ops of the chain that ends in `op` and becomes one instruction of the vector unit (use-vector-ops); empty: none.
static llvm::SmallPtrSet<Operation *, 8> requantisationOf(arith::FPToSIOp op, const TargetDescription &chip) {
  llvm::SmallPtrSet<Operation *, 8> ops;
  Requantisation chain;
  if (!findRequantisation(op, chip, chain))
    return ops;
  SmallVector<Operation *> open{op};
  while (!open.empty()) {
    Operation *each = open.pop_back_val();
    if (!ops.insert(each).second)
      continue;
    for (Value operand : each->getOperands())
      if (Operation *from = operand.getDefiningOp();
          from && !llvm::is_contained({chain.from, chain.scale, chain.zeroPoint}, operand) &&
          from->getBlock() == op->getBlock())
        open.push_back(from);
  }
  return ops;
}

TailShape tailShapeOf(const ContractionTask &task, const TargetDescription &chip) {
  auto [loads, stores] = accessesOfTail(task);
  TailShape shape{loads, stores};
  for (const EpilogueStep &step : task.epilogue) {
    llvm::SmallPtrSet<Operation *, 8> inOne;
    for (arith::FPToSIOp op : step.nest.body->getOps<arith::FPToSIOp>())
      for (Operation *each : requantisationOf(op, chip))
        shape.operations += inOne.insert(each).second && each == op; // one instruction for all
    for (Operation &op : step.nest.body->without_terminator())
      if (!isa<AffineLoadOp, AffineStoreOp>(op) && !op.hasTrait<OpTrait::ConstantLike>() && !inOne.contains(&op))
        shape.operations += coreInstructionsOf(&op);
  }
  return shape;
}

//===-- Slices ------------------------------------------------------------===//

/// One slice of a finished tile: what it reads comes in, vectors are computed, results go out.
void ScratchpadContractionNest::finishSlice(AffineExpr tile, AffineExpr slice) {
  const int64_t rows = p.tileM / p.slices;
  AffineExpr slot = (tile * p.slices + slice) % 2;
  enterTile(tile);
  AffineExpr top = space.at[p.mDim];
  auto copies = [&](ArrayRef<StagedArray> list, bool in) {
    space.at[p.mDim] = top + slice * rows;
    SmallVector<Value> tokens;
    for (const StagedArray &each : list)
      if (each.buffer)
        tokens.push_back(copy(each, slot, in));
    wait(tokens);
    space.at[p.mDim] = top;
  };
  copies(loads, /*in=*/true);
  space.loop(constant(0), constant(rows), [&](AffineExpr row) {
    space.loop(constant(0), constant(p.tileN / p.width),
               [&](AffineExpr col) { finishVector(tile % 2, slot, slice, row, col * p.width); });
  });
  copies(stores, /*in=*/false);
}

/// Writes zeros to one vector of the accumulators.
void ScratchpadContractionNest::clear(ArrayRef<AffineExpr> place) {
  Value zero = tile::ZeroOp::create(builder(), space.loc, vectorOf(c.accumulator));
  storeTile(space, zero, sums, place, elements({constant(0), constant(0), dim(1)}));
}

/// One vector of one row of a slice of the current tile, from the accumulators to the buffers that leave.
void ScratchpadContractionNest::finishVector(AffineExpr half, AffineExpr slot, AffineExpr slice, AffineExpr row,
                                             AffineExpr col) {
  AffineExpr m = space.at[p.mDim], n = space.at[p.nDim], inTile = slice * (p.tileM / p.slices) + row;
  space.at[p.mDim] = m + inTile;
  space.at[p.nDim] = n + col;
  auto bufferOf = [&](ArrayRef<StagedArray> list, const Access &access) -> const StagedArray & {
    return *llvm::find_if(list, [&](const StagedArray &each) { return each.access.op == access.op; });
  };
  auto placeIn = [&](const StagedArray &tail) {
    return SmallVector<AffineExpr>{slot, tail.rows > 1 ? row : constant(0), tail.cols > 1 ? col : constant(0)};
  };
  auto along = [&](const StagedArray &tail) {
    return elements({constant(0), constant(0), tail.cols > 1 ? dim(1) : constant(0)});
  };
  const TileAxes inArray{{}, p.nDim};
  auto load = [&](const Access &access, tile::FragmentType type) {
    const StagedArray &tail = bufferOf(loads, access);
    return tail.buffer ? loadTile(space, tail.buffer, placeIn(tail), along(tail), type)
                       : loadTile(space, tail.access, type, inArray);
  };
  auto store = [&](Value value, const Access &access) {
    const StagedArray &tail = bufferOf(stores, access);
    if (tail.buffer)
      storeTile(space, value, tail.buffer, placeIn(tail), along(tail));
    else
      storeTile(space, value, tail.access, inArray);
  };
  auto fragment = [&](Type element) { return vectorOf(element); };
  AffineExpr place[] = {half, inTile, col};
  Value sum = loadTile(space, sums, place, elements({constant(0), constant(0), dim(1)}), vectorOf(c.accumulator));
  if (unit.init != UnitInit::ZeroFlag)
    clear(place);
  if (!task.zeroInit)
    sum = addTiles(builder(), space.loc, sum, load(c.c, vectorOf(c.accumulator)));
  if (task.keepC)
    store(sum, c.c);
  if (!task.epilogue.empty())
    emitEpilogue(builder(), space.loc, task, sum, fragment, load, store);
  space.at[p.mDim] = m;
  space.at[p.nDim] = n;
}

} // namespace tilewright
