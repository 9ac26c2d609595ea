//===- DecomposeScalars.cpp - Tests and clamps of floats ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Part of decompose-structured-ops: operations of math for which no conversion
/// to LLVM exists, as operations of arith.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/Decompositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {

/// The constant `value` in the type of `like`.
Value constantLike(OpBuilder &b, Location loc, Value like, const APFloat &value) {
  Type type = like.getType();
  auto number = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(shaped, number.getValue()));
  return arith::ConstantOp::create(b, loc, number);
}

/// |x| against a constant: the infinity, or the smallest normal number.
Value compareMagnitude(OpBuilder &b, Location loc, arith::CmpFPredicate predicate, Value x, bool infinity) {
  const llvm::fltSemantics &semantics = cast<FloatType>(getElementTypeOrSelf(x.getType())).getFloatSemantics();
  APFloat limit = infinity ? APFloat::getInf(semantics) : APFloat::getSmallestNormalized(semantics);
  return arith::CmpFOp::create(b, loc, predicate, math::AbsFOp::create(b, loc, x), constantLike(b, loc, x, limit));
}

/// Whether the operation is one on tensors, which becomes a generic first.
bool isOnTensors(Operation *op) { return isa<TensorType>(op->getOperand(0).getType()); }

/// A test of one float as a comparison.
template <typename TestOp> struct LowerTest : OpRewritePattern<TestOp> {
  using OpRewritePattern<TestOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(TestOp op, PatternRewriter &b) const override {
    if (isOnTensors(op))
      return failure();
    Location loc = op.getLoc();
    Value x = op.getOperand();
    if constexpr (std::is_same_v<TestOp, math::IsNaNOp>)
      b.replaceOpWithNewOp<arith::CmpFOp>(op, arith::CmpFPredicate::UNO, x, x);
    else if constexpr (std::is_same_v<TestOp, math::IsInfOp>)
      b.replaceOp(op, compareMagnitude(b, loc, arith::CmpFPredicate::OEQ, x, /*infinity=*/true));
    else if constexpr (std::is_same_v<TestOp, math::IsFiniteOp>)
      b.replaceOp(op, compareMagnitude(b, loc, arith::CmpFPredicate::OLT, x, /*infinity=*/true));
    else // normal: neither too small nor too large
      b.replaceOpWithNewOp<arith::AndIOp>(op,
                                          compareMagnitude(b, loc, arith::CmpFPredicate::OGE, x, /*infinity=*/false),
                                          compareMagnitude(b, loc, arith::CmpFPredicate::OLT, x, /*infinity=*/true));
    return success();
  }
};

/// A value kept between two bounds; NaN stays.
struct LowerClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ClampFOp op, PatternRewriter &b) const override {
    if (isOnTensors(op))
      return failure();
    Value raised = arith::MaximumFOp::create(b, op.getLoc(), op.getValue(), op.getMin());
    b.replaceOpWithNewOp<arith::MinimumFOp>(op, raised, op.getMax());
    return success();
  }
};

/// An integer constant of `type`, a scalar or a vector.
Value integer(OpBuilder &b, Location loc, Type type, int64_t value) {
  auto number = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(shaped, number.getValue()));
  return arith::ConstantOp::create(b, loc, number);
}

/// base to the power of an exponent that is not negative: bit by bit of the exponent, without a branch, so that it runs
/// on vectors. A constant exponent folds to its multiplications.
template <typename MulOp>
Value powerOf(OpBuilder &b, Location loc, Value base, Value one, Value exponent, unsigned bits) {
  Type type = exponent.getType();
  Value zero = integer(b, loc, type, 0), mask = integer(b, loc, type, 1), result = one, square = base;
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value shifted = arith::ShRUIOp::create(b, loc, exponent, integer(b, loc, type, bit));
    Value lowest = arith::AndIOp::create(b, loc, shifted, mask);
    Value isSet = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, lowest, zero);
    result = arith::SelectOp::create(b, loc, isSet, MulOp::create(b, loc, result, square), result);
    if (bit + 1 < bits)
      square = MulOp::create(b, loc, square, square);
  }
  return result;
}

/// An integer power. A negative exponent gives the reciprocal, rounded towards zero: what it is for 1 and -1, else 0.
struct LowerIntegerPower : OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::IPowIOp op, PatternRewriter &b) const override {
    if (isOnTensors(op))
      return failure();
    Location loc = op.getLoc();
    Type type = op.getType();
    Value base = op.getLhs(), exponent = op.getRhs();
    Value zero = integer(b, loc, type, 0), one = integer(b, loc, type, 1), minusOne = integer(b, loc, type, -1);
    Value power =
        powerOf<arith::MulIOp>(b, loc, base, one, exponent, getElementTypeOrSelf(type).getIntOrFloatBitWidth());
    auto equals = [&](Value x, Value y) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); };
    // Of 1 and -1 the power to the exponent's two's complement is right already: its lowest bit is the exponent's.
    Value isUnit = arith::OrIOp::create(b, loc, equals(base, one), equals(base, minusOne));
    Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, exponent, zero);
    Value reciprocal = arith::SelectOp::create(b, loc, isUnit, power, zero);
    b.replaceOpWithNewOp<arith::SelectOp>(op, isNegative, reciprocal, power);
    return success();
  }
};

/// A float to an integer power; types below 32 bits compute in f32 and round once.
struct LowerFloatPower : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FPowIOp op, PatternRewriter &b) const override {
    if (isOnTensors(op))
      return failure();
    Location loc = op.getLoc();
    Type type = op.getType(), wide = type;
    Value base = op.getLhs(), exponent = op.getRhs();
    bool isNarrow = getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32;
    if (isNarrow) {
      wide = isa<ShapedType>(type) ? Type(cast<ShapedType>(type).clone(b.getF32Type())) : Type(b.getF32Type());
      base = arith::ExtFOp::create(b, loc, wide, base);
    }
    const llvm::fltSemantics &semantics = cast<FloatType>(getElementTypeOrSelf(wide)).getFloatSemantics();
    Value one = constantLike(b, loc, base, APFloat::getOne(semantics));
    Value zero = integer(b, loc, exponent.getType(), 0);
    Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, exponent, zero);
    Value magnitude =
        arith::SelectOp::create(b, loc, isNegative, arith::SubIOp::create(b, loc, zero, exponent), exponent);
    Value power = powerOf<arith::MulFOp>(b, loc, base, one, magnitude,
                                         getElementTypeOrSelf(exponent.getType()).getIntOrFloatBitWidth());
    Value reciprocal = arith::DivFOp::create(b, loc, one, power);
    Value result = arith::SelectOp::create(b, loc, isNegative, reciprocal, power);
    if (isNarrow)
      result = arith::TruncFOp::create(b, loc, type, result);
    b.replaceOp(op, result);
    return success();
  }
};

/// Both functions of an angle.
struct LowerSinCos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SincosOp op, PatternRewriter &b) const override {
    if (isOnTensors(op))
      return failure();
    Value sin = math::SinOp::create(b, op.getLoc(), op.getOperand()),
          cos = math::CosOp::create(b, op.getLoc(), op.getOperand());
    b.replaceOp(op, {sin, cos});
    return success();
  }
};

} // namespace

void tilewright::populateScalarPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerTest<math::IsNaNOp>, LowerTest<math::IsInfOp>, LowerTest<math::IsFiniteOp>,
               LowerTest<math::IsNormalOp>, LowerClamp, LowerIntegerPower, LowerFloatPower, LowerSinCos>(
      patterns.getContext());
}
