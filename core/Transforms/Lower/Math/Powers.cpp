//===- Powers.cpp - Powers, cube roots, area functions as arithmetic ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x^y = e^(y log x): the exponent multiplies the error of the logarithm, which
// therefore is a sum of two numbers. With x = 2^n m and s = (m - 1) / (m + 1),
//
//   log x = n ln2 + 2 s + 2/3 s^3 + s^5 P(s^2)
//
// of which everything before P has two parts. scripts/fit-polynomial.py computes P.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;
using arith::CmpFPredicate;

namespace tilewright {

// sqrt(1/2) <= m <= sqrt 2.
static constexpr double logRest32[] = {0.400001526, 0.285470992, 0.234192833}; // 8.5e-12
static constexpr double logRest64[] = {0.39999999999781249, 0.28571428671817312, 0.22222205052486588,
                                       0.1818325663264978,  0.15321349271930093, 0.14727516374853011}; // 1.7e-18

/// log x of a positive finite x as a sum of two numbers.
MathExpansion::Pair MathExpansion::logPair(Value x) {
  Mantissa split = splitMantissa(x);
  Value f = sub(split.m, constant(1)), below = add(f, constant(2)), belowLow = sub(f, sub(below, constant(2)));
  Value inverse = div(constant(1), below), s = mul(f, inverse);
  auto minus = [&](Value v) { return arith::NegFOp::create(b, loc, v).getResult(); };
  // What rounding took from s, and from its square and cube.
  Value sLow = mul(fma(minus(s), belowLow, fma(minus(s), below, f)), inverse);
  Value square = mul(s, s), squareLow = fma(mul(s, constant(2)), sLow, fma(s, s, minus(square)));
  Value cube = mul(square, s);
  Value cubeLow = fma(squareLow, s, fma(square, sLow, fma(square, s, minus(cube))));

  double third = isDouble ? 0x1.5555555555555p-1 : 0x1.555556p-1;
  double thirdLow = isDouble ? 0x1.5555555555555p-55 : -0x1.555556p-26;
  double high = isDouble ? 0x1.62e42fee00000p-1 : 0x1.62e400p-1; // n times it is exact
  double low = isDouble ? 1.90821492927058770002e-10 : llvm::numbers::ln2 - high;
  Value whole = mul(split.n, constant(high)), twice = add(s, s);
  Value first = add(whole, twice), firstLow = add(sub(whole, first), twice);
  Value second = fma(cube, constant(third), first), secondLow = fma(cube, constant(third), sub(first, second));
  Value p = isDouble ? polynomial(square, logRest64) : polynomial(square, logRest32);
  Value rest = fma(mul(cube, square), p, fma(cube, constant(thirdLow), mul(cubeLow, constant(third))));
  rest = add(add(rest, add(sLow, sLow)), add(firstLow, secondLow));
  rest = fma(split.n, constant(low), rest);
  Pair result;
  result.high = add(second, rest);
  result.low = add(sub(second, result.high), rest);
  return result;
}

Value MathExpansion::pow(Value x, Value y) {
  Value infinity = constant(std::numeric_limits<double>::infinity()), zero = constant(0), one = constant(1);
  Value ax = abs(x);
  Pair log = logPair(ax);
  Value product = mul(y, log.high);
  Value low = fma(y, log.low, fma(y, log.high, arith::NegFOp::create(b, loc, product)));
  low = select(compare(CmpFPredicate::OLT, abs(product), constant(1000)), low, zero); // where the power is finite
  Value power = exp(product, low);

  // Zeros and infinities, 1 to whatever exponent, NaN.
  Value isZero = compare(CmpFPredicate::OEQ, ax, zero), isInfinite = compare(CmpFPredicate::OEQ, ax, infinity);
  Value isReciprocal = compare(CmpFPredicate::OLT, y, zero);
  Value vanishes = arith::XOrIOp::create(b, loc, isZero, isReciprocal);
  power = select(either(isZero, isInfinite), select(vanishes, zero, infinity), power);
  power = select(compare(CmpFPredicate::OEQ, ax, one), one, power);
  // Of negative numbers only whole exponents have powers, odd ones negative powers.
  auto isWhole = [&](Value v) { return compare(CmpFPredicate::OEQ, math::FloorOp::create(b, loc, v), v); };
  Value whole = isWhole(y), isEven = isWhole(mul(y, constant(0.5)));
  power = select(isEven, power, select(whole, copySign(power, x), power));
  Value minus = constant(-std::numeric_limits<double>::infinity());
  Value isNegative = both(compare(CmpFPredicate::OLT, x, zero), compare(CmpFPredicate::OGT, x, minus));
  power = select(isNegative, select(whole, power, constant(std::nan(""))), power);
  power = select(compare(CmpFPredicate::UNO, x, y), add(x, y), power);
  return select(either(compare(CmpFPredicate::OEQ, x, one), compare(CmpFPredicate::OEQ, y, zero)), one, power);
}

Value MathExpansion::cbrt(Value x) {
  // Cubes of what is near the root neither overflow nor lose digits.
  const int shift = isDouble ? 180 : 60;
  double bound = std::ldexp(1.0, isDouble ? 900 : 90);
  Value t = abs(x), isTiny = compare(CmpFPredicate::OLT, t, constant(1 / bound));
  Value isHuge = compare(CmpFPredicate::OGT, t, constant(bound));
  auto power = [&](int n) { return constant(std::ldexp(1.0, n)); };
  Value normal = mul(t, select(isTiny, power(shift), select(isHuge, power(-shift), power(0))));
  // A third of the exponent, and roughly of the mantissa: within 1/16.
  int64_t offset = isDouble ? 0x2a9f7893782da1ce : 0x2a5119f2;
  Value root = fromBits(
      arith::AddIOp::create(b, loc, arith::DivUIOp::create(b, loc, toBits(normal), integer(3)), integer(offset)));
  // Halley's step: the number of right digits grows threefold.
  for (int step = 0; step < (isDouble ? 3 : 2); ++step) {
    Value cube = mul(mul(root, root), root), rest = sub(normal, cube);
    root = fma(root, div(rest, add(add(cube, cube), normal)), root);
  }
  root = mul(root, select(isTiny, power(-shift / 3), select(isHuge, power(shift / 3), power(0))));
  Value isUsual = both(compare(CmpFPredicate::OGT, t, constant(0)),
                       compare(CmpFPredicate::OLT, t, constant(std::numeric_limits<double>::infinity())));
  return select(isUsual, copySign(root, x), x);
}

Value MathExpansion::asinh(Value x) {
  // log(t + sqrt(t^2 + 1)) = log1p(t + t^2 / (1 + sqrt(t^2 + 1))); log(2 t) where the square would overflow.
  Value t = abs(x), square = mul(t, t);
  Value root = math::SqrtOp::create(b, loc, add(square, constant(1)));
  Value small = log1p(add(t, div(square, add(root, constant(1)))));
  Value large = add(log(t), constant(llvm::numbers::ln2));
  return copySign(select(compare(CmpFPredicate::OGT, t, constant(isDouble ? 0x1p30 : 0x1p14)), large, small), x);
}

Value MathExpansion::acosh(Value x) {
  Value t = sub(x, constant(1)), root = math::SqrtOp::create(b, loc, fma(t, t, add(t, t)));
  Value y = select(compare(CmpFPredicate::OGT, x, constant(isDouble ? 0x1p30 : 0x1p14)),
                   add(log(x), constant(llvm::numbers::ln2)), log1p(add(t, root)));
  return select(compare(CmpFPredicate::ULT, x, constant(1)), constant(std::nan("")), y);
}

Value MathExpansion::atanh(Value x) {
  Value t = abs(x);
  return copySign(mul(log1p(div(add(t, t), sub(constant(1), t))), constant(0.5)), x);
}

} // namespace tilewright
