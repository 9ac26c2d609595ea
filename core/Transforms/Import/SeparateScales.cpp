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
/// factors are products of an operand and its scale is taken apart. A cast to
/// such a tensor becomes the reduction that its scales need, and two maps.
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
#include "llvm/ADT/APFloat.h"
#include <cmath>

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

/// Where the largest number of a block overflows: half a unit in the last place beyond the largest number of its type.
struct RoundsToLargest {
  explicit RoundsToLargest(const llvm::fltSemantics &type) {
    const llvm::APFloat largest = llvm::APFloat::getLargest(type);
    exponent = ilogb(largest);
    const double half = std::ldexp(1.0, exponent - int(llvm::APFloat::semanticsPrecision(type)));
    significand = std::ldexp(largest.convertToDouble() + half, -exponent);
    isIncluded = !largest.bitcastToAPInt()[0];
  }
  int exponent;
  double significand; // 1 to 2
  bool isIncluded;    // this number itself, a tie, is rounded to the largest one, whose code is even
};

/// A scale for each block of the last dimension, the least power of two by which no element of the block is rounded
/// beyond the largest number of the type, and the elements divided by it: TOSA 1.1. In bits of f32, m the largest
/// magnitude:
///
///   code = max(0, (bits(m) + carry) >> 23 - exponent), 255 (NaN) where m is no number
///
/// where `carry` reaches the exponent if m's significand is one that overflows.
struct LowerCastTo : OpRewritePattern<tosa::CastToBlockScaledOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tosa::CastToBlockScaledOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value data = op.getInputData();
    auto type = dyn_cast<RankedTensorType>(data.getType());
    auto dataType = dyn_cast<RankedTensorType>(op.getOutputData().getType());
    auto scaleType = dyn_cast<RankedTensorType>(op.getOutputScale().getType());
    if (!type || !dataType || !scaleType || !isa<Float32Type, Float16Type, BFloat16Type>(type.getElementType()))
      return b.notifyMatchFailure(op, "only arrays of f32, f16 and bf16 have scales");
    const auto block = int64_t(op.getBlockSize());
    const RoundsToLargest bound(cast<FloatType>(dataType.getElementType()).getFloatSemantics());
    Value codes = codesOf(b, loc, largestOfBlocks(b, loc, data, block), bound);
    Type f32 = b.getF32Type();
    const unsigned rank = type.getRank();
    AffineMap all = b.getMultiDimIdentityMap(rank);
    auto bitsToFloat = [&](OpBuilder &nested, Location at, Value bits) -> Value {
      return arith::BitcastOp::create(nested, at, f32, bits);
    };
    auto number = [&](OpBuilder &nested, Location at, int64_t value) -> Value {
      return arith::ConstantOp::create(nested, at, nested.getI32IntegerAttr(int32_t(value)));
    };
    // As the exponent of an f32: 0 is a zero, 255 an infinity there, which become 2^-127 and NaN.
    Value scales =
        tilewright::buildMap(
            b, loc, codes, all, emptyLike(b, loc, codes, scaleType.getElementType()),
            [&](OpBuilder &nested, Location at, ValueRange args) {
              Value bits = arith::ShLIOp::create(nested, at, args[0], number(nested, at, mantissaBits));
              linalg::YieldOp::create(nested, at,
                                      convert(nested, at, bitsToFloat(nested, at, bits), scaleType.getElementType()));
            })
            .getResult(0);
    SmallVector<AffineExpr> coarse(all.getResults());
    coarse.back() = coarse.back().floorDiv(block);
    Value elements =
        tilewright::buildMap(
            b, loc, {data, codes}, {all, AffineMap::get(rank, 0, coarse, b.getContext())},
            emptyLike(b, loc, data, dataType.getElementType()),
            [&](OpBuilder &nested, Location at, ValueRange args) {
              // 2^-(code - 127), whose exponent is from 1 to 254.
              Value exponent = arith::SubIOp::create(nested, at, number(nested, at, largestExponent), args[1]);
              Value bits = arith::ShLIOp::create(nested, at, exponent, number(nested, at, mantissaBits));
              Value isNone =
                  arith::CmpIOp::create(nested, at, arith::CmpIPredicate::eq, args[1], number(nested, at, noExponent));
              bits = arith::SelectOp::create(nested, at, isNone, number(nested, at, quietNaN), bits);
              Value product =
                  arith::MulFOp::create(nested, at, convert(nested, at, args[0], f32), bitsToFloat(nested, at, bits));
              linalg::YieldOp::create(nested, at, convert(nested, at, product, dataType.getElementType()));
            })
            .getResult(0);
    auto as = [&](Value value, RankedTensorType wanted) -> Value {
      return value.getType() == wanted ? value : tensor::CastOp::create(b, loc, wanted, value).getResult();
    };
    b.replaceOp(op, {as(elements, dataType), as(scales, scaleType)});
    return success();
  }

private:
  /// Of f32.
  static constexpr int64_t mantissaBits = 23, largestExponent = 254, noExponent = 255, infinity = 0x7f800000,
                           quietNaN = 0x7fc00000, magnitudeBits = 0x7fffffff;

  /// `value`, an f32, without its sign.
  static Value magnitude(OpBuilder &b, Location loc, Value value) {
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), value);
    Value mask = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(magnitudeBits));
    return arith::BitcastOp::create(b, loc, b.getF32Type(), arith::AndIOp::create(b, loc, bits, mask));
  }

  /// The largest magnitude of each block, as f32; NaN where one is.
  static Value largestOfBlocks(OpBuilder &b, Location loc, Value data, int64_t block) {
    auto type = cast<RankedTensorType>(data.getType());
    const unsigned rank = type.getRank();
    SmallVector<int64_t> shape(type.getShape());
    const int64_t length = shape.back();
    shape.back() = ShapedType::isDynamic(length) ? length : length / block;
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, data);
    if (auto value = dyn_cast<Value>(sizes.back()))
      sizes.back() = arith::DivUIOp::create(b, loc, value, arith::ConstantIndexOp::create(b, loc, block)).getResult();
    else
      sizes.back() = b.getIndexAttr(length / block);
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value init = tensor::EmptyOp::create(b, loc, sizes, b.getF32Type());
    Value none = linalg::FillOp::create(b, loc, zero, init).getResult(0);
    SmallVector<ReassociationIndices> groups;
    for (unsigned d = 0; d < rank; ++d)
      groups.push_back({int64_t(d)});
    groups.back().push_back(rank);
    shape.push_back(block);
    sizes.push_back(b.getIndexAttr(block));
    Value blocks =
        tensor::ExpandShapeOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()), data, groups, sizes);
    AffineMap whole = b.getMultiDimIdentityMap(rank + 1);
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    loops.push_back(utils::IteratorType::reduction);
    return linalg::GenericOp::create(
               b, loc, none.getType(), blocks, none, ArrayRef<AffineMap>{whole, whole.dropResult(rank)}, loops,
               [](OpBuilder &nested, Location at, ValueRange args) {
                 Value wide = convert(nested, at, args[0], nested.getF32Type());
                 Value size = magnitude(nested, at, wide);
                 linalg::YieldOp::create(nested, at, arith::MaximumFOp::create(nested, at, args[1], size).getResult());
               })
        .getResult(0);
  }

  /// The codes of the scales of blocks whose largest magnitudes are `largest`, as i32.
  static Value codesOf(OpBuilder &b, Location loc, Value largest, const RoundsToLargest &bound) {
    const auto rank = cast<RankedTensorType>(largest.getType()).getRank();
    const int64_t one = int64_t(1) << mantissaBits;
    const auto mantissa = static_cast<int64_t>((bound.significand - 1) * double(one));
    const int64_t carry = one - mantissa - bound.isIncluded;
    return tilewright::buildMap(
               b, loc, largest, b.getMultiDimIdentityMap(rank), emptyLike(b, loc, largest, b.getI32Type()),
               [&](OpBuilder &nested, Location at, ValueRange args) {
                 auto number = [&](int64_t value) -> Value {
                   return arith::ConstantOp::create(nested, at, nested.getI32IntegerAttr(int32_t(value)));
                 };
                 Value bits = arith::BitcastOp::create(nested, at, nested.getI32Type(), args[0]);
                 Value exponent = arith::AddIOp::create(nested, at, bits, number(carry));
                 exponent = arith::ShRUIOp::create(nested, at, exponent, number(mantissaBits));
                 Value code = arith::SubIOp::create(nested, at, exponent, number(bound.exponent));
                 code = arith::MaxSIOp::create(nested, at, code, number(0));
                 Value isNone = arith::CmpIOp::create(nested, at, arith::CmpIPredicate::uge, bits, number(infinity));
                 code = arith::SelectOp::create(nested, at, isNone, number(noExponent), code);
                 linalg::YieldOp::create(nested, at, code);
               })
        .getResult(0);
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
    patterns.add<LowerCast, LowerCastTo, LowerMatmul, SeparateFactors>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
