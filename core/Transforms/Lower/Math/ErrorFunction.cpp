//===- ErrorFunction.cpp - erf, erfc, GELU as arithmetic ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them are the tail of the normal distribution, for t >= 0
//
//   Phi(-t) = 2^(-h t^2) M(t) / ((a t + b) M(t) + N(t))        h near 1 / (2 ln 2)
//
// The bracket is the inverse of the Mills ratio, which grows like a t: what
// rounds in M stands above and below and drops out, and N is small against the
// rest. h is a number of the type itself; what it lacks is part of the fit.
// scripts/fit-tail.py computes the tables.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using arith::CmpFPredicate;

namespace tilewright {

// erf(x) / x - 1 as a polynomial of x^2, |x| <= 1.
static constexpr double erfSmall32[] = {0.128379166,   -0.376126289,    0.112836182,   -0.026855126,
                                        0.00519073382, -0.000803076138, 7.92036808e-05}; // 1.3e-9
static constexpr double erfSmall64[] = {0.1283791670955126,     -0.3761263890318411,     0.11283791670972065,
                                        -0.026866170648281368,  0.005223977655688721,    -0.0008548328735582565,
                                        0.00012055394345459034, -1.4927095332497064e-05, 1.6484739740152216e-06,
                                        -1.659845902749005e-07, 1.630474826711598e-08,   -1.7637269982727323e-09,
                                        1.6394653379265254e-10}; // 1.3e-17
/// M from t^0 on, N, and a, b of the line; the error of the fit, relative to the function.
struct TailFit {
  double halfLog2e, slope, offset;
  ArrayRef<double> m, n;
};
static constexpr double tailM32[] = {1.875, 1.67315412, 0.708713233, 0.159607813, 0.0165128559};
static constexpr double tailN32[] = {3.74929547, 1.63780487, 0.40542838, 0.0409909673};
static const TailFit tail32 = {0x1.715476p-1, 2.50663757, 0.000375716016, tailM32, tailN32}; // 1.72e-8, 0 <= t <= 14.5
static constexpr double tailM64[] = {1.875,
                                     3.1025562510416962,
                                     2.5441295789995744,
                                     1.3358984898490887,
                                     0.49276330023621706,
                                     0.13279614201545378,
                                     0.026439728212997695,
                                     0.0038440918958435114,
                                     0.0003919327056961827,
                                     2.5465647517358682e-5,
                                     8.0939729642600036e-7};
static constexpr double tailN64[] = {
    3.7499999999242188,   4.4972515900354191,    2.7745915452376111,     1.1122919996978451,    0.31423793150334145,
    0.064329977315347134, 0.0095080444627382368, 0.00097837186109782197, 6.3832912571622796e-5, 2.0288581413878842e-6};
static const TailFit tail64 = {0x1.71547652b82fep-1, 2.5066282746310979, 4.0416711777039298e-11, tailM64,
                               tailN64}; // 4.68e-17, 0 <= t <= 38.8

/// 2^tailShift keeps the power of two of the smallest tail normal, and its inverse the other factor.
static int tailShift(bool isDouble) { return isDouble ? 80 : 32; }

MathExpansion::Tail MathExpansion::tail(Value z, bool gaussian, int halvings, bool negative) {
  const TailFit &fit = isDouble ? tail64 : tail32;
  double h = fit.halfLog2e * (gaussian ? 1 : 2); // t = z, or z * sqrt 2
  int shift = tailShift(isDouble);
  Value square = mul(z, z), lost = fma(z, z, arith::NegFOp::create(b, loc, square));
  Reduced reduced = roundScaled(square, -h);
  reduced.r = fma(square, constant(-h), arith::NegFOp::create(b, loc, reduced.n));
  reduced.r = fma(lost, constant(-h), reduced.r);

  auto scaled = [&](ArrayRef<double> coefficients, double by) {
    SmallVector<double> result;
    for (auto [power, c] : llvm::enumerate(coefficients))
      result.push_back(c * by * std::pow(gaussian ? 1 : M_SQRT2, power));
    return result;
  };
  double large = std::ldexp(1.0, shift);
  Value m = polynomial(z, scaled(fit.m, 1)), n = polynomial(z, scaled(fit.n, large));
  Value inverse = fma(polynomial(z, scaled({fit.offset, fit.slope}, large)), m, n);
  Tail result;
  result.rest = div(fma(m, exp2m1OfReduced(reduced.r), m), inverse);
  result.power = powerOfTwo(reduced, shift + 1 - halvings, negative);
  return result;
}

/// base + tail, rounded once. Where the sum `isTiny`, below the normal numbers, no operation underflows, for which
/// processors take hundreds of clocks: one unit of a sum near the smallest normal number is the smallest denormal one.
Value MathExpansion::addTail(Value base, const Tail &tail, Value isTiny, bool negative) {
  double smallest = std::ldexp(1.0, 1 - bias);
  Value sum = fma(tail.power, tail.rest, select(isTiny, constant(negative ? -smallest : smallest), base));
  // All in integers: one instruction where operations take masks.
  Value bits = toBits(sum), units = arith::SubIOp::create(b, loc, bits, toBits(constant(smallest)));
  return fromBits(select(isTiny, units, bits));
}

Value MathExpansion::erfSmall(Value x) {
  Value square = mul(x, x);
  return fma(x, isDouble ? polynomial(square, erfSmall64) : polynomial(square, erfSmall32), x);
}

Value MathExpansion::erf(Value x) {
  Value t = abs(x);
  Tail upper = tail(minimum(t, isDouble ? 6.0 : 4.0), /*gaussian=*/false, 0, /*negative=*/true);
  Value large = fma(upper.power, upper.rest, constant(1));
  return copySign(select(compare(CmpFPredicate::OLT, t, constant(1)), erfSmall(t), large), x);
}

Value MathExpansion::erfc(Value x) {
  Tail upper = tail(minimum(abs(x), isDouble ? 27.4 : 10.25), /*gaussian=*/false, 0, /*negative=*/false);
  upper.power = copySign(upper.power, x);
  Value base = sub(constant(1), copySign(constant(1), x)); // 2 of negative x
  Value isTiny = compare(CmpFPredicate::OGE, x, constant(isDouble ? 26.543258472202805 : 9.1945505));
  return addTail(base, upper, isTiny, /*negative=*/false);
}

Value MathExpansion::normalCdf2(Value x) {
  Tail upper = tail(minimum(abs(x), isDouble ? 38.75 : 14.5), /*gaussian=*/true, 0, /*negative=*/false);
  Value minus = mul(x, constant(-1));
  upper.power = copySign(upper.power, minus);
  Value base = sub(constant(1), copySign(constant(1), minus));
  Value isTiny = compare(CmpFPredicate::OGE, minus, constant(isDouble ? 37.53783612096377 : 13.0030575));
  return addTail(base, upper, isTiny, /*negative=*/false);
}

Value MathExpansion::gelu(Value x) {
  // x Phi(x) = max(x, 0) - |x| Phi(-|x|): one formula for both signs, and no cancellation in either.
  Value t = minimum(abs(x), isDouble ? 38.75 : 14.5);
  Tail loss = tail(t, /*gaussian=*/true, 1, /*negative=*/true);
  loss.power = mul(t, loss.power);
  Value base = select(compare(CmpFPredicate::OGT, x, constant(0)), x, constant(0));
  Value isTiny = compare(CmpFPredicate::OLE, x, constant(isDouble ? -37.615868339309024 : -13.146248));
  return addTail(base, loss, isTiny, /*negative=*/true);
}

} // namespace tilewright
