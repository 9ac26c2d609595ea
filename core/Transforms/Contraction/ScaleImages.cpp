//===- ScaleImages.cpp - Scales for a memory of the block -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The array of images, the nests before the contraction, copies and fragments.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/ScaleImages.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

ScaleImages::ScaleImages(OpBuilder &builder, Location loc, const Contraction &c, const LaneContractionPlan &plan,
                         bool isA, const CopyEngine &into)
    : scale(*(isA ? c.a : c.b).scale), image(scaleImage(*plan.unit, isA, into)), isA(isA),
      freeDim(isA ? plan.mDim : plan.nDim), kDim(plan.kDim), unitRows(isA ? plan.unit->m : plan.unit->n),
      tileRows(isA ? plan.blockM() : plan.blockN()), unitBlock(plan.unit->scales->block), depth(plan.depth),
      line((isA ? plan.a : plan.b).line), engine(plan.engine) {
  for (unsigned dim : plan.outer)
    if (scale.access.dims().test(dim))
      outer.push_back(dim);
  steps = llvm::divideCeil(*c.nest.tripCounts[kDim], depth);
  SmallVector<int64_t> shape;
  for (unsigned dim : outer)
    shape.push_back(*c.nest.tripCounts[dim]);
  shape.append({int64_t(llvm::divideCeil(*c.nest.tripCounts[freeDim], tileRows)), steps, lines(), line});
  array = memref::AllocOp::create(builder, loc, MemRefType::get(shape, scale.element));
  fill(builder, loc, c);
}

std::pair<AffineExpr, AffineExpr> ScaleImages::placeOf(AffineExpr free, AffineExpr block) const {
  AffineExpr byte = image.place(
      free, block, [](AffineExpr a, int64_t b) { return a.floorDiv(b); },
      [](AffineExpr a, int64_t b) { return a % b; });
  AffineExpr element = byte.floorDiv(image.elementBytes);
  return {element.floorDiv(line), element % line};
}

/// Each scale to its place. Blocks after the last one, whose elements are zeros, get scales of 1: others might be NaN.
/// Rows after the last one are those of results that nobody stores.
void ScaleImages::fill(OpBuilder &builder, Location loc, const Contraction &c) {
  MLIRContext *context = builder.getContext();
  const int64_t blocks = llvm::divideCeil(*c.nest.tripCounts[kDim], unitBlock), all = steps * image.blocksOfWord;
  SmallVector<int64_t> sizes;
  for (unsigned dim : outer)
    sizes.push_back(*c.nest.tripCounts[dim]);
  sizes.append({*c.nest.tripCounts[freeDim], 0});
  AffineExpr free = getAffineDimExpr(outer.size(), context), number = getAffineDimExpr(outer.size() + 1, context);
  // The images' element of the indices, `number` counted from `first` on.
  auto placeFrom = [&](int64_t first) {
    AffineExpr block = number + first, row = free % tileRows;
    auto [inUnit, element] = placeOf(row % unitRows, block % image.blocksOfWord);
    SmallVector<AffineExpr> place;
    for (unsigned d = 0; d < outer.size(); ++d)
      place.push_back(getAffineDimExpr(d, context));
    place.append({free.floorDiv(tileRows), block.floorDiv(image.blocksOfWord),
                  row.floorDiv(unitRows) * linesOfUnit() + inUnit, element});
    return AffineMap::get(outer.size() + 2, 0, place, context);
  };
  auto nest = [&](int64_t first, int64_t count, function_ref<Value(ValueRange)> valueAt) {
    if (count <= 0)
      return;
    OpBuilder::InsertionGuard guard(builder);
    sizes.back() = count;
    SmallVector<Value> indices = elementLoops(builder, loc, sizes);
    AffineStoreOp::create(builder, loc, valueAt(indices), array, placeFrom(first), indices);
  };
  nest(0, blocks, [&](ValueRange indices) -> Value {
    SmallVector<AffineExpr> from;
    for (AffineExpr result : scale.access.map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(result);
      if (dim && dim.getPosition() == kDim) // blocks of the program may be longer than the unit's
        result = (number * unitBlock).floorDiv(scale.block);
      else if (dim && dim.getPosition() == freeDim)
        result = free;
      else if (dim)
        result = getAffineDimExpr(llvm::find(outer, dim.getPosition()) - outer.begin(), context);
      from.push_back(result);
    }
    return AffineLoadOp::create(builder, loc, scale.access.memref, AffineMap::get(outer.size() + 2, 0, from, context),
                                indices);
  });
  nest(blocks, all - blocks, [&](ValueRange) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(scale.element, 1.0));
  });
}

Value ScaleImages::allocate(OpBuilder &builder, Location loc, int64_t stages, StringRef memory) const {
  auto type = MemRefType::get({stages, lines(), line}, scale.element, AffineMap(), builder.getStringAttr(memory));
  return tile::AllocOp::create(builder, loc, type, ValueRange(), tile::ArrangementAttr());
}

Value ScaleImages::copy(IterationSpace &space, Value buffer, AffineExpr free, AffineExpr k, AffineExpr stage) const {
  OpBuilder &builder = space.builder;
  AffineExpr zero = builder.getAffineConstantExpr(0), first = builder.getAffineDimExpr(0),
             second = builder.getAffineDimExpr(1);
  SmallVector<AffineExpr> from, inBox(outer.size() + 2, zero);
  for (unsigned dim : outer)
    from.push_back(space.at[dim]);
  from.append({free.floorDiv(tileRows), k.floorDiv(depth), zero, zero});
  inBox.append({first, second});
  auto [map, operands] = space.map(from);
  auto [into, bufferOperands] = space.map({stage, zero, zero});
  auto copy = tile::CopyOp::create(builder, space.loc, array, map, operands,
                                   AffineMap::get(2, 0, inBox, builder.getContext()), buffer, into, bufferOperands,
                                   AffineMap::get(2, 0, {zero, first, second}, builder.getContext()), {lines(), line});
  copy->setAttr(engineAttr, builder.getStringAttr(engine));
  return copy;
}

Value ScaleImages::load(IterationSpace &space, Value buffer, tile::FragmentType type, AffineExpr stage, AffineExpr free,
                        AffineExpr k) const {
  OpBuilder &builder = space.builder;
  AffineExpr zero = builder.getAffineConstantExpr(0), row = builder.getAffineDimExpr(isA ? 0 : 1),
             block = builder.getAffineDimExpr(isA ? 1 : 0);
  auto [inUnit, element] = placeOf(row, block);
  return loadTile(space, buffer, {stage, free.floorDiv(unitRows) * linesOfUnit(), k.floorDiv(unitBlock)},
                  AffineMap::get(2, 0, {zero, inUnit, element}, builder.getContext()), type);
}
