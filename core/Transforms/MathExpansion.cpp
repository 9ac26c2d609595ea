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

#include "core/Transforms/MathExpansion.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
// (log(1 + f) - f + f^2/2) / f^3 on sqrt(1/2) <= 1 + f <= sqrt 2.
static constexpr double logTail32[] = {0.333333164, -0.250008106, 0.200023115, -0.166245684,
                                       0.141806096, -0.13128002,  0.128855497, -0.0786663666}; // 5.9e-9
// (2 atanh(s) - 2 s) / s^3 as a polynomial of s^2, s = f / (2 + f).
static constexpr double logTail64[] = {0.6666666666666666,  0.40000000000004926, 0.28571428569409757,
                                       0.22222222607245173, 0.18181778329158804, 0.15386990123721894,
                                       0.13252117425219573, 0.13235068336695383}; // 1.8e-20
// erf(x) / x - 1 as a polynomial of x^2, |x| <= 1.
static constexpr double erfSmall32[] = {0.128379166,   -0.376126289,   0.112836182,  -0.026855126,
                                        0.00519073382, -0.000803076138, 7.92036808e-05}; // 1.3e-9
static constexpr double erfSmall64[] = {0.1283791670955126,     -0.3761263890318411,    0.11283791670972065,
                                        -0.026866170648281368,  0.005223977655688721,   -0.0008548328735582565,
                                        0.00012055394345459034, -1.4927095332497064e-05, 1.6484739740152216e-06,
                                        -1.659845902749005e-07, 1.630474826711598e-08,  -1.7637269982727323e-09,
                                        1.6394653379265254e-10}; // 1.3e-17
// exp(z^2) erfc(z) / u as a polynomial of u - 0.4, u = 1 / (1 + z), 0.68 <= z <= 10.3 (f32) or 27.5 (f64).
static constexpr double erfcx32[] = {0.803963542,  0.546699166,  -0.321644038, -0.30076921, 0.526567101,  -0.12615101,
                                     -0.583496571, 0.96947068,   -0.313982993, -1.3459084,  1.76161349}; // 2.6e-9
static constexpr double erfcx64[] = {
    0.8039635411357937,  0.5466992367317592,  -0.32164332987094857, -0.3007865407967735, 0.5264681118087225,
    -0.12499287711926488, -0.5785568555535741, 0.9390773874316071,  -0.41238942732592887, -0.9844975051642305,
    2.4107853606681866,  -2.3954466115632256, -0.3243607453917741,  5.502939655822455,   -11.400070933518178,
    11.91810217967776,   21.672565246845082,  -26.673540085218885,  -183.76654638275625, -546.5655367631821,
    999.0546273559277,   4535.8067546596,     3832.540759450034,    282.2047551662034}; // 1.1e-16

static constexpr double ln2 = 0.693147180559945309417232121458;
static constexpr double log2e = 1.44269504088896340735992468100;

MathExpansion::MathExpansion(OpBuilder &builder, Location loc, Type type, bool hasScale)
    : b(builder), loc(loc), type(type), hasScale(hasScale) {
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

Value MathExpansion::minimum(Value x, double bound) {
  Value limit = constant(bound);
  return select(compare(CmpFPredicate::OGT, x, limit), limit, x);
}
Value MathExpansion::maximum(Value x, double bound) {
  Value limit = constant(bound);
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
  double low = isDouble ? 1.9082149292705877e-10 : ln2 - high;
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
    // A NaN gives some integer here and a NaN in the product whatever it is; clamping made every other n small.
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

/// As `scale` for x in [2^-8, 2] and n in [-160, 0], without an operation that underflows: processors take hundreds of
/// clocks for those. A denormal is counted in units of the smallest one, which are the bits of the result.
Value MathExpansion::scaleDown(Value x, const Reduced &reduced) {
  if (isDouble)
    return scale(x, reduced);
  double magic = 1.5 * std::ldexp(1.0, mantissa), firstNormal = std::ldexp(1.0, mantissa);
  Reduced inUnits = reduced;
  inUnits.rounded = add(minimum(reduced.rounded, magic - 118), constant(mantissa + bias - 1));
  Value units = scale(x, inUnits), tiny = compare(CmpFPredicate::OLT, units, constant(firstNormal));
  Value bits = arith::SubIOp::create(b, loc, toBits(add(units, constant(firstNormal))), toBits(constant(firstNormal)));
  return select(tiny, fromBits(bits), scale(select(tiny, constant(0x1p40), x), reduced));
}

/// 2^n for n in the range of normal numbers.
Value MathExpansion::powerOfTwo(const Reduced &reduced) {
  Value bits = arith::ShLIOp::create(b, loc, toBits(reduced.rounded), integer(mantissa));
  return fromBits(arith::AddIOp::create(b, loc, bits, integer(static_cast<int64_t>(bias) << mantissa)));
}

Value MathExpansion::exp(Value x) {
  x = maximum(minimum(x, isDouble ? 710.0 : 89.0), isDouble ? -746.0 : -104.0);
  Reduced reduced = reduce(x);
  return scale(add(expm1OfReduced(reduced.r), constant(1)), reduced);
}

Value MathExpansion::exp2(Value x) {
  x = maximum(minimum(x, isDouble ? 1025.0 : 129.0), isDouble ? -1076.0 : -151.0);
  Reduced reduced = roundScaled(x, 1.0);
  reduced.r = mul(sub(x, reduced.n), constant(ln2));
  return scale(add(expm1OfReduced(reduced.r), constant(1)), reduced);
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

Value MathExpansion::log(Value x, int base) {
  double smallest = isDouble ? 0x1p-1022 : 0x1p-126;
  Value denormal = compare(CmpFPredicate::OLT, x, constant(smallest));
  Value normal = select(denormal, mul(x, constant(isDouble ? 0x1p54 : 0x1p25)), x);
  Value bits = toBits(normal), shift = integer(mantissa);
  int64_t rootHalf = isDouble ? 0x3FE6A09E667F3BCDll : 0x3F3504F3ll;
  Value exponent = arith::ShRSIOp::create(b, loc, arith::SubIOp::create(b, loc, bits, integer(rootHalf)), shift);
  Value m = fromBits(arith::SubIOp::create(b, loc, bits, arith::ShLIOp::create(b, loc, exponent, shift)));
  Value n = arith::SIToFPOp::create(b, loc, type, exponent);
  n = sub(n, select(denormal, constant(isDouble ? 54 : 25), constant(0)));
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
    double low = isDouble ? 1.90821492927058770002e-10 : ln2 - high;
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
// The error function
//===----------------------------------------------------------------------===//

Value MathExpansion::tail(Value z, bool gaussian, Value factor) {
  Value square = mul(z, z);
  Value lost = fma(z, z, mul(square, constant(-1)));
  Value negated = mul(square, constant(gaussian ? -0.5 : -1));
  Reduced reduced = reduce(negated, mul(lost, constant(gaussian ? -0.5 : -1)));
  Value factorOfZ = constant(gaussian ? M_SQRT1_2 : 1), one = constant(1), minusOne = constant(-1);
  Value d = fma(z, factorOfZ, one);
  Value u = div(one, d);
  // What the roundings of d and of the quotient lost, relative to u; the tail is nearly proportional to u.
  Value lostOfD = fma(z, factorOfZ, sub(one, d));
  Value lostOfU = fma(mul(u, minusOne), lostOfD, fma(mul(d, minusOne), u, one));
  Value centred = sub(u, constant(0.4));
  Value product = mul(u, isDouble ? polynomial(centred, erfcx64) : polynomial(centred, erfcx32));
  product = fma(product, lostOfU, product);
  if (factor)
    product = mul(product, factor);
  return scaleDown(fma(product, expm1OfReduced(reduced.r), product), reduced);
}

Value MathExpansion::erf(Value x) {
  Value t = abs(x);
  Value large = sub(constant(1), tail(minimum(t, isDouble ? 6.0 : 4.0), /*gaussian=*/false));
  return copySign(select(compare(CmpFPredicate::OLT, t, constant(1)), erfSmall(t), large), x);
}

Value MathExpansion::erfSmall(Value x) {
  Value square = mul(x, x);
  return fma(x, isDouble ? polynomial(square, erfSmall64) : polynomial(square, erfSmall32), x);
}

// Near zero 1 - erf(x) does not cancel, and the fit of the tail leaves that range out.

Value MathExpansion::erfc(Value x) {
  Value t = tail(minimum(abs(x), isDouble ? 27.5 : 10.3), /*gaussian=*/false);
  Value y = select(compare(CmpFPredicate::OLT, x, constant(0)), sub(constant(2), t), t);
  Value small = compare(CmpFPredicate::OLT, abs(x), constant(0.75));
  return select(small, sub(constant(1), erfSmall(x)), y);
}

Value MathExpansion::normalCdf2(Value x) {
  Value t = tail(minimum(abs(x), isDouble ? 38.8 : 14.5), /*gaussian=*/true);
  Value y = select(compare(CmpFPredicate::OGT, x, constant(0)), sub(constant(2), t), t);
  Value small = compare(CmpFPredicate::OLT, abs(x), constant(1.06));
  return select(small, add(constant(1), erfSmall(mul(x, constant(M_SQRT1_2)))), y);
}

Value MathExpansion::gelu(Value x) {
  // x Phi(x) = max(x, 0) - |x| Phi(-|x|): one formula for both signs, and no cancellation in either.
  Value t = abs(x), clamped = minimum(t, isDouble ? 38.8 : 14.5);
  Value loss = tail(clamped, /*gaussian=*/true, mul(clamped, constant(0.5)));
  Value positive = select(compare(CmpFPredicate::OLT, x, constant(0)), constant(-0.0), x);
  Value half = mul(x, constant(0.5)), erf = erfSmall(mul(x, constant(M_SQRT1_2)));
  return select(compare(CmpFPredicate::OLT, t, constant(1.06)), fma(half, erf, half), sub(positive, loss));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

Value MathExpansion::rsqrt(Value x) { return div(constant(1), math::SqrtOp::create(b, loc, x)); }

} // namespace tilewright
