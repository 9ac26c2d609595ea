//===- LaneContractionSlices.cpp - Sums that subgroups share --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Behind the loop of a block with slices (SliceModel.h), some units at a time:
///
///   %x = tile.alloc {overlays}            over the multi-stage buffer, which nobody reads any more
///   scf.if (slice != 0) { tile.store %sum, %x[unit, slice - 1, subgroup] }
///   scf.if (slice == 0) { %other = tile.load %x[unit, 0, subgroup]; .. %sum + %other ..; tile.store }
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SliceModel.h"
#include "core/Transforms/Contraction/LaneContractionNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

Value LaneContractionNest::allocExchange() {
  return allocateTile(builder(), space.loc,
                      {p.unitsExchanged, p.subgroupsK - 1, p.subgroupsM * p.subgroupsN, unit.c.rows * unit.c.cols},
                      c.accumulator, hierarchy.scratchpad, tile::ArrangementAttr(), /*overlays=*/true);
}

void LaneContractionNest::finishSlices(ValueRange sums) {
  auto type = fragmentOf(unit.c, c.accumulator);
  AffineExpr order = *exchangeOrder(unit.c.layout, elementBytes(c.accumulator), builder().getContext());
  const AffineMap inOrder = elements({constant(0), constant(0), constant(0), order});
  auto placed = [&](AffineExpr from, int64_t i) {
    return SmallVector<AffineExpr>{constant(i), from, inSlice, constant(0)};
  };
  Value number = space.value(slice), zero = arith::ConstantIndexOp::create(builder(), space.loc, 0);
  auto where = [&](arith::CmpIPredicate is, function_ref<void()> body) {
    Value condition = arith::CmpIOp::create(builder(), space.loc, is, number, zero);
    OpBuilder::InsertionGuard guard(builder());
    auto branch = scf::IfOp::create(builder(), space.loc, condition, /*withElseRegion=*/false);
    branch->setAttr(oneWayAttr, builder().getUnitAttr());
    builder().setInsertionPointToStart(branch.thenBlock());
    body();
  };
  for (int64_t first = 0; first < p.tilesM * p.tilesN; first += p.unitsExchanged) {
    where(arith::CmpIPredicate::ne, [&] {
      for (int64_t i = 0; i < p.unitsExchanged; ++i)
        storeTile(space, sums[first + i], exchanged, placed(slice - 1, i), inOrder);
    });
    where(arith::CmpIPredicate::eq, [&] {
      for (int64_t i = 0; i < p.unitsExchanged; i += p.together) {
        SmallVector<Value> totals;
        for (int64_t own = i; own < i + p.together; ++own) {
          Value total = sums[first + own];
          for (int64_t other = 0; other < p.subgroupsK - 1; ++other)
            total = add(loadTile(space, exchanged, placed(constant(other), own), inOrder, type), total);
          totals.push_back(total);
        }
        finish(totals, (first + i) / p.tilesN, (first + i) % p.tilesN);
      }
    });
  }
}
