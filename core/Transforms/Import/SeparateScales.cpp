//===- SeparateScales.cpp - Scaled operands as arrays of their own --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One form for products of block-scaled operands, whatever they were written
/// as:
///
///   W[i, k] = ext A[i, k] * ext S[i, k floordiv 32]      one generic for each scaled operand
///   C[i, j] += W[i, k] * V[j, k]                         a contraction like any other
///
/// TOSA's operations on block-scaled tensors become this form; a generic whose
/// factors are products of an operand and its scale is taken apart.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/Decompositions.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tilewright {
#define GEN_PASS_DEF_SEPARATESCALES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// `value`, a float, as `type`.
Value convert(OpBuilder &b, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  return from < to ? arith::ExtFOp::create(b, loc, type, value).getResult()
                   : arith::TruncFOp::create(b, loc, type, value).getResult();
}

/// A tensor of the sizes of `like` with elements of `type`.
Value emptyLike(OpBuilder &b, Location loc, Value like, Type type) {
  return tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like), type);
}

/// data[.., c] * scale[.., c floordiv block], computed in f32, as elements of
/// `type`.
Value applyScales(OpBuilder &b, Location loc, Value data, Value scale, int64_t block, Type type) {
  const unsigned rank = cast<RankedTensorType>(data.getType()).getRank();
  AffineMap all = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineExpr> coarse(all.getResults());
  coarse.back() = coarse.back().floorDiv(block);
  auto map = tilewright::buildMap(b, loc, {data, scale}, {all, AffineMap::get(rank, 0, coarse, b.getContext())},
                                  emptyLike(b, loc, data, type), [&](OpBuilder &nested, Location at, ValueRange args) {
                                    Type f32 = nested.getF32Type();
                                    Value product = arith::MulFOp::create(nested, at, convert(nested, at, args[0], f32),
                                                                          convert(nested, at, args[1], f32));
                                    linalg::YieldOp::create(nested, at, convert(nested, at, product, type));
                                  });
  return map.getResult(0);
}

/// data * scale, in the type of the result.
struct LowerCast : OpRewritePattern<tosa::CastFromBlockScaledOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tosa::CastFromBlockScaledOp op, PatternRewriter &b) const override {
    auto type = cast<RankedTensorType>(op.getType());
    Value result = applyScales(b, op.getLoc(), op.getInputData(), op.getInputScale(), int64_t(op.getBlockSize()),
                               type.getElementType());
    b.replaceOp(op, result.getType() == type ? result : tensor::CastOp::create(b, op.getLoc(), type, result));
    return success();
  }
};

/// The sums over the last dimension of both scaled operands; one B may serve
/// all of a batch.
struct LowerMatmul : OpRewritePattern<tosa::MatmulTBlockScaledOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tosa::MatmulTBlockScaledOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    auto block = int64_t(op.getBlockSize());
    Type f32 = b.getF32Type();
    Value dataB = op.getBData(), scaleB = op.getBScale();
    const bool isShared = cast<RankedTensorType>(dataB.getType()).getDimSize(0) == 1;
    if (isShared)
      for (Value *value : {&dataB, &scaleB})
        *value = tensor::CollapseShapeOp::create(b, loc, *value, SmallVector<ReassociationIndices>{{0, 1}, {2}});
    Value left = applyScales(b, loc, op.getAData(), op.getAScale(), block, f32);
    Value right = applyScales(b, loc, dataB, scaleB, block, f32);
    SmallVector<OpFoldResult> sizes{tensor::getMixedSize(b, loc, left, 0), tensor::getMixedSize(b, loc, left, 1),
                                    tensor::getMixedSize(b, loc, right, isShared ? 0 : 1)};
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value sums = linalg::FillOp::create(b, loc, zero, Value(tensor::EmptyOp::create(b, loc, sizes, f32))).getResult(0);
    AffineExpr n, h, w, k;
    bindDims(b.getContext(), n, h, w, k);
    SmallVector<AffineExpr> ofB{n, w, k};
    auto map = [&](ArrayRef<AffineExpr> results) { return AffineMap::get(4, 0, results, b.getContext()); };
    SmallVector<AffineMap> maps{map({n, h, k}), map(ArrayRef(ofB).drop_front(isShared)), map({n, h, w})};
    using utils::IteratorType;
    SmallVector<IteratorType> loops(3, IteratorType::parallel);
    loops.push_back(IteratorType::reduction);
    auto product = linalg::GenericOp::create(
        b, loc, sums.getType(), ValueRange{left, right}, sums, maps, loops,
        [](OpBuilder &nested, Location at, ValueRange args) {
          Value each = arith::MulFOp::create(nested, at, args[0], args[1]);
          linalg::YieldOp::create(nested, at, arith::AddFOp::create(nested, at, args[2], each).getResult());
        });
    Value result = product.getResult(0);
    if (type.getElementType() != f32) {
      AffineMap all = b.getMultiDimIdentityMap(3);
      result = tilewright::buildMap(b, loc, result, all, emptyLike(b, loc, result, type.getElementType()),
                                    [&](OpBuilder &nested, Location at, ValueRange args) {
                                      linalg::YieldOp::create(nested, at,
                                                              convert(nested, at, args[0], type.getElementType()));
                                    })
                   .getResult(0);
    }
    b.replaceOp(op, result.getType() == type ? result : tensor::CastOp::create(b, loc, type, result));
    return success();
  }
};

/// A factor of a sum's product that is an operand times its scale.
struct ScaledFactor {
  Operation *product; // an arith.mulf
  OpOperand *data, *scale;
};

/// The input that `value` is, or was before it was converted for this use
/// alone.
OpOperand *inputOf(linalg::GenericOp op, Value value) {
  if (Operation *cast = value.getDefiningOp(); cast && isa<arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp>(cast)) {
    if (!cast->hasOneUse())
      return nullptr;
    value = cast->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBody() || !argument.hasOneUse())
    return nullptr;
  OpOperand *input = op.getMatchingOpOperand(argument);
  return op.isDpsInput(input) ? input : nullptr;
}

llvm::SmallBitVector dimsOf(AffineMap map) {
  llvm::SmallBitVector dims(map.getNumDims());
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    if (map.isFunctionOfDim(dim))
      dims.set(dim);
  return dims;
}

/// Recognises `factor`: the data is read through a projection, its scale by
/// fewer of the loops or at steps of one, and the product is used in several
/// sums.
std::optional<ScaledFactor> scaledFactor(linalg::GenericOp op, Value factor) {
  auto product = factor.getDefiningOp<arith::MulFOp>();
  if (!product || !product->hasOneUse())
    return std::nullopt;
  OpOperand *data = inputOf(op, product.getLhs()), *scale = inputOf(op, product.getRhs());
  if (!data || !scale)
    return std::nullopt;
  auto isScaleOf = [&](OpOperand *small, OpOperand *large) {
    AffineMap map = op.getMatchingIndexingMap(large), coarse = op.getMatchingIndexingMap(small);
    llvm::SmallBitVector all = dimsOf(map), some = dimsOf(coarse);
    const bool isSmaller = !coarse.isProjectedPermutation() || some != all;
    return map.isProjectedPermutation() && !some.test(all) && isSmaller;
  };
  if (!isScaleOf(scale, data))
    std::swap(data, scale);
  if (!isScaleOf(scale, data))
    return std::nullopt;
  llvm::SmallBitVector rest = dimsOf(op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
  if (!rest.test(dimsOf(op.getMatchingIndexingMap(data))))
    return std::nullopt; // each product is in one sum: an array of them would
                         // only cost
  return ScaledFactor{product, data, scale};
}

/// Takes a sum of products of scaled operands apart.
struct SeparateFactors : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &b) const override {
    if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 || !op.hasPureTensorSemantics())
      return failure();
    auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
    if (!sum)
      return failure();
    SmallVector<ScaledFactor> scaled;
    for (Value side : sum->getOperands())
      if (auto product = side.getDefiningOp<arith::MulFOp>(); product && product->hasOneUse())
        for (Value factor : product->getOperands())
          if (auto found = scaledFactor(op, factor))
            scaled.push_back(*found);
    if (scaled.empty())
      return failure();

    Location loc = op.getLoc();
    llvm::SmallDenseMap<OpOperand *, Value> products; // by the data that they replace
    llvm::SmallPtrSet<OpOperand *, 4> scales;
    for (const ScaledFactor &factor : scaled) {
      products[factor.data] = multiply(b, op, factor);
      scales.insert(factor.scale);
    }
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (OpOperand *input : op.getDpsInputOperands())
      if (!scales.contains(input)) {
        auto found = products.find(input);
        inputs.push_back(found == products.end() ? input->get() : found->second);
        maps.push_back(op.getMatchingIndexingMap(input));
      }
    maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
    auto body = [&](OpBuilder &nested, Location, ValueRange args) {
      IRMapping mapping;
      llvm::SmallPtrSet<Operation *, 8> replaced;
      for (const ScaledFactor &factor : scaled)
        replaced.insert(factor.product);
      unsigned next = 0;
      for (OpOperand &operand : op->getOpOperands()) {
        if (scales.contains(&operand))
          continue;
        Value argument = args[next++];
        if (!products.count(&operand))
          mapping.map(op.getMatchingBlockArgument(&operand), argument);
        for (const ScaledFactor &factor : scaled)
          if (factor.data == &operand)
            mapping.map(factor.product->getResult(0), argument);
      }
      for (Operation &each : *op.getBody())
        if (!replaced.contains(&each) && !isOnlyIn(&each, replaced))
          nested.clone(each, mapping);
    };
    auto rest = linalg::GenericOp::create(b, loc, op.getResultTypes(), inputs, op.getDpsInits(), maps,
                                          op.getIteratorTypesArray(), body);
    b.replaceOp(op, rest.getResults());
    return success();
  }

private:
  /// Whether `op` converts an operand of one of the products, and nothing else.
  static bool isOnlyIn(Operation *op, const llvm::SmallPtrSetImpl<Operation *> &products) {
    return op->hasOneUse() && products.contains(*op->user_begin());
  }

  /// The products of one factor, an array like its data.
  static Value multiply(OpBuilder &b, linalg::GenericOp op, const ScaledFactor &factor) {
    AffineMap map = op.getMatchingIndexingMap(factor.data), coarse = op.getMatchingIndexingMap(factor.scale);
    const unsigned rank = map.getNumResults();
    SmallVector<AffineExpr> own(map.getNumDims(), b.getAffineConstantExpr(0));
    for (auto [position, result] : llvm::enumerate(map.getResults()))
      own[cast<AffineDimExpr>(result).getPosition()] = b.getAffineDimExpr(position);
    AffineMap ofScale = coarse.replaceDimsAndSymbols(own, {}, rank, 0);
    Value init = emptyLike(b, op.getLoc(), factor.data->get(), factor.product->getResult(0).getType());
    auto products = tilewright::buildMap(
        b, op.getLoc(), {factor.data->get(), factor.scale->get()}, {b.getMultiDimIdentityMap(rank), ofScale}, init,
        [&](OpBuilder &nested, Location at, ValueRange args) {
          IRMapping mapping;
          mapping.map(op.getMatchingBlockArgument(factor.data), args[0]);
          mapping.map(op.getMatchingBlockArgument(factor.scale), args[1]);
          for (Value operand : factor.product->getOperands())
            if (Operation *conversion = operand.getDefiningOp())
              nested.clone(*conversion, mapping);
          linalg::YieldOp::create(nested, at, nested.clone(*factor.product, mapping)->getResults());
        });
    return products.getResult(0);
  }
};

struct SeparateScales : tilewright::impl::SeparateScalesBase<SeparateScales> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerCast, LowerMatmul, SeparateFactors>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
