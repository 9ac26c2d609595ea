//===- TileAccess.cpp - Tiles of arrays at a position of a nest -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Element maps, and the tile ops that have them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/TileAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/Utils/NestBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright {

AffineMap elementsOf(const Access &access, std::optional<unsigned> row, std::optional<unsigned> col) {
  MLIRContext *context = access.map.getContext();
  SmallVector<AffineExpr> results;
  for (AffineExpr result : access.map.getResults()) {
    AffineExpr moved = getAffineConstantExpr(0, context);
    if (row)
      moved = moved + getAffineDimExpr(0, context) * *linearCoefficient(result, *row);
    if (col)
      moved = moved + getAffineDimExpr(1, context) * *linearCoefficient(result, *col);
    results.push_back(moved);
  }
  return AffineMap::get(2, 0, results, context);
}

/// How many of `rows` x `cols` exist; null: all.
static std::pair<AffineMap, SmallVector<Value>> validOf(IterationSpace &space, const TileAxes &axes, int64_t rows,
                                                        int64_t cols) {
  const bool ends = axes.validCols && axes.col;
  if (!axes.validRows && !ends)
    return {};
  return space.map({axes.validRows ? axes.validRows : space.builder.getAffineConstantExpr(rows),
                    ends ? axes.validCols : space.builder.getAffineConstantExpr(cols)});
}

static AffineMapAttr attributeOf(AffineMap map) { return map ? AffineMapAttr::get(map) : AffineMapAttr(); }

tile::FragmentType fragmentOf(const UnitOperand &operand, Type element) {
  return tile::FragmentType::get(operand.rows, operand.cols, element, operand.layout,
                                 operand.opaque ? StringRef(operand.opaque->name) : StringRef());
}

Type elementIn(const UnitOperand &operand, Type memory) {
  return operand.element == ElementKind::TF32 ? memory : elementType(operand.element, memory.getContext());
}

Value allocateTile(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape, Type element, StringRef memory,
                   tile::ArrangementAttr arrangement, bool overlays) {
  auto type = MemRefType::get(shape, element, AffineMap(), builder.getStringAttr(memory));
  return tile::AllocOp::create(builder, loc, type, ValueRange(), arrangement,
                               overlays ? builder.getUnitAttr() : UnitAttr());
}

Value loadTile(IterationSpace &space, const Access &access, tile::FragmentType type, const TileAxes &axes,
               bool reread) {
  auto [map, operands] = space.address(access);
  auto [valid, validOperands] = validOf(space, axes, type.getRows(), type.getCols());
  return tile::LoadOp::create(space.builder, space.loc, type, access.memref, operands, AffineMapAttr::get(map),
                              AffineMapAttr::get(elementsOf(access, axes.row, axes.col)), attributeOf(valid),
                              validOperands, DenseI64ArrayAttr(), reread ? space.builder.getUnitAttr() : UnitAttr());
}

void storeTile(IterationSpace &space, Value fragment, const Access &access, const TileAxes &axes) {
  auto type = cast<tile::FragmentType>(fragment.getType());
  auto [map, operands] = space.address(access);
  auto [valid, validOperands] = validOf(space, axes, type.getRows(), type.getCols());
  tile::StoreOp::create(space.builder, space.loc, fragment, access.memref, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(elementsOf(access, axes.row, axes.col)), attributeOf(valid), validOperands,
                        UnitAttr());
}

Value loadTile(IterationSpace &space, Value buffer, ArrayRef<AffineExpr> place, AffineMap elements,
               tile::FragmentType type) {
  auto [map, operands] = space.map(place);
  return tile::LoadOp::create(space.builder, space.loc, type, buffer, operands, AffineMapAttr::get(map),
                              AffineMapAttr::get(elements), AffineMapAttr(), ValueRange());
}

void storeTile(IterationSpace &space, Value fragment, Value buffer, ArrayRef<AffineExpr> place, AffineMap elements) {
  auto [map, operands] = space.map(place);
  tile::StoreOp::create(space.builder, space.loc, fragment, buffer, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(elements), AffineMapAttr(), ValueRange(), UnitAttr());
}

tile::CopyOp copyTile(IterationSpace &space, const Access &access, const TileAxes &axes, ArrayRef<int64_t> shape,
                      Value buffer, ArrayRef<AffineExpr> place, AffineMap elements, bool in,
                      ArrayRef<int64_t> bounded) {
  auto [map, operands] = space.address(access);
  auto [inBuffer, bufferOperands] = space.map(place);
  auto [valid, validOperands] = validOf(space, axes, shape[0], shape[1]);
  AffineMap inArray = elementsOf(access, axes.row, axes.col);
  if (in)
    return tile::CopyOp::create(space.builder, space.loc, access.memref, map, operands, inArray, buffer, inBuffer,
                                bufferOperands, elements, shape, valid, validOperands, bounded);
  auto copy = tile::CopyOp::create(space.builder, space.loc, buffer, inBuffer, bufferOperands, elements, access.memref,
                                   map, operands, inArray, shape, valid, validOperands, bounded);
  copy.setClipped(bool(valid));
  return copy;
}

Value combineTiles(OpBuilder &builder, Location loc, ValueRange fragments,
                   function_ref<Value(OpBuilder &, Location, ValueRange)> combine) {
  return tile::MapOp::create(builder, loc, TypeRange{fragments.front().getType()}, fragments,
                             [&](OpBuilder &inner, Location where, ValueRange values) {
                               tile::YieldOp::create(inner, where, combine(inner, where, values));
                             })
      .getResult(0);
}

Value combineTiles(OpBuilder &builder, Location loc, ValueRange fragments, Operation *how) {
  return combineTiles(builder, loc, fragments,
                      [&](OpBuilder &inner, Location, ValueRange values) { return cloneOf(inner, how, values); });
}

Value addTiles(OpBuilder &builder, Location loc, Value a, Value b) {
  return combineTiles(builder, loc, {a, b}, [](OpBuilder &inner, Location where, ValueRange values) -> Value {
    if (isa<FloatType>(values[0].getType()))
      return arith::AddFOp::create(inner, where, values[0], values[1]);
    return arith::AddIOp::create(inner, where, values[0], values[1]);
  });
}

} // namespace tilewright
