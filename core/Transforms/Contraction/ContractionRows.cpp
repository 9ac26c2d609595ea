//===- ContractionRows.cpp - How rows of a register tile move -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores of fragments, one by one, or of rows that are neighbours in
// memory together. Where the rows of a register tile, and not its lanes, are
// contiguous in an array, blocks of rows are transposed in registers, and each
// of their columns is one vector in memory:
//
//   14 rows x 16 lanes    8 + 4 + 2 rows    3 x 16 accesses of 8, 4 and 2 elements (224 of one element)
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/RowBlocks.h"
#include "core/Transforms/Contraction/ContractionNest.h"
#include "llvm/ADT/STLExtras.h"
#include <climits>

using namespace mlir;

namespace tilewright {

/// Whether the rows of a register tile are neighbours in `access`, and its lanes are not: elements of whole bytes, rows
/// that are vectors in order or come as such from a buffer.
bool ContractionNest::isTransposed(const Access &access) const {
  const bool movesByRows = unit.c.opaque || (unit.m == 1 && unit.c.layout == rowMajorLayout(1, unit.n));
  const Type element = elementOf(access.memref);
  const bool hasBytes = element.isIntOrFloat() && element.getIntOrFloatBitWidth() % CHAR_BIT == 0;
  return movesByRows && hasBytes && !p.resultGaps && p.rowDim && p.laneDim && access.dims().test(*p.laneDim) &&
         access.stride(*p.laneDim) != 1 && access.stride(*p.rowDim) == 1;
}

/// Whether the epilogue reads or writes an array whose rows are neighbours.
bool ContractionNest::epilogueIsTransposed() const {
  EpilogueAccesses accesses = epilogueAccesses(task);
  return llvm::any_of(llvm::concat<const Access>(accesses.loads, accesses.stores),
                      [&](const Access &access) { return isTransposed(access); });
}

/// The rows of the register tile one by one, or `together` vector by vector in blocks of falling powers of two.
void ContractionNest::forRowBlocks(bool together, function_ref<void(const RowBlock &)> body) {
  auto visit = [&](int64_t first, int64_t count, int64_t vector) {
    RowBlock rows;
    rows.row = tileRow + first * unit.m;
    rows.lane = tileLane + vector * unit.n;
    rows.count = count;
    rows.step = unit.m;
    rows.validRows = validRowsOf(first + count - 1);
    rows.validCols = validColsOf(vector);
    rows.first = first;
    rows.vector = vector;
    body(rows);
  };
  if (!together) {
    for (int64_t row = 0; row < tileRows; ++row)
      for (int64_t vector = 0; vector < tileVectors; ++vector)
        visit(row, 1, vector);
    return;
  }
  for (int64_t vector = 0; vector < tileVectors; ++vector)
    for (int64_t row = 0; row < tileRows;) {
      const int64_t count = rowsOfBlock(tileRows - row, unitOf(vector).n);
      visit(row, count, vector);
      row += count;
    }
}

/// Where the elements of column `column` of a fragment lie, by their row.
AffineMap ContractionNest::columnMap(const Access &access, int64_t column) {
  AffineMap elements = elementsOf(access, p.rowDim, p.laneDim);
  AffineExpr position[] = {getAffineDimExpr(0, builder().getContext()), constant(column)};
  return elements.replaceDimsAndSymbols(position, {}, 2, 0);
}

/// How many rows and columns of such a column exist; null: all.
std::pair<AffineMap, SmallVector<Value>> ContractionNest::validColumn(const RowBlock &rows, int64_t column) {
  if (!rows.validCols)
    return {};
  return space.map({constant(rows.count), rows.validCols - column});
}

SmallVector<Value> ContractionNest::loadRows(const Access &access, tile::FragmentType type, const RowBlock &rows) {
  moveToLane(rows.lane);
  const TileAxes axes{p.rowDim, p.laneDim, rows.validRows, rows.validCols};
  if (rows.count == 1 || !isTransposed(access)) {
    SmallVector<Value> values;
    for (int64_t row = 0; row < rows.count; ++row) {
      moveToRow(rows.row + row * rows.step);
      values.push_back(loadTile(space, access, type, axes));
    }
    return values;
  }
  moveToRow(rows.row);
  auto [map, operands] = space.address(access);
  SmallVector<Value> columns;
  for (int64_t column = 0; column < type.getCols(); ++column) {
    auto [valid, validOperands] = validColumn(rows, column);
    columns.push_back(tile::LoadOp::create(builder(), space.loc, tile::TransposeOp::typeOf(type, rows.count),
                                           access.memref, map, operands, columnMap(access, column), valid,
                                           validOperands));
  }
  return llvm::to_vector_of<Value>(tile::TransposeOp::create(builder(), space.loc, columns).getOutputs());
}

void ContractionNest::storeRows(ValueRange values, const Access &access, const RowBlock &rows) {
  moveToLane(rows.lane);
  if (rows.count == 1 || !isTransposed(access)) {
    const TileAxes axes{p.rowDim, p.laneDim, rows.validRows, rows.validCols};
    for (auto [row, value] : llvm::enumerate(values)) {
      moveToRow(rows.row + row * rows.step);
      storeTile(space, value, access, axes);
    }
    return;
  }
  moveToRow(rows.row);
  auto [map, operands] = space.address(access);
  auto transposed = tile::TransposeOp::create(builder(), space.loc, values);
  for (auto [column, value] : llvm::enumerate(transposed.getOutputs())) {
    auto [valid, validOperands] = validColumn(rows, column);
    tile::StoreOp::create(builder(), space.loc, value, access.memref, map, operands, columnMap(access, column), valid,
                          validOperands);
  }
}

/// The epilogue of several rows. What it reads and writes transposed moves for all of them at once.
void ContractionNest::finishRows(const RowBlock &rows, ValueRange accumulators,
                                 function_ref<tile::FragmentType(Type)> typeOf) {
  SmallVector<SmallVector<Value>> loaded; // by access, in the order in which emitEpilogue asks for them
  SmallVector<std::pair<Access, SmallVector<Value>>> stored;
  for (auto [row, accumulator] : llvm::enumerate(accumulators)) {
    RowBlock one = rows;
    one.row = rows.row + row * rows.step;
    one.count = 1;
    unsigned reads = 0, writes = 0;
    emitEpilogue(
        builder(), space.loc, task, accumulator, typeOf,
        [&](const Access &access, tile::FragmentType type) {
          if (rows.count == 1 || !isTransposed(access))
            return loadRows(access, type, one).front();
          if (row == 0)
            loaded.push_back(loadRows(access, type, rows));
          return loaded[reads++][row];
        },
        [&](Value value, const Access &access) {
          if (rows.count == 1 || !isTransposed(access))
            return storeRows(value, access, one);
          if (row == 0)
            stored.push_back({access, {}});
          stored[writes++].second.push_back(value);
        });
  }
  for (auto &[access, values] : stored)
    storeRows(values, access, rows);
}

} // namespace tilewright
