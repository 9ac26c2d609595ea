//===- LaneGrid.cpp - One lane for each of some numbers -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Levels, the number of a lane, its indices; dimensions of a grid that become one.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/LaneGrid.h"
#include "core/Runtime/C/Limits.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/TargetDescription.h"

using namespace mlir;
using namespace tilewright;

SmallVector<Value> LaneSpace::indices(OpBuilder &builder, Location loc, Value id) const {
  SmallVector<Value> indices(extents.size());
  for (unsigned i : llvm::reverse(order)) {
    if (i == order.front()) {
      indices[i] = id;
      break;
    }
    indices[i] = arith::RemUIOp::create(builder, loc, id, extents[i]);
    id = arith::DivUIOp::create(builder, loc, id, extents[i]);
  }
  return indices;
}

scf::IfOp tilewright::laneGrid(OpBuilder &builder, Location loc, const LaneHierarchy &hierarchy, Value total,
                               LaneSpace space, llvm::function_ref<void(OpBuilder &, Value, ArrayRef<Value>)> body) {
  int64_t lanes = std::min(gridBlockLanes, hierarchy.subgroups * hierarchy.lanes);
  auto constant = [&](int64_t value) { return builder.getAffineConstantExpr(value); };
  scf::IfOp branch;
  auto lane = [&](OpBuilder &builder, Location loc, Value block, Value subgroup, Value lane) {
    AffineExpr b = builder.getAffineDimExpr(0), s = builder.getAffineDimExpr(1), l = builder.getAffineDimExpr(2);
    Value id = affine::AffineApplyOp::create(builder, loc, AffineMap::get(3, 0, b * lanes + s * hierarchy.lanes + l),
                                             ValueRange{block, subgroup, lane});
    SmallVector<Value> indices = space.indices(builder, loc, id);
    Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, id, total);
    branch = scf::IfOp::create(builder, loc, inside);
    OpBuilder within(branch.thenBlock()->getTerminator());
    body(within, id, indices);
  };
  tile::ParallelOp::create(builder, loc, AffineMap::get(0, 1, builder.getAffineSymbolExpr(0).ceilDiv(lanes)), total,
                           hierarchy.grid, [&](OpBuilder &builder, Location loc, ValueRange block) {
                             tile::ParallelOp::create(
                                 builder, loc, AffineMap::get(0, 0, constant(lanes / hierarchy.lanes)), ValueRange(),
                                 hierarchy.block, [&](OpBuilder &builder, Location loc, ValueRange subgroup) {
                                   tile::ParallelOp::create(
                                       builder, loc, AffineMap::get(0, 0, constant(hierarchy.lanes)), ValueRange(),
                                       hierarchy.subgroup, [&](OpBuilder &builder, Location loc, ValueRange within) {
                                         lane(builder, loc, block[0], subgroup[0], within[0]);
                                       });
                                 });
                           });
  return branch;
}

/// Whether a bound may be larger than `most`.
static bool mayExceed(AffineExpr bound, int64_t most) {
  auto number = dyn_cast<AffineConstantExpr>(bound);
  return !number || number.getValue() > most;
}

/// Blocks of a cluster in `grid`, which lie along its last dimension.
static int64_t clusterBlocks(tile::ParallelOp grid, const LaneHierarchy &hierarchy) {
  int64_t blocks = 1;
  if (!hierarchy.cluster.empty())
    grid.walk([&](tile::ParallelOp each) {
      if (each.getLevel() == hierarchy.cluster)
        if (auto number = dyn_cast<AffineConstantExpr>(each.getUpperBounds().getResult(0)))
          blocks = std::max(blocks, number.getValue());
    });
  return blocks;
}

/// Extent `i` of `grid`, i32; it takes no value that it does not need.
static Value extentOf(OpBuilder &builder, tile::ParallelOp grid, unsigned i) {
  AffineMap map = grid.getUpperBounds();
  if (auto number = dyn_cast<AffineConstantExpr>(map.getResult(i)))
    return arith::ConstantIntOp::create(builder, grid.getLoc(), number.getValue(), 32);
  map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), map.getResult(i));
  SmallVector<Value> operands(grid.getBoundOperands());
  affine::canonicalizeMapAndOperands(&map, &operands);
  Value extent = affine::AffineApplyOp::create(builder, grid.getLoc(), map, operands);
  return arith::IndexCastUIOp::create(builder, grid.getLoc(), builder.getI32Type(), extent);
}

FailureOr<tile::ParallelOp> tilewright::fitGrid(tile::ParallelOp grid, const LaneHierarchy &hierarchy) {
  AffineMap map = grid.getUpperBounds();
  // Products of dimensions of a map would not be affine, those of symbols may be.
  SmallVector<AffineExpr> toSymbols;
  for (unsigned i = 0; i < map.getNumInputs(); ++i)
    toSymbols.push_back(getAffineSymbolExpr(i, grid.getContext()));
  SmallVector<AffineExpr> bounds;
  for (AffineExpr bound : map.getResults())
    bounds.push_back(bound.replaceDimsAndSymbols(ArrayRef(toSymbols).take_front(map.getNumDims()),
                                                 ArrayRef(toSymbols).drop_front(map.getNumDims())));
  size_t first = 0; // of those that become one
  while (first + 1 < bounds.size() && !mayExceed(bounds[first], TW_MAX_BLOCKS_YZ))
    ++first;
  AffineExpr last = bounds[first];
  for (AffineExpr bound : ArrayRef(bounds).drop_front(first + 1))
    last = last * bound;
  int64_t cluster = clusterBlocks(grid, hierarchy);
  if (auto count = dyn_cast<AffineConstantExpr>(last); count && count.getValue() > TW_MAX_BLOCKS_X / cluster)
    return grid.emitOpError() << "needs " << count.getValue() * cluster << " blocks along one dimension of its grid, "
                              << "launches have at most " << int64_t(TW_MAX_BLOCKS_X) << "; use smaller arrays";
  if (first + 1 == bounds.size())
    return grid;
  SmallVector<AffineExpr> kept = llvm::to_vector(ArrayRef(bounds).take_front(first));
  kept.push_back(last);
  OpBuilder builder(grid);
  Location loc = grid.getLoc();
  ValueRange operands = grid.getBoundOperands();
  auto result = tile::ParallelOp::create(builder, loc, AffineMap::get(0, map.getNumInputs(), kept, grid.getContext()),
                                         operands, grid.getLevel());
  result->setDiscardableAttrs(grid->getDiscardableAttrDictionary());
  Block &from = grid.getBody().front(), &to = result.getBody().front();
  builder.setInsertionPointToStart(&to);
  Type i32 = builder.getI32Type();
  SmallVector<Value> indices(to.getArguments().take_front(first));
  indices.resize(bounds.size());
  Value rest = arith::IndexCastUIOp::create(builder, loc, i32, to.getArguments().back());
  for (size_t i = bounds.size(); i-- > first;) {
    Value number = rest;
    if (i > first) {
      Value extent = extentOf(builder, grid, i);
      number = arith::RemUIOp::create(builder, loc, rest, extent);
      rest = arith::DivUIOp::create(builder, loc, rest, extent);
    }
    indices[i] = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), number);
  }
  for (auto [argument, index] : llvm::zip(from.getArguments(), indices))
    argument.replaceAllUsesWith(index);
  to.getOperations().splice(to.getTerminator()->getIterator(), from.getOperations(), from.begin(),
                            from.getTerminator()->getIterator());
  grid.erase();
  return result;
}
