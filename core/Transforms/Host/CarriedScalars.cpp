//===- CarriedScalars.cpp - Scalars that control flow carries --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each structured op is made anew with what it still carries.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/CarriedScalars.h"
#include "core/Transforms/Bufferize/VectorAccesses.h"
#include "core/Transforms/Host/HostExpressions.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilewright;

Value tilewright::scalarCell(func::FuncOp function, Type type, Location loc) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  auto vector = dyn_cast<VectorType>(type);
  MemRefType memory = vector ? MemRefType::get(vector.getShape(), vector.getElementType()) : MemRefType::get({}, type);
  return memref::AllocOp::create(builder, loc, memory);
}

/// The indices of the element at `position` of a vector in its cell.
static SmallVector<Value> indicesOf(OpBuilder &builder, Location loc, ArrayRef<int64_t> position) {
  return llvm::map_to_vector(position,
                             [&](int64_t at) -> Value { return arith::ConstantIndexOp::create(builder, loc, at); });
}

void tilewright::storeCell(OpBuilder &builder, Location loc, Value value, Value cell) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    memref::StoreOp::create(builder, loc, value, cell, ValueRange());
    return;
  }
  forEachPosition(vector, [&](ArrayRef<int64_t> position) {
    SmallVector<Value> indices = indicesOf(builder, loc, position);
    memref::StoreOp::create(builder, loc, vector::ExtractOp::create(builder, loc, value, position), cell, indices);
  });
}

Value tilewright::loadCell(OpBuilder &builder, Location loc, Value cell, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return memref::LoadOp::create(builder, loc, cell, ValueRange());
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector));
  forEachPosition(vector, [&](ArrayRef<int64_t> position) {
    Value element = memref::LoadOp::create(builder, loc, cell, indicesOf(builder, loc, position));
    result = vector::InsertOp::create(builder, loc, element, result, position);
  });
  return result;
}

/// Control flow that the host walks: it launches grids, brings arrays into being, or may end the call.
bool tilewright::isHostControl(Operation *op) {
  if (!isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
    return false;
  if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<MemRefType>))
    return true;
  return op
      ->walk([&](Operation *inner) {
        bool isHosts = isa<tile::ParallelOp, tile::RequireSizeOp, memref::AllocOp>(inner);
        return isHosts ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

class CellCarrier {
public:
  explicit CellCarrier(func::FuncOp function) : function(function) {}
  void carried(Region &region);

private:
  void carried(scf::IfOp op);
  void carried(scf::ForOp op);
  void carried(scf::WhileOp op);
  Value cell(Type type) { return scalarCell(function, type, function.getLoc()); }

  func::FuncOp function;
};

} // namespace

/// Whether steps can carry a value of this type from op to op.
static bool isCarried(Type type) { return isa<MemRefType>(type) || isHostType(type); }

/// Results of type `isCarried` only: the others are read from `cells` behind the op.
static void dropResults(Operation *op, ArrayRef<Value> cells,
                        llvm::function_ref<Value(OpBuilder &, Value, Type)> load) {
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  for (auto [result, cell] : llvm::zip(op->getResults(), cells))
    if (cell)
      result.replaceAllUsesWith(load(builder, cell, result.getType()));
}

/// What `block` yields goes into the cells that there are; the rest stays in its terminator.
static void storeYielded(Block &block, ArrayRef<Value> cells,
                         llvm::function_ref<void(OpBuilder &, Value, Value)> store) {
  Operation *yield = block.getTerminator();
  OpBuilder builder(yield);
  SmallVector<Value> left;
  for (auto [value, cell] : llvm::zip(yield->getOperands(), cells))
    if (cell)
      store(builder, value, cell);
    else
      left.push_back(value);
  yield->setOperands(left);
}

void CellCarrier::carried(scf::IfOp op) {
  if (llvm::all_of(op.getResultTypes(), isCarried))
    return;
  Location loc = op.getLoc();
  SmallVector<Value> cells;
  for (Type type : op.getResultTypes())
    cells.push_back(isCarried(type) ? Value() : cell(type));
  dropResults(op, cells, [&](OpBuilder &builder, Value cell, Type type) { return loadCell(builder, loc, cell, type); });
  SmallVector<unsigned> kept;
  for (auto [i, cell] : llvm::enumerate(cells))
    if (!cell)
      kept.push_back(i);
  OpBuilder builder(op);
  auto fresh = scf::IfOp::create(
      builder, loc, llvm::map_to_vector(kept, [&](unsigned i) { return op.getResultTypes()[i]; }), op.getCondition(),
      /*withElseRegion=*/true);
  for (auto [from, to] : llvm::zip(op->getRegions(), fresh->getRegions())) {
    to.takeBody(from);
    storeYielded(to.front(), cells,
                 [&](OpBuilder &builder, Value value, Value cell) { storeCell(builder, loc, value, cell); });
  }
  for (auto [i, result] : llvm::zip(kept, fresh.getResults()))
    op.getResult(i).replaceAllUsesWith(result);
  op.erase();
}

/// Replaces those of `block`'s arguments from `firstArgument` on that have a cell by what stands in it at the start.
static void throughCells(Block &block, unsigned firstArgument, ArrayRef<Value> cells,
                         llvm::function_ref<Value(OpBuilder &, Value, Type)> load) {
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (unsigned i = cells.size(); i-- > 0;)
    if (cells[i]) {
      BlockArgument argument = block.getArgument(firstArgument + i);
      argument.replaceAllUsesWith(load(builder, cells[i], argument.getType()));
      block.eraseArgument(firstArgument + i);
    }
}

void CellCarrier::carried(scf::ForOp op) {
  if (llvm::all_of(op.getResultTypes(), isCarried))
    return;
  Location loc = op.getLoc();
  OpBuilder builder(op);
  auto read = [&](OpBuilder &builder, Value cell, Type type) { return loadCell(builder, loc, cell, type); };
  SmallVector<Value> cells, init;
  SmallVector<unsigned> kept;
  for (auto [i, value] : llvm::enumerate(op.getInitArgs())) {
    bool keep = isCarried(value.getType());
    cells.push_back(keep ? Value() : cell(value.getType()));
    if (keep) {
      kept.push_back(i);
      init.push_back(value);
    } else {
      storeCell(builder, loc, value, cells.back());
    }
  }
  dropResults(op, cells, read);
  auto fresh = scf::ForOp::create(builder, loc, op.getLowerBound(), op.getUpperBound(), op.getStep(), init);
  fresh.getRegion().takeBody(op.getRegion());
  Block &body = *fresh.getBody();
  throughCells(body, 1, cells, read);
  storeYielded(body, cells, [&](OpBuilder &builder, Value value, Value cell) { storeCell(builder, loc, value, cell); });
  for (auto [i, result] : llvm::zip(kept, fresh.getResults()))
    op.getResult(i).replaceAllUsesWith(result);
  op.erase();
}

void CellCarrier::carried(scf::WhileOp op) {
  if (llvm::all_of(op.getResultTypes(), isCarried) && llvm::all_of(op.getInits().getTypes(), isCarried))
    return;
  Location loc = op.getLoc();
  OpBuilder builder(op);
  auto read = [&](OpBuilder &builder, Value cell, Type type) { return loadCell(builder, loc, cell, type); };
  auto cellsOf = [&](TypeRange types) {
    return llvm::map_to_vector(types, [&](Type type) { return isCarried(type) ? Value() : cell(type); });
  };
  SmallVector<Value> before = cellsOf(op.getInits().getTypes()), after = cellsOf(op.getResultTypes()), init;
  SmallVector<Type> types;
  SmallVector<unsigned> kept;
  auto spill = [&](ValueRange values, ArrayRef<Value> cells, Operation *at) {
    builder.setInsertionPoint(at);
    SmallVector<Value> left;
    for (auto [value, cell] : llvm::zip(values, cells))
      if (cell)
        storeCell(builder, loc, value, cell);
      else
        left.push_back(value);
    return left;
  };
  init = spill(op.getInits(), before, op);
  for (auto [i, type] : llvm::enumerate(op.getResultTypes()))
    if (!after[i]) {
      kept.push_back(i);
      types.push_back(type);
    }
  dropResults(op, after, read);
  builder.setInsertionPoint(op);
  auto fresh = scf::WhileOp::create(builder, loc, types, init);
  fresh.getBefore().takeBody(op.getBefore());
  fresh.getAfter().takeBody(op.getAfter());
  throughCells(fresh.getBefore().front(), 0, before, read);
  throughCells(fresh.getAfter().front(), 0, after, read);
  scf::ConditionOp condition = fresh.getConditionOp();
  condition.getArgsMutable().assign(spill(condition.getArgs(), after, condition));
  scf::YieldOp yield = fresh.getYieldOp();
  yield->setOperands(spill(yield.getOperands(), before, yield));
  for (auto [i, result] : llvm::zip(kept, fresh.getResults()))
    op.getResult(i).replaceAllUsesWith(result);
  op.erase();
}

void CellCarrier::carried(Region &region) {
  for (Operation &op : llvm::make_early_inc_range(region.front())) {
    if (!isHostControl(&op))
      continue;
    for (Region &inner : op.getRegions())
      if (!inner.empty())
        carried(inner);
    if (auto each = dyn_cast<scf::IfOp>(op))
      carried(each);
    else if (auto each = dyn_cast<scf::ForOp>(op))
      carried(each);
    else
      carried(cast<scf::WhileOp>(op));
  }
}

void tilewright::carryThroughCells(func::FuncOp function) { CellCarrier(function).carried(function.getBody()); }
