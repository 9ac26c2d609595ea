//===- DecomposeStructuredOps.cpp - Everything becomes linalg.generic ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rewrites aggregate linalg operations and tensor operations that compute to
/// linalg.generic, fills and slice insertions, so that later passes know one
/// form of computation on tensors.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/Decompositions.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tilewright {
#define GEN_PASS_DEF_DECOMPOSESTRUCTUREDOPS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using tilewright::buildMap;

namespace {

/// Softmax and other operations that know how to decompose themselves.
struct DecomposeAggregate : OpInterfaceRewritePattern<linalg::AggregatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::AggregatedOpInterface op, PatternRewriter &rewriter) const override {
    if (isa<linalg::LinalgOp>(op.getOperation()) && isa<linalg::GenericOp>(op.getOperation()))
      return failure();
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return failure();
    rewriter.replaceOp(op, *values);
    return success();
  }
};

/// splat = fill of an empty tensor.
struct LowerSplat : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::SplatOp op, PatternRewriter &b) const override {
    auto type = cast<RankedTensorType>(op.getType());
    Value empty = tensor::EmptyOp::create(b, op.getLoc(), type.getShape(), type.getElementType(), op.getDynamicSizes());
    b.replaceOpWithNewOp<linalg::FillOp>(op, op.getInput(), empty);
    return success();
  }
};

/// bitcast = a generic that reinterprets each element.
struct LowerBitcast : OpRewritePattern<tensor::BitcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::BitcastOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || !arith::BitcastOp::areCastCompatible(cast<ShapedType>(op.getSource().getType()).getElementType(),
                                                      type.getElementType()))
      return failure();
    Value empty = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, op.getSource()), type.getElementType());
    AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
    auto generic =
        buildMap(b, loc, op.getSource(), identity, empty, [&](OpBuilder &nested, Location l, ValueRange args) {
          linalg::YieldOp::create(nested, l,
                                  Value(arith::BitcastOp::create(nested, l, type.getElementType(), args[0])));
        });
    b.replaceOp(op, generic.getResults());
    return success();
  }
};

/// gather = a generic over the result whose body reads coordinates and then the source.
struct LowerGather : OpRewritePattern<tensor::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::GatherOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    int64_t leading = op.getIndicesType().getRank() - 1, sourceRank = op.getSourceType().getRank();
    bool reduced = type.getRank() != leading + sourceRank;
    llvm::SmallDenseMap<int64_t, int64_t> coordinate; // source dim -> position in the last dimension of the indices
    for (auto [position, dim] : llvm::enumerate(op.getGatherDims()))
      coordinate[dim] = position;
    // Result dimension that carries source dimension `dim`; gathered ones have size 1 or are absent.
    SmallVector<int64_t> resultDim(sourceRank, -1);
    for (int64_t dim = 0, next = leading; dim < sourceRank; ++dim)
      if (!reduced || !coordinate.contains(dim))
        resultDim[dim] = next++;
    SmallVector<Value> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      if (dim < leading) {
        sizes.push_back(tensor::DimOp::create(b, loc, op.getIndices(), dim));
        continue;
      }
      int64_t from = std::distance(resultDim.begin(), llvm::find(resultDim, dim));
      sizes.push_back(coordinate.contains(from) ? Value(arith::ConstantIndexOp::create(b, loc, 1))
                                                : Value(tensor::DimOp::create(b, loc, op.getSource(), from)));
    }
    Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType(), sizes);
    auto generic = buildMap(b, loc, {}, {}, empty, [&](OpBuilder &nested, Location l, ValueRange) {
      SmallVector<Value> at, from;
      for (int64_t dim = 0; dim < leading; ++dim)
        at.push_back(linalg::IndexOp::create(nested, l, dim));
      for (int64_t dim = 0; dim < sourceRank; ++dim) {
        if (!coordinate.contains(dim)) {
          from.push_back(linalg::IndexOp::create(nested, l, resultDim[dim]));
          continue;
        }
        SmallVector<Value> full(at);
        full.push_back(arith::ConstantIndexOp::create(nested, l, coordinate[dim]));
        Value index = tensor::ExtractOp::create(nested, l, op.getIndices(), full);
        if (!index.getType().isIndex())
          index = arith::IndexCastOp::create(nested, l, nested.getIndexType(), index);
        from.push_back(index);
      }
      linalg::YieldOp::create(nested, l, Value(tensor::ExtractOp::create(nested, l, op.getSource(), from)));
    });
    b.replaceOp(op, generic.getResults());
    return success();
  }
};

/// tensor.generate = a generic without inputs whose body asks for its indices.
struct LowerGenerate : OpRewritePattern<tensor::GenerateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::GenerateOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType(), op.getDynamicExtents());
    auto generic = buildMap(b, loc, {}, {}, empty, [&](OpBuilder &nested, Location l, ValueRange) {
      IRMapping mapping;
      Block &body = op.getBody().front();
      for (auto [dim, argument] : llvm::enumerate(body.getArguments()))
        mapping.map(argument, Value(linalg::IndexOp::create(nested, l, dim)));
      for (Operation &inner : body.without_terminator())
        nested.clone(inner, mapping);
      Value yielded = cast<tensor::YieldOp>(body.getTerminator()).getValue();
      linalg::YieldOp::create(nested, l, mapping.lookupOrDefault(yielded));
    });
    b.replaceOp(op, generic.getResults());
    return success();
  }
};

/// pad = fill or index-dependent generic of the whole result, then the source inserted.
struct LowerPad : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::PadOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = op.getResultType();
    SmallVector<OpFoldResult> low = op.getMixedLowPad(), high = op.getMixedHighPad();
    SmallVector<OpFoldResult> sourceSizes = tensor::getMixedSizes(b, loc, op.getSource());
    SmallVector<Value> sizes;
    AffineExpr l, s, h;
    bindSymbols(b.getContext(), l, s, h);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(getValueOrCreateConstantIndexOp(
            b, loc, affine::makeComposedFoldedAffineApply(b, loc, l + s + h, {low[dim], sourceSizes[dim], high[dim]})));
    Value whole;
    if (Value constant = op.getConstantPaddingValue()) {
      Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType(), sizes);
      whole = linalg::FillOp::create(b, loc, constant, empty).getResult(0);
    } else {
      auto generate = tensor::GenerateOp::create(b, loc, type, sizes);
      b.inlineRegionBefore(op.getRegion(), generate.getBody(), generate.getBody().begin());
      whole = generate;
    }
    SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
    b.replaceOpWithNewOp<tensor::InsertSliceOp>(op, op.getSource(), whole, low, sourceSizes, strides);
    return success();
  }
};

/// concat = its inputs inserted one after the other. Beside the dimension that grows, the slices have the sizes of the
/// first input (constants where any input has them), not of their own source: an insertion takes its source to be of
/// the slice's size, and what an operation takes to be equal is compared.
struct LowerConcat : OpRewritePattern<tensor::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ConcatOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto dim = int64_t(op.getDim());
    RankedTensorType whole = tensor::ConcatOp::inferResultType(dim, op->getOperandTypes());
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, op.getInputs().front());
    for (int64_t d = 0; d < whole.getRank(); ++d)
      if (d != dim && !whole.isDynamicDim(d))
        sizes[d] = b.getIndexAttr(whole.getDimSize(d));
    AffineExpr x, y;
    bindSymbols(b.getContext(), x, y);
    SmallVector<OpFoldResult> extents, ends{b.getIndexAttr(0)}; // along `dim`; where the next input begins
    for (Value input : op.getInputs()) {
      extents.push_back(tensor::getMixedSize(b, loc, input, dim));
      ends.push_back(affine::makeComposedFoldedAffineApply(b, loc, x + y, {ends.back(), extents.back()}));
    }
    SmallVector<OpFoldResult> wholeSizes(sizes);
    wholeSizes[dim] = whole.isDynamicDim(dim) ? ends.back() : OpFoldResult(b.getIndexAttr(whole.getDimSize(dim)));
    Value result = tensor::EmptyOp::create(b, loc, wholeSizes, whole.getElementType());
    SmallVector<OpFoldResult> offsets(whole.getRank(), b.getIndexAttr(0)), strides(whole.getRank(), b.getIndexAttr(1));
    for (auto [input, begin, extent] : llvm::zip(op.getInputs(), ends, extents)) {
      offsets[dim] = begin;
      sizes[dim] = extent;
      SmallVector<int64_t> shape;
      for (OpFoldResult size : sizes)
        shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
      auto type = RankedTensorType::get(shape, whole.getElementType());
      Value slice = type == input.getType() ? input : Value(tensor::CastOp::create(b, loc, type, input));
      result = tensor::InsertSliceOp::create(b, loc, slice, result, offsets, sizes, strides);
    }
    if (result.getType() != op.getType())
      result = tensor::CastOp::create(b, loc, op.getType(), result);
    b.replaceOp(op, result);
    return success();
  }
};

/// Whether `a` and `b` provably have the same sizes.
bool sameSizes(Value a, Value b) {
  auto type = cast<RankedTensorType>(a.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim)) {
      FailureOr<bool> equal = ValueBoundsConstraintSet::areEqual({a, dim}, {b, dim});
      if (failed(equal) || !*equal)
        return false;
    }
  return true;
}

/// Selections of one of two tensors, which canonicalization makes of branches without work. Their sizes may differ as
/// the sides of a branch may: an element-wise operation would take them to be equal.
void keepSelections(func::FuncOp function) {
  SmallVector<arith::SelectOp> selections;
  function.walk([&](arith::SelectOp op) {
    if (isa<RankedTensorType>(op.getType()) && op.getCondition().getType().isInteger(1) &&
        !sameSizes(op.getTrueValue(), op.getFalseValue()))
      selections.push_back(op);
  });
  for (arith::SelectOp op : selections) {
    OpBuilder b(op);
    auto yield = [](Value value) {
      return [value](OpBuilder &inner, Location loc) { scf::YieldOp::create(inner, loc, value); };
    };
    auto branch =
        scf::IfOp::create(b, op.getLoc(), op.getCondition(), yield(op.getTrueValue()), yield(op.getFalseValue()));
    op.replaceAllUsesWith(branch.getResult(0));
    op.erase();
  }
}

struct DecomposeStructuredOps : tilewright::impl::DecomposeStructuredOpsBase<DecomposeStructuredOps> {
  void runOnOperation() override {
    keepSelections(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeAggregate, LowerSplat, LowerBitcast, LowerGather, LowerGenerate, LowerPad, LowerConcat>(
        &getContext());
    tilewright::populateRelayoutPatterns(patterns);
    tilewright::populateScalarPatterns(patterns);
    linalg::populateDecomposeWinogradOpsPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    bool failedHere = false;
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
      failedHere |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // let it pass on
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))) || failedHere)
      signalPassFailure();
  }
};

} // namespace
