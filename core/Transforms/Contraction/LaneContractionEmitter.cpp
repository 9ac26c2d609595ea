//===- LaneContractionEmitter.cpp - A contraction on lanes ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which tile of C a block takes, and a subgroup of it.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Contraction/LaneContractionNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

void LaneContractionNest::emit() {
  space.addDimensions(c.nest.loops);
  AffineExpr outer = constant(1);
  for (unsigned dim : p.outer)
    outer = outer * space.extent(dim);
  SmallVector<AffineExpr> grid{space.extent(p.mDim).ceilDiv(p.blockM() * p.cluster),
                               space.extent(p.nDim).ceilDiv(p.blockN())};
  if (!p.outer.empty())
    grid.insert(grid.begin(), outer);
  // The blocks of a cluster lie one below the other.
  auto block = [&](llvm::function_ref<void()> body) {
    auto allocate = [&] {
      bufferA.allocate(builder(), space.loc, p.stages, hierarchy.scratchpad);
      bufferB.allocate(builder(), space.loc, p.stages, hierarchy.scratchpad);
      if (bufferOfPlaces)
        bufferOfPlaces->allocate(builder(), space.loc, p.stages, hierarchy.scratchpad);
      if (task.scalesOfA)
        scalesA = task.scalesOfA->allocate(builder(), space.loc, p.stages, hierarchy.scratchpad);
      if (task.scalesOfB)
        scalesB = task.scalesOfB->allocate(builder(), space.loc, p.stages, hierarchy.scratchpad);
      if (task.indexOfA)
        indexA = task.indexOfA->allocate(builder(), space.loc, p.stages, hierarchy.scratchpad);
      if (p.subgroupsK > 1)
        exchanged = allocExchange();
      body();
    };
    rank = constant(0);
    if (p.cluster == 1)
      return allocate();
    space.parallel({constant(p.cluster)}, hierarchy.cluster, [&](ArrayRef<AffineExpr> own) {
      rank = own[0];
      allocate();
    });
  };
  if (!p.workers && p.rasterRows == 1) {
    space.parallel(grid, hierarchy.grid, [&](ArrayRef<AffineExpr> place) { block([&] { tile(place); }); });
    return;
  }
  // Threadblock rasterisation: `rasterRows` rows of tiles, column after column.
  AffineExpr tilesM = grid[grid.size() - 2], tilesN = grid.back();
  AffineExpr matrix = tilesM * tilesN, count = p.outer.empty() ? matrix : outer * matrix;
  auto numbered = [&](AffineExpr number) {
    AffineExpr inside = p.outer.empty() ? number : number % matrix, sweep = tilesN * p.rasterRows;
    AffineExpr row = inside.floorDiv(sweep) * p.rasterRows + inside % p.rasterRows;
    SmallVector<AffineExpr> place{row, (inside % sweep).floorDiv(p.rasterRows)};
    if (tilesM == constant(p.rasterRows)) // one group
      place = {inside % p.rasterRows, inside.floorDiv(p.rasterRows)};
    if (!p.outer.empty())
      place.insert(place.begin(), number.floorDiv(matrix));
    tile(place);
  };
  if (!p.workers) {
    space.parallel({count}, hierarchy.grid, [&](ArrayRef<AffineExpr> number) { block([&] { numbered(number[0]); }); });
    return;
  }
  auto rounds = [&](AffineExpr worker) {
    AffineExpr rounds = (count - worker + (p.workers - 1)).floorDiv(p.workers);
    space.loop(constant(0), {rounds}, [&](AffineExpr round) { numbered(round * p.workers + worker); });
  };
  space.parallel({constant(p.workers)}, hierarchy.grid,
                 [&](ArrayRef<AffineExpr> worker) { block([&] { rounds(worker[0]); }); });
}

/// One tile of C: indices of the outer dimensions as one, row and column of the tile.
void LaneContractionNest::tile(ArrayRef<AffineExpr> block) {
  if (!p.outer.empty()) {
    space.moveTo(block.front(), p.outer);
    block = block.drop_front();
  }
  blockRow = (block[0] * p.cluster + rank) * p.blockM();
  blockCol = block[1] * p.blockN();
  // Subgroups of a slice follow each other, so that those that finish sums are on all issue slots.
  SmallVector<AffineExpr> bounds{constant(p.subgroupsM), constant(p.subgroupsN)};
  if (p.subgroupsK > 1)
    bounds.insert(bounds.begin(), constant(p.subgroupsK));
  space.parallel(bounds, hierarchy.block, [&](ArrayRef<AffineExpr> own) {
    slice = p.subgroupsK > 1 ? own.front() : constant(0);
    own = own.take_back(2);
    inSlice = own[0] * p.subgroupsN + own[1];
    localRow = own[0] * (p.tilesM * unit.m);
    localCol = own[1] * (p.tilesN * unit.n);
    row = blockRow + localRow;
    col = blockCol + localCol;
    subgroup();
  });
}

/// What there is of the units from `tn` on of row `tm`.
TileAxes LaneContractionNest::axesOf(int64_t tm, int64_t tn) const {
  TileAxes axes{p.mDim, p.nDim};
  if (!divides(p.mDim, p.blockM() * p.cluster))
    axes.validRows = space.extent(p.mDim) - (row + tm * unit.m);
  if (!divides(p.nDim, p.blockN()))
    axes.validCols = space.extent(p.nDim) - (col + tn * unit.n);
  return axes;
}

/// What C held is added behind the sum: else the loop would hold the addresses and checks of all of the tile, which its
/// stores need again.
bool LaneContractionNest::addsBehind() const {
  return !task.zeroInit && (p.engine.empty() || accumulatesInBlock(unit)) &&
         (task.mayReassociate || !isa<FloatType>(c.accumulator));
}

/// The tile of one subgroup.
void LaneContractionNest::subgroup() {
  auto type = fragmentOf(unit.c, c.accumulator);
  SmallVector<Value> sums;
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    for (int64_t tn = 0; tn < p.tilesN; ++tn) {
      at(tm, tn);
      sums.push_back(task.zeroInit || addsBehind() ? tile::ZeroOp::create(builder(), space.loc, type).getResult()
                                                   : loadTile(space, c.c, type, axesOf(tm, tn)));
    }
  sums = reduce(0, sums);
  if (p.subgroupsK > 1)
    return finishSlices(sums);
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    for (int64_t tn = 0; tn < p.tilesN; tn += p.together)
      finish(ValueRange(sums).slice(tm * p.tilesN + tn, p.together), tm, tn);
}

void LaneContractionNest::finish(ValueRange sums, int64_t tm, int64_t tn) {
  // Units of a row together, where lanes fill more of a sector so.
  auto joined = [&](Type element) {
    tile::FragmentType own = fragmentOf(unit.c, element);
    return p.together == 1 ? own : tile::JoinOp::typeOf(own, p.together);
  };
  Value sum = p.together == 1 ? sums.front() : tile::JoinOp::create(builder(), space.loc, sums).getResult();
  at(tm, tn);
  const TileAxes axes = axesOf(tm, tn);
  if (addsBehind())
    sum = add(loadTile(space, c.c, joined(c.accumulator), axes), sum);
  if (task.keepC)
    storeTile(space, sum, c.c, axes);
  if (!task.epilogue.empty())
    emitEpilogue(space, task, sum, joined, axes);
}

void tilewright::emitLaneContraction(OpBuilder &builder, Location loc, const ContractionTask &task,
                                     const LaneContractionPlan &plan, const LaneHierarchy &hierarchy, bool engine) {
  // Where all operands pass through registers, the engine does nothing.
  LaneContractionNest(builder, loc, task, plan, hierarchy, engine && !(plan.a.held && plan.b.held)).emit();
}
