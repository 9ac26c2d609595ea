//===- IndexImages.cpp - An index for a memory of the block ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The launch that packs places, and fragments of them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/IndexImages.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilewright;

static int64_t placesOfByte(const MatrixUnit &unit) {
  const int64_t bits = unit.sparsity->placeBits();
  return 8 / bits;
}

/// Bit `bit` of `number`.
static AffineExpr bitOf(AffineExpr number, int64_t bit) { return number.floorDiv(int64_t(1) << bit) % 2; }

/// Row and kept element of element `element` of lane `lane`: bases are single bits (RecordChecks.cpp), so they add up.
static std::pair<AffineExpr, AffineExpr> positionOf(const Layout &layout, AffineExpr lane, int64_t element) {
  const Position fixed = layout.at(0, element);
  MLIRContext *context = lane.getContext();
  AffineExpr row = getAffineConstantExpr(fixed.row, context), kept = getAffineConstantExpr(fixed.col, context);
  for (auto [bit, base] : llvm::enumerate(layout.lanes)) {
    row = row + bitOf(lane, bit) * base.row;
    kept = kept + bitOf(lane, bit) * base.col;
  }
  return {row, kept};
}

/// The number whose bits are those of `row` and `kept` that `bases` name.
static AffineExpr numberOf(ArrayRef<Position> bases, AffineExpr row, AffineExpr kept) {
  AffineExpr number = getAffineConstantExpr(0, row.getContext());
  for (auto [bit, base] : llvm::enumerate(bases)) {
    AffineExpr own = base.row ? bitOf(row, llvm::Log2_64(base.row)) : bitOf(kept, llvm::Log2_64(base.col));
    number = number + own * (int64_t(1) << bit);
  }
  return number;
}

IndexImages::IndexImages(OpBuilder &builder, Location loc, const Contraction &c, const LaneContractionPlan &plan,
                         const CopyEngine &into, const LaneHierarchy &hierarchy)
    : BlockImages(c, plan, /*isA=*/true, c.a.index->access, plan.unit->sparsity->index, builder.getI8Type(),
                  plan.b.line * bitWidth(plan.unit->b.element) / 8, into),
      unit(*plan.unit) {
  groups = llvm::divideCeil(*c.nest.tripCounts[kDim], unit.sparsity->group);
  const Layout &layout = unit.sparsity->index.layout;
  const int64_t bits = unit.sparsity->placeBits(), inByte = placesOfByte(unit), words = wordsOfIndex(unit);
  // Of an image that a step needs a part of: that.
  const int64_t used = std::min(image.entriesOfAccess(), depth / unit.k * words);
  fill(builder, loc, c, hierarchy, used, [&](IterationSpace &space, const Word &word) {
    OpBuilder &b = space.builder;
    AffineExpr number = word.number.floorDiv(words), inUnit = word.number % words;
    AffineExpr first = word.step * c.a.along(depth) + (word.image * (image.depth / unit.k) + number) * unit.depthOfA();
    for (int64_t byte = 0; byte < ScaleImage::wordBytes; ++byte) {
      Value packed;
      for (int64_t i = 0; i < inByte; ++i) {
        // Words of an instruction differ in the last bases of elements.
        auto [row, kept] = positionOf(layout, word.lane, byte * inByte + i);
        const int64_t perWord = ScaleImage::wordBytes * inByte;
        for (size_t bit = llvm::Log2_64(perWord); bit < layout.elements.size(); ++bit) {
          AffineExpr own = bitOf(inUnit, bit - llvm::Log2_64(perWord));
          row = row + own * layout.elements[bit].row;
          kept = kept + own * layout.elements[bit].col;
        }
        Value place = placeAt(space, word.outer, word.tile * tileRows + word.unit * unitRows + row, first + kept);
        auto constant = [&](int64_t value) -> Value {
          return arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(int8_t(value)));
        };
        place = arith::AndIOp::create(b, loc, place, constant(unit.sparsity->group - 1));
        if (i)
          place = arith::ShLIOp::create(b, loc, place, constant(i * bits));
        packed = packed ? arith::OrIOp::create(b, loc, packed, place).getResult() : place;
      }
      AffineExpr at = word.lane * image.access + word.number * ScaleImage::wordBytes + byte;
      store(space, word, at.floorDiv(line), at % line, packed);
    }
  });
}

/// The place of element `kept` of row `row`. Beyond the edges, where elements are zeros, that of a row and a group
/// which exist.
Value IndexImages::placeAt(IterationSpace &space, ArrayRef<AffineExpr> outerAt, AffineExpr row, AffineExpr kept) const {
  OpBuilder &builder = space.builder;
  auto inside = [&](AffineExpr a, AffineExpr last, bool leaves) -> Value {
    Value number = space.value(a);
    return leaves ? arith::MinSIOp::create(builder, space.loc, number, space.value(last)).getResult() : number;
  };
  const int64_t keptOfGroup = unit.sparsity->kept;
  // Of an array whose groups and their elements are dimensions, these: a quotient of the smaller number is not proved.
  auto joined = access.memref.getDefiningOp<memref::CollapseShapeOp>();
  auto isSplit = [&](size_t place, ReassociationIndices dims) {
    return dims.size() == 1 || (dims.size() == 2 && access.map.getResult(place) == builder.getAffineDimExpr(kDim) &&
                                joined.getSrcType().getDimSize(dims.back()) == keptOfGroup);
  };
  if (joined)
    for (auto [place, dims] : llvm::enumerate(joined.getReassociationIndices()))
      if (!isSplit(place, dims)) {
        joined = {};
        break;
      }
  SmallVector<Value> from;
  for (auto [place, result] : llvm::enumerate(access.map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (dim && dim.getPosition() == kDim) {
      const bool leaves = steps * depth > groups * unit.sparsity->group;
      if (joined && joined.getReassociationIndices()[place].size() > 1) {
        from.push_back(inside(kept.floorDiv(keptOfGroup), builder.getAffineConstantExpr(groups - 1), leaves));
        from.push_back(space.value(kept % keptOfGroup));
      } else {
        from.push_back(inside(kept, kept % keptOfGroup + (groups - 1) * keptOfGroup, leaves));
      }
    } else if (dim && dim.getPosition() == freeDim) {
      from.push_back(inside(row, builder.getAffineConstantExpr(rows - 1), rows % tileRows != 0));
    } else {
      from.push_back(space.value(dim ? outerAt[llvm::find(outer, dim.getPosition()) - outer.begin()] : result));
    }
  }
  return memref::LoadOp::create(builder, space.loc, joined ? joined.getSrc() : access.memref, from);
}

Value IndexImages::load(IterationSpace &space, Value buffer, tile::FragmentType type, AffineExpr stage, AffineExpr free,
                        AffineExpr k) const {
  OpBuilder &builder = space.builder;
  const Layout &layout = unit.sparsity->index.layout;
  AffineExpr row = builder.getAffineDimExpr(0), kept = builder.getAffineDimExpr(1);
  AffineExpr byte = numberOf(layout.lanes, row, kept) * image.access +
                    numberOf(layout.elements, row, kept).floorDiv(placesOfByte(unit));
  AffineExpr number = k.floorDiv(unit.k) % (image.depth / unit.k);
  return loadFrom(space, buffer, type, stage, free, k, number * (wordsOfIndex(unit) * ScaleImage::wordBytes),
                  {byte.floorDiv(line), byte % line});
}
