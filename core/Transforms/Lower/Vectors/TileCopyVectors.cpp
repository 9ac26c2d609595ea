//===- TileCopyVectors.cpp - Copies of boxes as vector code ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The vector form of tile.copy, found from how a step in each dimension of the
/// box moves the addresses of both sides.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Lower/Vectors/TileAccessLowering.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace tilewright;

//===-- How steps in the box move addresses -------------------------------===//

namespace {
using Offsets = SmallVector<int64_t>;

/// One side of a copy: constant steps of its element map.
struct Side {
  AffineMap elements;
  ArrayRef<int64_t> shape;
  bool unitStride; // of the innermost memref dimension

  Offsets at(ArrayRef<int64_t> point) const {
    Offsets offsets;
    SmallVector<AffineExpr> constants;
    for (int64_t coordinate : point)
      constants.push_back(getAffineConstantExpr(coordinate, elements.getContext()));
    for (AffineExpr expr : elements.getResults())
      offsets.push_back(cast<AffineConstantExpr>(expr.replaceDims(constants)).getValue());
    return offsets;
  }
  /// The change of offsets per step in `dim`, if it is the same for all steps that stay inside a group of `group`.
  std::optional<Offsets> step(unsigned dim, int64_t group = 0) const {
    SmallVector<int64_t> point(shape.size(), 0);
    Offsets previous = at(point);
    std::optional<Offsets> common;
    for (int64_t i = 1; i < shape[dim]; ++i) {
      point[dim] = i;
      Offsets current = at(point), delta;
      for (auto [a, b] : llvm::zip(current, previous))
        delta.push_back(a - b);
      previous = current;
      if (group && i % group == 0)
        continue;
      if (common && *common != delta)
        return std::nullopt;
      common = delta;
    }
    return common;
  }
  bool isContiguous(unsigned dim, int64_t group = 0) const {
    std::optional<Offsets> delta = step(dim, group);
    return unitStride && delta && !delta->empty() && delta->back() == 1 &&
           llvm::all_of(ArrayRef(*delta).drop_back(), [](int64_t value) { return value == 0; });
  }
};

/// A dimension of the box that is walked in blocks.
struct BlockDim {
  unsigned dim;
  int64_t size;
};

enum class CopyForm { Scalars, Rows, Groups, Transposed };

/// The chosen form; blocks[0] are the rows and blocks[1] the columns of a fragment (Rows: columns only).
struct CopyPlan {
  CopyForm form = CopyForm::Scalars;
  SmallVector<BlockDim> blocks;
  SmallVector<Offsets> sourceSteps, destinationSteps; // per block dimension
};
} // namespace

static CopyPlan planCopy(tile::CopyOp op, int64_t vectorBytes) {
  CopyPlan plan;
  auto sourceType = cast<MemRefType>(op.getSource().getType());
  auto destinationType = cast<MemRefType>(op.getDestination().getType());
  Type element = sourceType.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return plan;
  int64_t elementBytes = tilewright::elementBytes(element), lanes = std::max<int64_t>(vectorBytes / elementBytes, 1);
  ArrayRef<int64_t> shape = op.getShape();
  Side source{op.getSourceElements(), shape, sourceType.isLastDimUnitStride()};
  Side destination{op.getDestinationElements(), shape, destinationType.isLastDimUnitStride()};
  auto choose = [&](CopyForm form, ArrayRef<BlockDim> blocks, int64_t group = 0) {
    plan = {form, SmallVector<BlockDim>(blocks), {}, {}};
    for (const BlockDim &block : blocks) {
      int64_t inside = block.size == group ? group : 0;
      plan.sourceSteps.push_back(*source.step(block.dim, inside));
      plan.destinationSteps.push_back(*destination.step(block.dim, inside));
    }
  };

  for (unsigned dim = shape.size(); dim-- > 0;)
    if (source.isContiguous(dim) && destination.isContiguous(dim)) {
      choose(CopyForm::Rows, {{dim, lanes}});
      return plan;
    }
  for (unsigned dim = shape.size(); dim-- > 0;) {
    if (!source.isContiguous(dim))
      continue;
    for (unsigned other = 0; other < shape.size(); ++other) {
      if (other == dim)
        continue;
      // A group: the rows of a group are neighbours in the destination, and whole groups lie along `dim`.
      for (int64_t group : {2, 4, 8})
        if (lanes >= 2 * group && destinationType.getRank() >= 2 && destination.isContiguous(other, group) &&
            source.step(other) && source.step(other, group)) {
          std::optional<Offsets> along = destination.step(dim);
          auto [strides, base] = destinationType.getStridesAndOffset();
          int64_t distance = 0;
          for (auto [offset, stride] : llvm::zip(along.value_or(Offsets()), strides))
            if (offset != 0)
              distance = ShapedType::isDynamic(stride) ? -1 : distance + offset * stride;
          if (distance == group) {
            choose(CopyForm::Groups, {{other, group}, {dim, lanes / group}}, group);
            return plan;
          }
        }
      if ((elementBytes == 4 || elementBytes == 8) && destination.isContiguous(other) && destination.step(dim) &&
          source.step(other) && vectorBytes >= 16 && vectorBytes <= 64) {
        choose(CopyForm::Transposed, {{other, lanes}, {dim, lanes}});
        return plan;
      }
    }
  }
  return plan;
}

//===-- Blocks ------------------------------------------------------------===//

namespace {
/// Emits the blocks of one copy.
class BlockEmitter {
public:
  BlockEmitter(tile::CopyOp op, const CopyPlan &plan) : op(op), plan(plan), loc(op.getLoc()) {}

  /// Walks block dimension `level` at `point`: a loop over whole blocks and the rest after it.
  void walk(OpBuilder &builder, SmallVector<Value> point, SmallVector<int64_t> counts, unsigned level) {
    if (level == plan.blocks.size())
      return emit(builder, point, counts);
    auto [dim, size] = plan.blocks[level];
    int64_t whole = op.getShape()[dim] / size, rest = op.getShape()[dim] % size;
    counts.push_back(size);
    if (whole == 1) {
      point[dim] = arith::ConstantIndexOp::create(builder, loc, 0);
      walk(builder, point, counts, level + 1);
    } else if (whole > 1) {
      OpFoldResult extent = builder.getIndexAttr(whole);
      buildLoops(builder, loc, {extent}, [&, dim = dim, size = size](OpBuilder &inner, ValueRange block) {
        Value scale = arith::ConstantIndexOp::create(inner, loc, size);
        point[dim] = arith::MulIOp::create(inner, loc, block.front(), scale);
        walk(inner, point, counts, level + 1);
      });
    }
    if (rest) {
      point[dim] = arith::ConstantIndexOp::create(builder, loc, whole * size);
      counts.back() = rest;
      walk(builder, point, counts, level + 1);
    }
  }

private:
  /// (r, c) -> r * rowStep + c * colStep.
  AffineMap elementsOf(ArrayRef<int64_t> rowStep, ArrayRef<int64_t> colStep, int64_t rank) {
    MLIRContext *context = op.getContext();
    AffineExpr r = getAffineDimExpr(0, context), c = getAffineDimExpr(1, context);
    SmallVector<AffineExpr> results;
    for (int64_t i = 0; i < rank; ++i)
      results.push_back(r * (rowStep.empty() ? 0 : rowStep[i]) + c * colStep[i]);
    return AffineMap::get(2, 0, results, context);
  }

  /// Reads a rows x cols fragment whose first element is box point `point`; at most `counts` of it lie in the box.
  Value load(OpBuilder &builder, tile::FragmentType type, ArrayRef<Value> point, ArrayRef<int64_t> counts,
             ArrayRef<unsigned> dims, AffineMap elements) {
    MLIRContext *context = builder.getContext();
    int64_t rank = cast<MemRefType>(op.getSource().getType()).getRank();
    SmallVector<Value> base =
        subscriptsAt(builder, loc, op.getSourceMap(), op.getSourceOperands(), op.getSourceElements(), point);
    auto identity = AffineMap::getMultiDimIdentityMap(rank, context);
    auto constant = [&](int64_t value) { return getAffineConstantExpr(value, context); };
    auto limited = [&](ArrayRef<AffineExpr> extents, ValueRange operands) {
      auto map = AffineMap::get(0, operands.size(), extents, context);
      auto read = tile::LoadOp::create(builder, loc, type, op.getSource(), identity, base, elements, map, operands);
      SharedValues own;
      Value value = lowerLoad(builder, read, own, plans);
      read.erase();
      return value;
    };
    if (!op.getValidMap())
      return limited({constant(counts[0]), constant(counts[1])}, {});
    // What is left of `valid` from this point on; nothing where another dimension is outside.
    auto extents = affine::expandAffineMap(builder, loc, *op.getValidMap(), op.getValidOperands());
    SmallVector<Value> left;
    for (auto [extent, index] : llvm::zip(*extents, point))
      left.push_back(arith::SubIOp::create(builder, loc, extent, index));
    SmallVector<Value> sizes;
    for (auto [slot, dim] : llvm::enumerate(dims)) {
      Value count = arith::ConstantIndexOp::create(builder, loc, counts[slot]);
      sizes.push_back(dim == ~0u ? count : arith::MinSIOp::create(builder, loc, left[dim], count).getResult());
    }
    for (unsigned dim = 0; dim < point.size(); ++dim) {
      if (llvm::is_contained(dims, dim))
        continue;
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, left[dim], zero);
      sizes[0] = arith::SelectOp::create(builder, loc, inside, sizes[0], zero);
    }
    return limited({getAffineSymbolExpr(0, context), getAffineSymbolExpr(1, context)}, sizes);
  }

  void store(OpBuilder &builder, tile::FragmentType type, Value value, ArrayRef<Value> point, ArrayRef<int64_t> counts,
             AffineMap elements) {
    MLIRContext *context = builder.getContext();
    int64_t rank = cast<MemRefType>(op.getDestination().getType()).getRank();
    SmallVector<Value> base = subscriptsAt(builder, loc, op.getDestinationMap(), op.getDestinationOperands(),
                                           op.getDestinationElements(), point);
    auto valid = AffineMap::get(
        0, 0, {getAffineConstantExpr(counts[0], context), getAffineConstantExpr(counts[1], context)}, context);
    auto cast = UnrealizedConversionCastOp::create(builder, loc, type, value);
    auto write = tile::StoreOp::create(builder, loc, cast.getResult(0), op.getDestination(),
                                       AffineMap::getMultiDimIdentityMap(rank, context), base, elements, valid);
    SharedValues own;
    lowerStore(builder, write, value, own, plans);
    write.erase();
    cast.erase();
  }

  void emit(OpBuilder &builder, SmallVector<Value> point, ArrayRef<int64_t> counts) {
    Type element = elementOf(op.getSource());
    int64_t sourceRank = mlir::cast<MemRefType>(op.getSource().getType()).getRank();
    int64_t destinationRank = mlir::cast<MemRefType>(op.getDestination().getType()).getRank();
    if (plan.form == CopyForm::Rows) {
      auto type = tile::FragmentType::get(1, plan.blocks[0].size, element, rowMajorLayout(1, plan.blocks[0].size));
      Value value = load(builder, type, point, {1, counts[0]}, {~0u, plan.blocks[0].dim},
                         elementsOf({}, plan.sourceSteps[0], sourceRank));
      return store(builder, type, value, point, {1, counts[0]},
                   elementsOf({}, plan.destinationSteps[0], destinationRank));
    }
    int64_t rows = plan.blocks[0].size, cols = plan.blocks[1].size;
    unsigned rowDim = plan.blocks[0].dim, colDim = plan.blocks[1].dim;
    if (plan.form == CopyForm::Groups) {
      auto type = tile::FragmentType::get(rows, cols, element, columnMajorLayout(rows, cols));
      Value value = load(builder, type, point, counts, {rowDim, colDim},
                         elementsOf(plan.sourceSteps[0], plan.sourceSteps[1], sourceRank));
      return store(builder, type, value, point, counts,
                   elementsOf(plan.destinationSteps[0], plan.destinationSteps[1], destinationRank));
    }
    // Square blocks: a vector per row of the source, transposed, a vector per row of the destination.
    auto type = tile::FragmentType::get(1, cols, element, rowMajorLayout(1, cols));
    auto shifted = [&](unsigned dim, int64_t by) {
      SmallVector<Value> moved = point;
      Value offset = arith::ConstantIndexOp::create(builder, loc, by);
      moved[dim] = arith::AddIOp::create(builder, loc, point[dim], offset);
      return moved;
    };
    SmallVector<Value> vectors;
    for (int64_t row = 0; row < rows; ++row)
      vectors.push_back(row < counts[0]
                            ? load(builder, type, shifted(rowDim, row), {1, counts[1]}, {~0u, colDim},
                                   elementsOf({}, plan.sourceSteps[1], sourceRank))
                            : arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorTypeOf(type))));
    vectors = transposeSquare(builder, loc, vectors);
    for (int64_t col = 0; col < counts[1]; ++col)
      store(builder, type, vectors[col], shifted(colDim, col), {1, counts[0]},
            elementsOf({}, plan.destinationSteps[0], destinationRank));
  }

  AccessPlans plans;
  tile::CopyOp op;
  const CopyPlan &plan;
  Location loc;
};
} // namespace

void tilewright::emitCopyAsVectors(OpBuilder &builder, tile::CopyOp op, int64_t vectorBytes) {
  CopyPlan plan = planCopy(op, vectorBytes);
  if (plan.form == CopyForm::Scalars || op.getClipped() || !op.getBounded().empty())
    return emitCopyAsLoops(builder, op);
  SmallVector<OpFoldResult> extents;
  SmallVector<unsigned> loopDims;
  for (unsigned dim = 0; dim < op.getShape().size(); ++dim)
    if (llvm::none_of(plan.blocks, [&](const BlockDim &block) { return block.dim == dim; })) {
      loopDims.push_back(dim);
      extents.push_back(builder.getIndexAttr(op.getShape()[dim]));
    }
  buildLoops(builder, op.getLoc(), extents, [&](OpBuilder &inner, ValueRange indices) {
    SmallVector<Value> point(op.getShape().size());
    for (auto [dim, index] : llvm::zip(loopDims, indices))
      point[dim] = index;
    BlockEmitter(op, plan).walk(inner, point, {}, 0);
  });
}
