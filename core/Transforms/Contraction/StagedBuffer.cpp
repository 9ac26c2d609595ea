//===- StagedBuffer.cpp - An operand in the memory of a block -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Places in the buffer, places in the array, and the attributes that tell stage 5
/// how lanes copy.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/StagedBuffer.h"
#include "core/Analysis/ElementType.h"

using namespace mlir;
using namespace tilewright;

void StagedBuffer::allocate(OpBuilder &builder, Location loc, int64_t stages, StringRef memory) {
  SmallVector<int64_t> shape{stages, tile.kInner ? free : depth, tile.kInner ? depth : free};
  if (inBlocks())
    shape = {stages, blocks(), tile.kInner ? free : depth, tile.line};
  tile::ArrangementAttr arrangement;
  if (tile.swizzleBits || tile.padding)
    arrangement = tile::ArrangementAttr::get(builder.getContext(), tile.swizzleBits, tile.swizzleBase,
                                             tile.swizzleShift, tile.swizzleAgain, tile.padding, 1);
  memref = allocateTile(builder, loc, shape, storedType(operand.element), memory, arrangement);
}

Value StagedBuffer::copy(IterationSpace &space, StagedPlace at, int64_t block) const {
  OpBuilder &builder = space.builder;
  AffineExpr zero = builder.getAffineConstantExpr(0), first = builder.getAffineDimExpr(0),
             second = builder.getAffineDimExpr(1);
  int64_t width = free, length = depth;
  SmallVector<AffineExpr> place{at.stage, zero, zero}, into{zero, first, second};
  if (inBlocks()) {
    (tile.kInner ? at.k : at.free) = (tile.kInner ? at.k : at.free) + block * tile.line;
    if (AffineExpr &inner = tile.kInner ? at.kLeft : at.freeLeft)
      inner = inner - block * tile.line;
    (tile.kInner ? length : width) = tile.line;
    place.insert(place.begin() + 1, builder.getAffineConstantExpr(block));
    into.insert(into.begin(), zero);
  }
  space.at[freeDim] = at.free;
  space.at[kDim] = at.k;
  // Rows of the copy are those of a stage.
  TileAxes axes{freeDim, kDim};
  if (!at.freeEnds)
    axes.validRows = at.freeLeft ? at.freeLeft : space.extent(freeDim) - at.free;
  if (!at.kEnds)
    axes.validCols = at.kLeft ? at.kLeft : space.extent(kDim) - at.k;
  if (at.wholeVectors && !at.freeEnds) {
    int64_t vector = tile.looseElements(elementBytes(operand.element));
    axes.validRows = axes.validRows.ceilDiv(vector) * vector;
  }
  SmallVector<int64_t> shape{width, length};
  if (!tile.kInner) {
    std::swap(axes.row, axes.col);
    std::swap(axes.validRows, axes.validCols);
    std::swap(shape[0], shape[1]);
  }
  auto copy =
      copyTile(space, operand.access, axes, shape, memref, place, AffineMap::get(2, 0, into, builder.getContext()),
               /*in=*/true, llvm::to_vector_of<int64_t>(operand.bounded));
  if (tile.near)
    copy->setAttr(turnAttr, builder.getDenseI64ArrayAttr({tile.turn.along, tile.turn.across, tile.near, tile.beside}));
  if (tile.direct)
    copy->setAttr(directAttr, builder.getUnitAttr());
  if (tile.begin)
    copy->setAttr(looseAttr, builder.getI64IntegerAttr(tile.begin));
  if (tile.held)
    copy->setAttr(heldAttr, builder.getUnitAttr());
  if (!engine.empty())
    copy->setAttr(engineAttr, builder.getStringAttr(engine));
  return copy;
}

Value StagedBuffer::load(IterationSpace &space, tile::FragmentType type, AffineExpr stage, AffineExpr row,
                         AffineExpr k) const {
  OpBuilder &builder = space.builder;
  AffineExpr zero = builder.getAffineConstantExpr(0), first = builder.getAffineDimExpr(0),
             second = builder.getAffineDimExpr(1);
  SmallVector<AffineExpr> place{stage, row, k};
  if (!tile.kInner)
    std::swap(place[1], place[2]);
  bool straight = isA == tile.kInner; // rows of the fragment are rows of the buffer
  SmallVector<AffineExpr> from{zero, straight ? first : second, straight ? second : first};
  from[2] = from[2].floorDiv(packed); // lines along k, where elements are packed
  if (inBlocks()) {
    place = {stage, place[2].floorDiv(tile.line), place[1], tile.kInner ? k % tile.line : zero};
    AffineExpr inner = from[2];
    from = {zero, inner.floorDiv(tile.line), from[1], inner % tile.line};
  }
  return loadTile(space, memref, place, AffineMap::get(2, 0, from, builder.getContext()), type);
}
