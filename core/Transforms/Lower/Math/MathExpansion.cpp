//===- MathExpansion.cpp - Elementary functions as arithmetic -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coefficients are minimax fits (Remez exchange in 40 digits, rounded one
// after the other with the rest fitted again); the error of each fit, relative
// to the function, stands beside it.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "core/Machine/LaneChecks.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>
#include <limits>

using namespace mlir;
using arith::CmpFPredicate;

namespace tilewright {

// (e^r - 1 - r) / r^2 on |r| <= ln2 / 2.
static constexpr double expTail32[] = {0.5, 0.166665092, 0.0416665785, 0.0083700167, 0.00139224262}; // 3.5e-9
static constexpr double expTail64[] = {0.5,
                                       0.16666666666666685,
                                       0.04166666666666669,
                                       0.008333333333315896,
                                       0.001388888888885613,
                                       0.00019841269899195847,
                                       2.4801587397613285e-05,
                                       2.755723185734133e-06,
                                       2.7557205206944855e-07,
                                       2.511317706255455e-08,
                                       2.093651555894965e-09}; // 1.2e-19
// (2^r - 1) / r on |r| <= 1/2.
static constexpr double exp2Tail32[] = {0.693147182,   0.240226477,   0.0555033237,
                                        0.00961843692, 0.00133989088, 0.000153535017}; // 2.0e-9
// (log(1 + f) - f + f^2/2) / f^3 on sqrt(1/2) <= 1 + f <= sqrt 2.
static constexpr double logTail32[] = {0.333333164, -0.250008106, 0.200023115, -0.166245684,
                                       0.141806096, -0.13128002,  0.128855497, -0.0786663666}; // 5.9e-9
// (2 atanh(s) - 2 s) / s^3 as a polynomial of s^2, s = f / (2 + f).
static constexpr double logTail64[] = {0.6666666666666666,  0.40000000000004926, 0.28571428569409757,
                                       0.22222222607245173, 0.18181778329158804, 0.15386990123721894,
                                       0.13252117425219573, 0.13235068336695383}; // 1.8e-20
static constexpr double log2e = 1.44269504088896340735992468100;

MathExpansion::MathExpansion(OpBuilder &builder, Location loc, Type type, const MathInstructions &has)
    : b(builder), loc(loc), type(type), hasScale(has.scale), hasExp2(has.exp2 && getElementTypeOrSelf(type).isF32()),
      hasMaximum(has.maximum && getElementTypeOrSelf(type).isF32()) {
  auto shape = dyn_cast<VectorType>(type);
  const bool isPlain = !shape || (shape.getRank() == 1 && !shape.isScalable());
  shortExp2Record = isPlain && getElementTypeOrSelf(type).isF32() && has.shortExp2 ? &*has.shortExp2 : nullptr;
  isDouble = getElementTypeOrSelf(type).isF64();
  mantissa = isDouble ? 52 : 23;
  bias = isDouble ? 1023 : 127;
  Type element = b.getIntegerType(isDouble ? 64 : 32);
  auto vector = dyn_cast<VectorType>(type);
  integerType = vector ? Type(VectorType::get(vector.getShape(), element, vector.getScalableDims())) : element;
  if (vector && vector.getRank() != 1)
    this->hasScale = false;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value MathExpansion::constant(double value) {
  TypedAttr attr = FloatAttr::get(getElementTypeOrSelf(type), isDouble ? value : static_cast<float>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = SplatElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, loc, attr);
}
Value MathExpansion::integer(int64_t value) {
  TypedAttr attr = IntegerAttr::get(getElementTypeOrSelf(integerType), value);
  if (auto vector = dyn_cast<VectorType>(integerType))
    attr = SplatElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, loc, attr);
}
Value MathExpansion::add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
Value MathExpansion::sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
Value MathExpansion::mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
Value MathExpansion::div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
Value MathExpansion::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
Value MathExpansion::abs(Value x) { return math::AbsFOp::create(b, loc, x); }
Value MathExpansion::copySign(Value x, Value sign) { return math::CopySignOp::create(b, loc, x, sign); }
Value MathExpansion::select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
Value MathExpansion::compare(CmpFPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, loc, p, x, y); }
Value MathExpansion::toBits(Value x) { return arith::BitcastOp::create(b, loc, integerType, x); }
Value MathExpansion::fromBits(Value x) { return arith::BitcastOp::create(b, loc, type, x); }

Value MathExpansion::intrinsic(StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), operands).getResult(0);
}

Value MathExpansion::minimum(Value x, double bound) {
  Value limit = constant(bound);
  if (hasMaximum)
    return intrinsic("llvm.minimum", {x, limit});
  return select(compare(CmpFPredicate::OGT, x, limit), limit, x);
}
Value MathExpansion::maximum(Value x, double bound) {
  Value limit = constant(bound);
  if (hasMaximum)
    return intrinsic("llvm.maximum", {x, limit});
  return select(compare(CmpFPredicate::OLT, x, limit), limit, x);
}

Value MathExpansion::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = constant(coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, constant(c));
  return sum;
}

//===----------------------------------------------------------------------===//
// The exponential family
//===----------------------------------------------------------------------===//

/// Adding 1.5 * 2^mantissa rounds to an integer and leaves it in the low bits of the sum: no conversion, and no
/// undefined one for NaN.
MathExpansion::Reduced MathExpansion::roundScaled(Value x, double factor) {
  Value magic = constant(1.5 * std::ldexp(1.0, mantissa));
  Reduced reduced;
  reduced.rounded = factor == 1.0 ? add(x, magic) : fma(x, constant(factor), magic);
  reduced.n = sub(reduced.rounded, magic);
  return reduced;
}

MathExpansion::Reduced MathExpansion::reduce(Value x, Value correction) {
  Reduced reduced = roundScaled(x, log2e);
  // The short high part makes the first step exact.
  double high = isDouble ? 0x1.62e42fee00000p-1 : 0.693359375;
  double low = isDouble ? 1.9082149292705877e-10 : llvm::numbers::ln2 - high;
  reduced.r = fma(reduced.n, constant(-high), x);
  if (correction)
    correction = fma(reduced.n, constant(-low), correction);
  reduced.r = correction ? add(reduced.r, correction) : fma(reduced.n, constant(-low), reduced.r);
  return reduced;
}

Value MathExpansion::expm1OfReduced(Value r) {
  Value p = isDouble ? polynomial(r, expTail64) : polynomial(r, expTail32);
  return fma(mul(r, r), p, r);
}

Value MathExpansion::scale(Value x, const Reduced &reduced) {
  if (hasScale) {
    Type i32 = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      i32 = VectorType::get(vector.getShape(), i32);
    // A NaN gives some integer here and a NaN in the product whatever it is; what is too small does, too: replaced.
    Value n = toBits(reduced.rounded);
    n = arith::SubIOp::create(b, loc, n, toBits(constant(1.5 * std::ldexp(1.0, mantissa))));
    if (isDouble)
      n = arith::TruncIOp::create(b, loc, i32, n);
    return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr("llvm.ldexp"), ValueRange{x, n}).getResult(0);
  }
  // Two factors, each with a normal exponent: exact up to infinity, one rounding into the denormals.
  Value bits = toBits(reduced.rounded), shift = integer(mantissa);
  Value all = arith::ShLIOp::create(b, loc, bits, shift);
  Value half = arith::ShRUIOp::create(b, loc, bits, integer(1));
  half = arith::ShLIOp::create(b, loc, half, shift);
  Value rest = arith::SubIOp::create(b, loc, all, half);
  Value one = integer(static_cast<int64_t>(bias) << mantissa);
  Value first = fromBits(arith::AddIOp::create(b, loc, half, one));
  Value second = fromBits(arith::AddIOp::create(b, loc, rest, one));
  return mul(mul(x, first), second);
}

/// 2^(n + offset), or its negative, in the range of normal numbers.
Value MathExpansion::powerOfTwo(const Reduced &reduced, int offset, bool negative) {
  Value bits = arith::ShLIOp::create(b, loc, toBits(reduced.rounded), integer(mantissa));
  Value one = toBits(constant(std::ldexp(negative ? -1.0 : 1.0, offset)));
  return fromBits(arith::AddIOp::create(b, loc, bits, one));
}

/// 2^r - 1 for |r| <= 1/2.
Value MathExpansion::exp2m1OfReduced(Value r) {
  return isDouble ? expm1OfReduced(mul(r, constant(llvm::numbers::ln2))) : mul(r, polynomial(r, exp2Tail32));
}

/// 0 where `x` is below `bound`, else `value`. A server core was seen to spend 37 ns on a vector that has a denormal
/// product, and 55 ns where one instruction scales by 2^-127 to 2^-500, whatever comes out (0.3 ns otherwise): the
/// result of every masked score of an attention. Behind the select the instruction is masked, and a masked lane costs
/// nothing.
Value MathExpansion::zeroBelow(double bound, Value x, Value value) {
  return select(compare(CmpFPredicate::UGE, x, constant(bound)), value, constant(0));
}

// Without such an instruction the lowest argument is one whose two products vanish without being denormal.

/// 2^t of the rounded t = x log2(e), times e^r of what is lacking there: of x and, as a second number, of log2(e).
Value MathExpansion::expByExp2(Value x, Value correction) {
  const double high = static_cast<float>(log2e);
  Value clamped = minimum(maximum(x, -150.0), 128.0); // r stays small, the result is 0 or infinity beyond
  Value t = mul(clamped, constant(high));
  Value rest = fma(clamped, constant(high), mul(t, constant(-1.0)));
  rest = fma(clamped, constant(log2e - high), rest);
  if (correction)
    rest = fma(correction, constant(log2e), rest);
  return mul(intrinsic("llvm.exp2", t), fma(rest, constant(llvm::numbers::ln2), constant(1.0)));
}

Value MathExpansion::shortExp(Value x) { return shortExp2(mul(x, constant(log2e))); }

Value MathExpansion::shortExp(Value x, vector::ShuffleOp base) {
  // x log2(e) - base log2(e), of which the second term is the same number for all x that `base` is repeated for: what
  // its rounding changes they have in common. From 2^26 on that could leave the range of a type, and neighbours lie 4
  // apart: 2^(x - base) then says no less than the rounding of x leaves.
  constexpr double most = 1 << 26;
  Value few = base.getV1();
  auto splat = [&](double value) -> Value {
    auto type = cast<VectorType>(few.getType());
    auto element = b.getFloatAttr(type.getElementType(), value);
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, element));
  };
  Value scaled = arith::MulFOp::create(b, loc, few, splat(log2e));
  Value isSmall = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, abs(scaled), splat(most));
  Value factor = arith::SelectOp::create(b, loc, isSmall, splat(log2e), splat(1));
  Value offset = arith::NegFOp::create(b, loc, arith::SelectOp::create(b, loc, isSmall, scaled, few));
  auto repeated = [&](Value value) -> Value { return vector::ShuffleOp::create(b, loc, value, value, base.getMask()); };
  return shortExp2(fma(x, repeated(factor), repeated(offset)));
}

Value MathExpansion::shortExp2(Value x) {
  auto one = [&](Value element) { return makeByRecord(b, loc, *shortExp2Record, element, std::nullopt); };
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return one(x);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    elements.push_back(one(vector::ExtractOp::create(b, loc, x, i)));
  return vector::FromElementsOp::create(b, loc, vector, elements);
}

Value MathExpansion::exp(Value x, Value correction) {
  if (hasExp2)
    return expByExp2(x, correction);
  Value clamped = minimum(x, isDouble ? 710.0 : 89.0);
  if (!hasScale)
    clamped = maximum(clamped, isDouble ? -760.0 : -125.0);
  Reduced reduced = reduce(clamped, correction);
  Value power = scale(add(expm1OfReduced(reduced.r), constant(1)), reduced);
  return hasScale ? zeroBelow(isDouble ? -746.0 : -104.0, x, power) : power;
}

Value MathExpansion::exp2(Value x) {
  if (hasExp2)
    return intrinsic("llvm.exp2", x);
  Value clamped = minimum(x, isDouble ? 1025.0 : 129.0);
  if (!hasScale)
    clamped = maximum(clamped, isDouble ? -1100.0 : -180.0);
  Reduced reduced = roundScaled(clamped, 1.0);
  reduced.r = sub(clamped, reduced.n);
  Value power = scale(add(exp2m1OfReduced(reduced.r), constant(1)), reduced);
  return hasScale ? zeroBelow(isDouble ? -1075.0 : -150.0, x, power) : power;
}

Value MathExpansion::expm1(Value x) {
  Value clamped = maximum(minimum(x, isDouble ? 710.0 : 89.0), isDouble ? -60.0 : -30.0);
  Reduced reduced = reduce(clamped);
  // Half of the result, so that 2^n of the largest n stays finite.
  Reduced halved = reduced;
  halved.rounded = sub(reduced.rounded, constant(1));
  Value power = powerOfTwo(halved);
  Value half = fma(expm1OfReduced(reduced.r), power, sub(power, constant(0.5)));
  Value tiny = compare(CmpFPredicate::OLT, abs(x), constant(isDouble ? 0x1p-54 : 0x1p-25));
  return select(tiny, x, add(half, half));
}

Value MathExpansion::tanh(Value x) {
  Value t = abs(x);
  Value twice = minimum(add(t, t), isDouble ? 44.0 : 20.0);
  Reduced reduced = reduce(twice);
  Value power = powerOfTwo(reduced);
  Value m = fma(expm1OfReduced(reduced.r), power, sub(power, constant(1))); // e^2t - 1
  Value y = div(m, add(m, constant(2)));
  // Below, tanh(x) = x; keeps denormals exact.
  y = select(compare(CmpFPredicate::OLT, t, constant(isDouble ? 0x1p-28 : 0x1p-13)), t, y);
  return copySign(y, x);
}

Value MathExpansion::sinh(Value x) {
  // sinh t = (m + m / (m + 1)) / 2 with m = e^t - 1; half the argument's power keeps e^t finite near the end.
  Value t = abs(x);
  Value m = expm1(t);
  Value small = mul(constant(0.5), add(m, div(m, add(m, constant(1)))));
  Value root = exp(mul(t, constant(0.5)));
  Value large = mul(mul(constant(0.5), root), root);
  return copySign(select(compare(CmpFPredicate::OGT, t, constant(isDouble ? 20.0 : 10.0)), large, small), x);
}

Value MathExpansion::cosh(Value x) {
  Value root = exp(mul(abs(x), constant(0.5)));
  Value square = mul(root, root);
  Value small = mul(constant(0.5), add(square, div(constant(1), square)));
  Value large = mul(mul(constant(0.5), root), root);
  return select(compare(CmpFPredicate::OGT, abs(x), constant(isDouble ? 20.0 : 10.0)), large, small);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

MathExpansion::Mantissa MathExpansion::splitMantissa(Value x) {
  double smallest = isDouble ? 0x1p-1022 : 0x1p-126;
  Value denormal = compare(CmpFPredicate::OLT, x, constant(smallest));
  Value normal = select(denormal, mul(x, constant(isDouble ? 0x1p54 : 0x1p25)), x);
  Value bits = toBits(normal), shift = integer(mantissa);
  int64_t rootHalf = isDouble ? 0x3FE6A09E667F3BCDll : 0x3F3504F3ll;
  Value exponent = arith::ShRSIOp::create(b, loc, arith::SubIOp::create(b, loc, bits, integer(rootHalf)), shift);
  Value m = fromBits(arith::SubIOp::create(b, loc, bits, arith::ShLIOp::create(b, loc, exponent, shift)));
  Value n = arith::SIToFPOp::create(b, loc, type, exponent);
  return {sub(n, select(denormal, constant(isDouble ? 54 : 25), constant(0))), m};
}

Value MathExpansion::log(Value x, int base) {
  auto [n, m] = splitMantissa(x);
  Value f = sub(m, constant(1));

  // log(1 + f) = f - rest.
  Value rest;
  if (isDouble) {
    Value s = div(f, add(f, constant(2)));
    Value square = mul(s, s), half = mul(mul(f, f), constant(0.5));
    Value p = mul(square, polynomial(square, logTail64));
    rest = sub(half, mul(s, add(half, p)));
  } else {
    Value square = mul(f, f);
    Value p = polynomial(f, logTail32);
    rest = fma(square, constant(0.5), mul(mul(square, f), mul(p, constant(-1))));
  }
  Value y;
  if (base == 0) {
    // The high part of ln 2 has enough trailing zeros for n * high to be exact.
    double high = isDouble ? 0x1.62e42fee00000p-1 : 0x1.62e400p-1;
    double low = isDouble ? 1.90821492927058770002e-10 : llvm::numbers::ln2 - high;
    y = fma(n, constant(high), sub(f, fma(n, constant(-low), rest)));
  } else {
    // The factor splits into a short high part, exact in the product with the high part of f - rest.
    double factor = base == 2 ? log2e : 0.434294481903251827651;
    double unit = base == 2 ? 1.0 : 0.301029995663981195213738894724;
    double unitHigh = base == 2 ? 1.0 : isDouble ? 0x1.34413509f6000p-2 : 0x1.344000p-2;
    double factorHigh = isDouble ? factor : static_cast<double>(static_cast<float>(factor));
    double factorLow = isDouble ? (base == 2 ? 2.0355273740931033e-17 : 1.098319650216765e-17) : factor - factorHigh;
    double unitLow = isDouble && base != 2 ? 3.6942390771589305e-13 : unit - unitHigh;
    Value high = sub(f, rest);
    Value lost = sub(sub(f, high), rest);
    Value low = fma(high, constant(factorLow), mul(lost, constant(factorHigh)));
    if (base != 2)
      low = fma(n, constant(unitLow), low);
    y = add(mul(n, constant(unitHigh)), fma(high, constant(factorHigh), low));
  }
  double infinity = std::numeric_limits<double>::infinity();
  y = select(compare(CmpFPredicate::OEQ, x, constant(infinity)), x, y);
  y = select(compare(CmpFPredicate::ULT, x, constant(0)), constant(std::nan("")), y);
  return select(compare(CmpFPredicate::OEQ, x, constant(0)), constant(-infinity), y);
}

Value MathExpansion::log1p(Value x) {
  Value u = add(x, constant(1));
  Value lost = sub(x, sub(u, constant(1)));
  Value finite = compare(CmpFPredicate::OLT, u, constant(std::numeric_limits<double>::infinity()));
  Value positive = compare(CmpFPredicate::OGT, u, constant(0));
  Value correction = select(arith::AndIOp::create(b, loc, finite, positive), div(lost, u), constant(0));
  Value y = add(log(u), correction);
  return select(compare(CmpFPredicate::OLT, abs(x), constant(isDouble ? 0x1p-54 : 0x1p-25)), x, y);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

Value MathExpansion::rsqrt(Value x) { return div(constant(1), math::SqrtOp::create(b, loc, x)); }

} // namespace tilewright
