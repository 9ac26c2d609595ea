//===- ScratchpadTail.cpp - Finished tiles on cores with engines ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a finished tile goes through on its way out, slice by slice of its rows:
/// what the epilogue reads is copied in, a nest computes its elements (vectorize-nests
/// makes vectors of it), results are copied out.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Contraction/ScratchpadContractionNest.h"
#include "core/Transforms/Lower/Engines/Requantisation.h"
#include "core/Transforms/Utils/NestStatement.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

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
        shape.operations += std::llround(coreWorkOf(&op));
  }
  return shape;
}

//===-- Slices ------------------------------------------------------------===//

/// One slice of a finished tile: what it reads comes in, its elements are computed, results go out.
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
  if (p.groups() == 1)
    finishRows(tile, slice, slot, constant(0));
  else
    space.grouped(p.groups(), 0, {}, [&](AffineExpr group, ValueRange) {
      finishRows(tile, slice, slot, group);
      return SmallVector<Value>();
    });
  copies(stores, /*in=*/false);
}

/// A group of the rows of a slice of the current tile.
void ScratchpadContractionNest::finishRows(AffineExpr tile, AffineExpr slice, AffineExpr slot, AffineExpr group) {
  const int64_t rows = p.tileM / p.slices, rowsOfGroup = p.rowsOfGroup();
  AffineExpr top = group * rowsOfGroup;
  // Where all blocks of columns exist one loop takes them, else one for each: vectors are whole.
  const int64_t down = blockOfRows(unit), across = p.unitAlong(p.nDim);
  SmallVector<AffineExpr> lastRow{constant(rowsOfGroup)};
  if (rows != rowsOfGroup * p.groups())
    lastRow.push_back(constant(rows) - top);
  if (AffineExpr rest = left(p.mDim))
    lastRow.push_back(rest.ceilDiv(down) * down - slice * rows - top);
  auto finish = [&](AffineExpr begin, ArrayRef<AffineExpr> ends, int64_t block) {
    space.loop(begin, ends, [&](AffineExpr each) {
      space.loop(constant(0), lastRow, [&](AffineExpr row) {
        space.loop(constant(0), constant(block), [&](AffineExpr col) {
          finishElement(tile % 2, slot, slice * rows + top + row, top + row, each * block + col);
        });
      });
    });
  };
  if (AffineExpr exist = blocksLeft(p.nDim)) {
    const int64_t blocks = p.tileN / across;
    finish(constant(0), {constant(1), exist.floorDiv(blocks)}, p.tileN);
    finish(exist.floorDiv(blocks) * blocks, {constant(blocks), exist}, across);
  } else {
    finish(constant(0), constant(1), p.tileN);
  }
}

void ScratchpadContractionNest::clear(ArrayRef<AffineExpr> place) {
  Value zero = arith::ConstantOp::create(builder(), space.loc, builder().getZeroAttr(c.accumulator));
  auto [map, operands] = space.map(place);
  AffineStoreOp::create(builder(), space.loc, zero, sums, map, operands);
}

/// The element of row `inTile` of the current tile, `row` of its slice, and column `col`, from the sums to the arrays
/// that leave: what vectorize-nests finds is a nest as any other.
void ScratchpadContractionNest::finishElement(AffineExpr half, AffineExpr slot, AffineExpr inTile, AffineExpr row,
                                              AffineExpr col) {
  AffineExpr m = space.at[p.mDim], n = space.at[p.nDim];
  space.at[p.mDim] = m + inTile;
  space.at[p.nDim] = n + col;
  auto placeOf = [&](ArrayRef<StagedArray> list, const Access &access) {
    const StagedArray &tail =
        *llvm::find_if(list, [&](const StagedArray &each) { return each.access.op == access.op; });
    auto [map, operands] = tail.buffer
                               ? space.map({slot, tail.rows > 1 ? row : constant(0), tail.cols > 1 ? col : constant(0)})
                               : space.address(tail.access);
    return std::tuple(tail.buffer ? tail.buffer : tail.access.memref, map, operands);
  };
  auto load = [&](const Access &access) -> Value {
    auto [memref, map, operands] = placeOf(loads, access);
    return AffineLoadOp::create(builder(), space.loc, memref, map, operands);
  };
  auto [map, operands] = space.map({half, inTile, col});
  Value sum = AffineLoadOp::create(builder(), space.loc, sums, map, operands);
  if (unit.init != UnitInit::ZeroFlag)
    clear({half, inTile, col});
  if (!task.zeroInit) {
    Value before = load(c.c);
    sum = isa<FloatType>(c.accumulator) ? arith::AddFOp::create(builder(), space.loc, sum, before).getResult()
                                        : arith::AddIOp::create(builder(), space.loc, sum, before).getResult();
  }
  SmallVector<Value> results = cloneEpilogue(builder(), task, sum, load);
  if (task.keepC)
    results.insert(results.begin(), sum);
  for (auto [value, tail] : llvm::zip_equal(results, stores)) {
    auto [memref, map, operands] = placeOf(stores, tail.access);
    AffineStoreOp::create(builder(), space.loc, value, memref, map, operands);
  }
  space.at[p.mDim] = m;
  space.at[p.nDim] = n;
}

} // namespace tilewright
