//===- ScaleImages.cpp - Scales for a memory of the block -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The array of images, the launch that fills it, copies and fragments; what of this is scales alone.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/ScaleImages.h"
#include "core/Machine/PackedElements.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

//===-- Images ------------------------------------------------------------===//

BlockImages::BlockImages(const Contraction &c, const LaneContractionPlan &plan, bool isA, const Access &access,
                         const UnitOperand &operand, Type element, int64_t line, const CopyEngine &into)
    : access(access), element(element), image(imageOf(*plan.unit, operand, into)), isA(isA),
      freeDim(isA ? plan.mDim : plan.nDim), kDim(plan.kDim), unitRows(isA ? plan.unit->m : plan.unit->n),
      tileRows(isA ? plan.blockM() : plan.blockN()), depth(plan.depth), line(line), engine(plan.engine) {
  for (unsigned dim : plan.outer)
    if (access.dims().test(dim))
      outer.push_back(dim);
  rows = *c.nest.tripCounts[freeDim];
  steps = llvm::divideCeil(*c.nest.tripCounts[kDim], depth);
}

/// `number` in the numbers of `extents`, the last of which changes fastest.
static SmallVector<AffineExpr> digits(AffineExpr number, ArrayRef<int64_t> extents) {
  SmallVector<AffineExpr> result(extents.size());
  for (size_t d = extents.size(); d-- > 0; number = number.floorDiv(extents[d]))
    result[d] = number % extents[d];
  return result;
}

/// A block writes what the engine copies at once.
void BlockImages::fill(OpBuilder &builder, Location loc, const Contraction &c, const LaneHierarchy &hierarchy,
                       int64_t words, function_ref<void(IterationSpace &, const Word &)> write) {
  SmallVector<int64_t> extents;
  for (unsigned dim : outer)
    extents.push_back(*c.nest.tripCounts[dim]);
  SmallVector<int64_t> shape(extents);
  const int64_t tiles = llvm::divideCeil(rows, tileRows);
  shape.append({tiles, steps, lines(), line});
  array = memref::AllocOp::create(builder, loc, MemRefType::get(shape, element));
  extents.append({tiles, steps, tileRows / unitRows, imagesOfStep(), image.accesses()});
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  IterationSpace space(builder, loc);
  auto constant = [&](int64_t value) { return builder.getAffineConstantExpr(value); };
  auto writeWord = [&](AffineExpr number, AffineExpr inAccess) {
    SmallVector<AffineExpr> at = digits(number, extents);
    ArrayRef<AffineExpr> inner = ArrayRef(at).drop_front(outer.size());
    write(space, {SmallVector<AffineExpr>(ArrayRef(at).take_front(outer.size())), inner[0], inner[1], inner[2],
                  inner[3], inner[4], inAccess.floorDiv(words), inAccess % words});
  };
  space.parallel({constant(count)}, hierarchy.grid, [&](ArrayRef<AffineExpr> number) {
    space.parallel({constant(image.lanes * words / hierarchy.lanes)}, hierarchy.block,
                   [&](ArrayRef<AffineExpr> subgroup) {
                     space.parallel({constant(hierarchy.lanes)}, hierarchy.subgroup, [&](ArrayRef<AffineExpr> lane) {
                       writeWord(number[0], subgroup[0] * hierarchy.lanes + lane[0]);
                     });
                   });
  });
}

void BlockImages::store(IterationSpace &space, const Word &word, AffineExpr line, AffineExpr element,
                        Value value) const {
  SmallVector<Value> to;
  for (AffineExpr place : word.outer)
    to.push_back(space.value(place));
  AffineExpr inTile = (word.unit * imagesOfStep() + word.image) * linesOfImage() + line;
  to.append({space.value(word.tile), space.value(word.step), space.value(inTile), space.value(element)});
  memref::StoreOp::create(space.builder, space.loc, value, array, to);
}

Value BlockImages::allocate(OpBuilder &builder, Location loc, int64_t stages, StringRef memory) const {
  return allocateTile(builder, loc, {stages, lines(), line}, element, memory);
}

Value BlockImages::copy(IterationSpace &space, Value buffer, AffineExpr free, AffineExpr k, AffineExpr stage) const {
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

Value BlockImages::loadFrom(IterationSpace &space, Value buffer, tile::FragmentType type, AffineExpr stage,
                            AffineExpr free, AffineExpr k, AffineExpr element,
                            std::pair<AffineExpr, AffineExpr> places) const {
  OpBuilder &builder = space.builder;
  AffineExpr number = free.floorDiv(unitRows) * imagesOfStep() + k.floorDiv(image.depth);
  return loadTile(
      space, buffer, {stage, number * linesOfImage(), element},
      AffineMap::get(2, 0, {builder.getAffineConstantExpr(0), places.first, places.second}, builder.getContext()),
      type);
}

//===-- Scales ------------------------------------------------------------===//

ScaleImages::ScaleImages(OpBuilder &builder, Location loc, const Contraction &c, const LaneContractionPlan &plan,
                         bool isA, const CopyEngine &into, const LaneHierarchy &hierarchy)
    : BlockImages(c, plan, isA, (isA ? c.a : c.b).scale->access, isA ? plan.unit->scales->a : plan.unit->scales->b,
                  (isA ? c.a : c.b).scale->element, (isA ? plan.a : plan.b).line, into),
      scale(*(isA ? c.a : c.b).scale), unitBlock(plan.unit->scales->block),
      isUnsigned(isUnsignedScale(isA ? plan.unit->scales->a : plan.unit->scales->b)) {
  blocks = llvm::divideCeil(*c.nest.tripCounts[kDim], unitBlock);
  // A lane writes a word: the scales of a row (column) for blocks of k that follow each other.
  fill(builder, loc, c, hierarchy, image.entriesOfAccess(), [&](IterationSpace &space, const Word &word) {
    AffineExpr inUnit = (word.access * image.entriesOfAccess() + word.number) * image.lanes + word.lane;
    AffineExpr row = word.tile * tileRows + word.unit * unitRows + inUnit;
    for (int64_t b = 0; b < image.blocksOfWord; ++b) {
      AffineExpr block = (word.step * imagesOfStep() + word.image) * image.blocksOfWord + b;
      Value value = scaleAt(space, word.outer, row, block);
      auto [line, element] = placeOf(inUnit, space.builder.getAffineConstantExpr(b));
      store(space, word, line, element, value);
    }
  });
}

std::pair<AffineExpr, AffineExpr> ScaleImages::placeOf(AffineExpr free, AffineExpr block) const {
  AffineExpr byte = image.place(
      free, block, [](AffineExpr a, int64_t b) { return a.floorDiv(b); },
      [](AffineExpr a, int64_t b) { return a % b; });
  AffineExpr element = byte.floorDiv(image.elementBytes);
  return {element.floorDiv(line), element % line};
}

/// The scale of `row` for block `block` of the unit's. Places without a scale get 1: elements are zeros there, and
/// others might be NaN.
Value ScaleImages::scaleAt(IterationSpace &space, ArrayRef<AffineExpr> outerAt, AffineExpr row,
                           AffineExpr block) const {
  OpBuilder &builder = space.builder;
  Location loc = space.loc;
  auto constant = [&](int64_t value) { return space.value(builder.getAffineConstantExpr(value)); };
  const bool rowsEnd = rows % tileRows != 0 || image.entries * image.lanes > unitRows;
  const bool blocksEnd = steps * (depth / unitBlock) > blocks;
  auto least = [&](AffineExpr a, int64_t most) -> Value {
    return arith::MinSIOp::create(builder, loc, space.value(a), constant(most));
  };
  SmallVector<Value> from;
  for (AffineExpr result : scale.access.map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (dim && dim.getPosition() == kDim) { // blocks of the program may be longer than the unit's
      AffineExpr longer = (block * unitBlock).floorDiv(scale.block);
      from.push_back(blocksEnd ? least(longer, (blocks - 1) * unitBlock / scale.block) : space.value(longer));
    } else if (dim && dim.getPosition() == freeDim) {
      from.push_back(rowsEnd ? least(row, rows - 1) : space.value(row));
    } else {
      from.push_back(space.value(dim ? outerAt[llvm::find(outer, dim.getPosition()) - outer.begin()] : result));
    }
  }
  Value value = memref::LoadOp::create(builder, loc, scale.access.memref, from);
  if (isUnsigned) { // the signs have gone to the elements
    const unsigned bits = scale.element.getIntOrFloatBitWidth();
    Value code = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits), value);
    Value magnitude =
        arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(code.getType(), APInt::getSignedMaxValue(bits)));
    value = arith::BitcastOp::create(builder, loc, scale.element,
                                     arith::AndIOp::create(builder, loc, code, magnitude).getResult());
  }
  for (auto [ends, place, end] : {std::tuple(rowsEnd, row, rows), std::tuple(blocksEnd, block, blocks)})
    if (ends) {
      Value isInside =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, space.value(place), constant(end));
      Value one = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(scale.element, 1.0));
      value = arith::SelectOp::create(builder, loc, isInside, value, one);
    }
  return value;
}

Value ScaleImages::load(IterationSpace &space, Value buffer, tile::FragmentType type, AffineExpr stage, AffineExpr free,
                        AffineExpr k) const {
  OpBuilder &builder = space.builder;
  AffineExpr row = builder.getAffineDimExpr(isA ? 0 : 1), block = builder.getAffineDimExpr(isA ? 1 : 0);
  return loadFrom(space, buffer, type, stage, free, k, k.floorDiv(unitBlock) % image.blocksOfWord, placeOf(row, block));
}
