//===- DecomposeRelayout.cpp - pack and unpack -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Part of decompose-structured-ops: linalg.pack and linalg.unpack as
/// permutations. Tile sizes that are constants stand in the access maps; others
/// become reshapes.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/Decompositions.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using tilewright::buildMap;

linalg::GenericOp tilewright::buildMap(OpBuilder &b, Location loc, ValueRange inputs, ArrayRef<AffineMap> maps,
                                       Value init, BodyBuilder body) {
  auto type = cast<RankedTensorType>(init.getType());
  SmallVector<AffineMap> all(maps);
  all.push_back(b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, TypeRange{type}, inputs, ValueRange{init}, all, iterators, body);
}

namespace {

/// The permutation of the outer dimensions of a pack or unpack, written out.
template <typename RelayoutOp> SmallVector<int64_t> outerPermutation(RelayoutOp op, int64_t rank) {
  SmallVector<int64_t> permutation = llvm::to_vector(op.getOuterDimsPerm());
  if (permutation.empty())
    permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  return permutation;
}

/// The split form of a pack's source and an unpack's result: dimension d of the plain tensor becomes d, or (outer,
/// tile) where it is tiled. Access maps cannot multiply by a size that is not known, reshapes can.
///
///   plain  [n, m]     tiled: m by t
///   split  [n, m / t, t]            `groups` = {0}, {1, 2}
///   packed [m / t, n, t]            `packed` maps its dimensions to those of the split form
struct SplitForm {
  template <typename RelayoutOp> SplitForm(RelayoutOp op, int64_t rank) {
    SmallVector<int64_t> outer(rank), inner(op.getInnerDimsPos().size());
    for (int64_t dim = 0, next = 0; dim < rank; ++dim) {
      groups.push_back({next});
      outer[dim] = next++;
      for (auto [position, tiled] : llvm::enumerate(op.getInnerDimsPos()))
        if (tiled == dim) {
          groups.back().push_back(next);
          inner[position] = next++;
        }
    }
    for (int64_t dim : outerPermutation(op, rank))
      packed.push_back(outer[dim]);
    packed.append(inner);
  }
  /// Of a map over the packed dimensions: the element of the split form.
  AffineMap map(MLIRContext *context) const {
    SmallVector<AffineExpr> exprs(packed.size());
    for (auto [position, dim] : llvm::enumerate(packed))
      exprs[dim] = getAffineDimExpr(position, context);
    return AffineMap::get(packed.size(), 0, exprs, context);
  }
  /// `values`, one for each packed dimension, in the order of the split form.
  template <typename T> SmallVector<T> split(ArrayRef<T> values) const {
    SmallVector<T> result(values.size());
    for (auto [position, dim] : llvm::enumerate(packed))
      result[dim] = values[position];
    return result;
  }

  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> packed;
};

void yieldFirst(OpBuilder &b, Location loc, ValueRange args) { linalg::YieldOp::create(b, loc, args[0]); }

/// pack with a tile size that is not known: pad to whole tiles, split the tiled dimensions by a reshape, permute.
struct LowerDynamicPack : OpRewritePattern<linalg::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::PackOp op, PatternRewriter &b) const override {
    if (!llvm::any_of(op.getStaticTiles(), ShapedType::isDynamic))
      return failure();
    Location loc = op.getLoc();
    int64_t rank = op.getSourceType().getRank();
    SmallVector<OpFoldResult> plain = tensor::getMixedSizes(b, loc, op.getSource());
    SmallVector<OpFoldResult> packedSizes = tensor::getMixedSizes(b, loc, op.getDest());
    SmallVector<OpFoldResult> tiles = op.getMixedTiles();
    SmallVector<int64_t> permutation = outerPermutation(op, rank);
    for (auto [position, tile] : llvm::enumerate(tiles))
      packedSizes[rank + position] = tile;
    // Whole tiles: what the destination has of them, by which the padding follows.
    SmallVector<OpFoldResult> whole(plain), low(rank, b.getIndexAttr(0)), high(rank, b.getIndexAttr(0));
    SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
    auto constant = [&](OpFoldResult value) { return getValueOrCreateConstantIndexOp(b, loc, value); };
    for (auto [position, dim] : llvm::enumerate(op.getInnerDimsPos())) {
      int64_t outer = std::distance(permutation.begin(), llvm::find(permutation, dim));
      Value size = arith::MulIOp::create(b, loc, constant(packedSizes[outer]), constant(tiles[position])).getResult();
      whole[dim] = size;
      high[dim] = arith::SubIOp::create(b, loc, size, constant(plain[dim])).getResult();
    }
    auto wholeType = RankedTensorType::get(shape, op.getSourceType().getElementType());
    Value source = op.getSource();
    if (Value padding = op.getPaddingValue())
      source = tensor::PadOp::create(b, loc, wholeType, source, low, high, padding);
    else if (source.getType() != wholeType)
      source = tensor::CastOp::create(b, loc, wholeType, source);
    SplitForm form(op, rank);
    SmallVector<int64_t> splitShape(form.packed.size(), ShapedType::kDynamic);
    SmallVector<OpFoldResult> sizes = form.split<OpFoldResult>(packedSizes);
    for (auto [dim, size] : llvm::enumerate(sizes)) // a constant in a size must also stand in the type
      if (std::optional<int64_t> known = getConstantIntValue(size))
        splitShape[dim] = *known;
    // A dimension alone in its group keeps the type of the source, which is dynamic.
    for (const ReassociationIndices &group : form.groups)
      if (llvm::none_of(group, [&](int64_t dim) { return ShapedType::isDynamic(splitShape[dim]); }))
        for (int64_t dim : group) {
          splitShape[dim] = ShapedType::kDynamic;
          sizes[dim] = constant(sizes[dim]);
        }
    Value split = tensor::ExpandShapeOp::create(b, loc, RankedTensorType::get(splitShape, wholeType.getElementType()),
                                                source, form.groups, sizes);
    b.replaceOp(op, buildMap(b, loc, split, form.map(getContext()), op.getDest(), yieldFirst).getResults());
    return success();
  }
};

/// unpack with a tile size that is not known: permute, join the tiled dimensions by a reshape, cut to the result.
struct LowerDynamicUnPack : OpRewritePattern<linalg::UnPackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::UnPackOp op, PatternRewriter &b) const override {
    if (!llvm::any_of(op.getStaticTiles(), ShapedType::isDynamic))
      return failure();
    Location loc = op.getLoc();
    auto type = op.getDestType();
    SplitForm form(op, type.getRank());
    SmallVector<OpFoldResult> sizes = form.split<OpFoldResult>(tensor::getMixedSizes(b, loc, op.getSource()));
    Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
    auto split = buildMap(b, loc, op.getSource(), inversePermutation(form.map(getContext())), empty, yieldFirst);
    Value joined = tensor::CollapseShapeOp::create(b, loc, split.getResult(0), form.groups);
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1));
    Value cut = tensor::ExtractSliceOp::create(b, loc, type, joined, offsets,
                                               tensor::getMixedSizes(b, loc, op.getDest()), strides);
    auto identity = b.getMultiDimIdentityMap(type.getRank());
    b.replaceOp(op, buildMap(b, loc, cut, identity, op.getDest(), yieldFirst).getResults());
    return success();
  }
};

/// pack = pad to whole tiles, then a permutation with split dimensions:
///   result[o..., i...] = padded[o * tile + i]
struct LowerPack : OpRewritePattern<linalg::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::PackOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto sourceType = op.getSourceType();
    int64_t rank = sourceType.getRank();
    if (llvm::any_of(op.getStaticTiles(), ShapedType::isDynamic))
      return failure();
    SmallVector<int64_t> permutation = outerPermutation(op, rank);

    Value source = op.getSource();
    if (Value padding = op.getPaddingValue()) {
      SmallVector<OpFoldResult> low(rank, b.getIndexAttr(0)), high(rank, b.getIndexAttr(0));
      SmallVector<int64_t> shape(sourceType.getShape());
      for (auto [position, dim] : llvm::enumerate(op.getInnerDimsPos())) {
        int64_t tile = op.getStaticTiles()[position];
        AffineExpr size;
        bindSymbols(b.getContext(), size);
        high[dim] = affine::makeComposedFoldedAffineApply(b, loc, size.ceilDiv(tile) * tile - size,
                                                          {tensor::getMixedSize(b, loc, source, dim)});
        if (!ShapedType::isDynamic(shape[dim]))
          shape[dim] = llvm::divideCeil(shape[dim], tile) * tile;
      }
      source = tensor::PadOp::create(b, loc, RankedTensorType::get(shape, sourceType.getElementType()), source, low,
                                     high, padding);
    }
    SmallVector<AffineExpr> exprs(rank);
    for (auto [position, dim] : llvm::enumerate(permutation))
      exprs[dim] = b.getAffineDimExpr(position);
    for (auto [position, dim] : llvm::enumerate(op.getInnerDimsPos()))
      exprs[dim] = exprs[dim] * op.getStaticTiles()[position] + b.getAffineDimExpr(rank + position);
    auto map = AffineMap::get(op.getDestType().getRank(), 0, exprs, b.getContext());
    b.replaceOp(op, buildMap(b, loc, source, map, op.getDest(), yieldFirst).getResults());
    return success();
  }
};

/// unpack: result[d] = source[d floordiv tile ..., d mod tile ...]
struct LowerUnPack : OpRewritePattern<linalg::UnPackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::UnPackOp op, PatternRewriter &b) const override {
    int64_t rank = op.getDestType().getRank();
    if (llvm::any_of(op.getStaticTiles(), ShapedType::isDynamic))
      return failure();
    SmallVector<int64_t> permutation = outerPermutation(op, rank);
    SmallVector<AffineExpr> outer(rank), inner;
    for (int64_t dim = 0; dim < rank; ++dim)
      outer[dim] = b.getAffineDimExpr(dim);
    for (auto [position, dim] : llvm::enumerate(op.getInnerDimsPos())) {
      inner.push_back(outer[dim] % op.getStaticTiles()[position]);
      outer[dim] = outer[dim].floorDiv(op.getStaticTiles()[position]);
    }
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : permutation)
      exprs.push_back(outer[dim]);
    exprs.append(inner);
    auto map = AffineMap::get(rank, 0, exprs, b.getContext());
    b.replaceOp(op, buildMap(b, op.getLoc(), op.getSource(), map, op.getDest(), yieldFirst).getResults());
    return success();
  }
};

} // namespace

void tilewright::populateRelayoutPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerPack, LowerDynamicPack, LowerUnPack, LowerDynamicUnPack>(patterns.getContext());
}
