//===- LaneGrid.cpp - One lane for each of some numbers -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Levels, the number of a lane, its indices.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaneGrid.h"
#include "dialects/Tile/TileDialect.h"
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
                               LaneSpace space,
                               llvm::function_ref<void(OpBuilder &, Value, ArrayRef<Value>)> body) {
  int64_t lanes = std::min(gridBlockLanes, hierarchy.subgroups * hierarchy.lanes);
  auto constant = [&](int64_t value) { return builder.getAffineConstantExpr(value); };
  scf::IfOp branch;
  auto lane = [&](OpBuilder &builder, Location loc, Value block, Value subgroup, Value lane) {
    AffineExpr b = builder.getAffineDimExpr(0), s = builder.getAffineDimExpr(1), l = builder.getAffineDimExpr(2);
    Value id = affine::AffineApplyOp::create(
        builder, loc, AffineMap::get(3, 0, b * lanes + s * hierarchy.lanes + l), ValueRange{block, subgroup, lane});
    SmallVector<Value> indices = space.indices(builder, loc, id);
    Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, id, total);
    branch = scf::IfOp::create(builder, loc, inside);
    OpBuilder within(branch.thenBlock()->getTerminator());
    body(within, id, indices);
  };
  tile::ParallelOp::create(
      builder, loc, AffineMap::get(0, 1, builder.getAffineSymbolExpr(0).ceilDiv(lanes)), total, hierarchy.grid,
      [&](OpBuilder &builder, Location loc, ValueRange block) {
        tile::ParallelOp::create(
            builder, loc, AffineMap::get(0, 0, constant(lanes / hierarchy.lanes)), ValueRange(), hierarchy.block,
            [&](OpBuilder &builder, Location loc, ValueRange subgroup) {
              tile::ParallelOp::create(builder, loc, AffineMap::get(0, 0, constant(hierarchy.lanes)), ValueRange(),
                                       hierarchy.subgroup, [&](OpBuilder &builder, Location loc, ValueRange within) {
                                         lane(builder, loc, block[0], subgroup[0], within[0]);
                                       });
            });
      });
  return branch;
}
