//===- Trigonometry.cpp - sin, cos, tan and their inverses as arithmetic --===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x = n pi/2 + r with |r| <= pi/4: three parts of pi/2 give r of moderate x, each
// by one multiply-add. For large x only the bits of 2/pi count that do not make
// whole turns (Payne and Hanek): three words of them, taken out of the constant by
// the exponent of x, times the mantissa of x, all in integers. That part stands
// behind a branch that is taken where a lane needs it.
//
// scripts/fit-polynomial.py computes the tables; the error of each fit, relative
// to the function, stands beside it.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>
#include <limits>

using namespace mlir;
using arith::CmpFPredicate;

namespace tilewright {

// (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 as polynomials of r^2, |r| <= pi/4.
static constexpr double sin32[] = {-0.166666552, 0.00833218917, -0.000195182845}; // 4.0e-9
static constexpr double sin64[] = {-0.1666666666666663,   0.0083333333333219135,  -0.00019841269829453539,
                                   2.7557313580602077e-6, -2.5050742090411305e-8, 1.5895932519414979e-10}; // 3.8e-18
static constexpr double cos32[] = {0.0416666456, -0.00138873106, 2.4432562e-5};                            // 1.2e-10
static constexpr double cos64[] = {0.041666666666666595,   -0.0013888888888873342, 2.480158728900232e-5,
                                   -2.7557314217185069e-7, 2.0875705424947337e-9,  -1.13587511108152e-11}; // 5.7e-20
// (asin x - x) / x^3 as a polynomial of x^2, |x| <= 1/2.
static constexpr double asin32[] = {0.166667521, 0.0749530941, 0.0454691127, 0.0241851714, 0.042157352}; // 4.8e-9
static constexpr double asin64[] = {0.16666666666665411,  0.075000000003364334,  0.044642856828851704,
                                    0.030381959114520286, 0.022371758588463651,  0.017359696871999557,
                                    0.013885309920514385, 0.01216875008962596,   0.0065298461049853023,
                                    0.019523488321237004, -0.016217276367103153, 0.031907824082529665}; // 1.5e-17
// (atan x - x) / x^3 as a polynomial of x^2, |x| <= tan(pi/8).
static constexpr double atan32[] = {-0.333333164, 0.199985296, -0.142444283, 0.105994627, -0.0609079748}; // 7.0e-10
static constexpr double atan64[] = {-0.33333333333333198,  0.19999999999953705,   -0.14285714280204051,
                                    0.11111110783737863,   -0.090908977646691605, 0.076920603364793796,
                                    -0.066631055136253739, 0.058479009707047794,  -0.050393628839561902,
                                    0.038066198081589807,  -0.017909187154859285}; // 1.3e-18
/// pi/2 as a sum of numbers of the type.
static constexpr double halfPi32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
static constexpr double halfPi64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
// 2/pi, its bits behind the point.
static constexpr uint64_t twoOverPi32[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                           0xdb629599, 0x3c439041, 0xfe5163ab};
static constexpr uint64_t twoOverPi64[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

//===----------------------------------------------------------------------===//
// The angle
//===----------------------------------------------------------------------===//

/// x = n pi/2 + r for |x| >= 2^17 (f32), 2^30 (f64); something for other x.
MathExpansion::Angle MathExpansion::reduceLarge(Value x) {
  const int width = isDouble ? 64 : 32, logWidth = isDouble ? 6 : 5;
  auto add = [&](Value a, Value c) { return arith::AddIOp::create(b, loc, a, c).getResult(); };
  auto sub = [&](Value a, Value c) { return arith::SubIOp::create(b, loc, a, c).getResult(); };
  auto band = [&](Value a, Value c) { return arith::AndIOp::create(b, loc, a, c).getResult(); };
  auto left = [&](Value a, Value c) { return arith::ShLIOp::create(b, loc, a, c).getResult(); };
  auto right = [&](Value a, Value c) { return arith::ShRUIOp::create(b, loc, a, c).getResult(); };
  auto is = [&](arith::CmpIPredicate p, Value a, Value c) {
    return arith::CmpIOp::create(b, loc, p, a, c).getResult();
  };
  Value bits = toBits(abs(x)), field = right(bits, integer(mantissa));
  int64_t implicit = int64_t(1) << mantissa;
  Value m = add(band(bits, integer(implicit - 1)), integer(implicit));
  // Bits of 2/pi before this one make multiples of four. One word of zeros stands in front of the constant.
  Value start = sub(field, integer(bias + mantissa + 2 - width));
  Value word = right(start, integer(logWidth)), shift = band(start, integer(width - 1));

  SmallVector<Value> words{integer(0)};
  for (uint64_t each : isDouble ? ArrayRef<uint64_t>(twoOverPi64) : ArrayRef<uint64_t>(twoOverPi32))
    words.push_back(integer(int64_t(isDouble ? each : uint64_t(int64_t(int32_t(each))))));
  for (int step = isDouble ? 16 : 4; step != 0; step /= 2) {
    Value moves = is(arith::CmpIPredicate::ne, band(word, integer(step)), integer(0));
    SmallVector<Value> next;
    for (int i = 0; i < 3 + step; ++i) { // four words, and as many as later steps can move by
      Value far = size_t(i + step) < words.size() ? words[i + step] : integer(0);
      next.push_back(select(moves, far, size_t(i) < words.size() ? words[i] : integer(0)));
    }
    words = next;
  }
  Value a[3];
  for (int i = 0; i < 3; ++i) {
    Value low = right(right(words[i + 1], integer(1)), sub(integer(width - 1), shift));
    a[i] = arith::OrIOp::create(b, loc, left(words[i], shift), low);
  }

  // The product's last three words: a quarter of x * 2/pi, behind the point.
  auto lowest = arith::MulUIExtendedOp::create(b, loc, m, a[2]);
  auto middle = arith::MulUIExtendedOp::create(b, loc, m, a[1]);
  auto carry = [&](Value sum, Value part) {
    return arith::ExtUIOp::create(b, loc, integerType, is(arith::CmpIPredicate::ult, sum, part)).getResult();
  };
  Value p2 = lowest.getLow(), p1 = add(lowest.getHigh(), middle.getLow());
  Value p0 = add(add(arith::MulIOp::create(b, loc, m, a[0]), middle.getHigh()), carry(p1, middle.getLow()));
  Angle angle;
  angle.n = right(add(p0, integer(int64_t(1) << (width - 3))), integer(width - 2));
  p0 = sub(p0, left(angle.n, integer(width - 2)));
  // What is left, without its sign, in pieces that the type holds.
  Value isNegative = is(arith::CmpIPredicate::slt, p0, integer(0));
  Value flip = select(isNegative, integer(-1), integer(0)), sum;
  const int piece = width / 2;
  for (Value each : {p2, p1, p0}) {
    Value positive = arith::XOrIOp::create(b, loc, each, flip);
    for (Value half : {band(positive, integer((int64_t(1) << piece) - 1)), right(positive, integer(piece))}) {
      Value number = arith::UIToFPOp::create(b, loc, type, half);
      sum = sum ? fma(sum, constant(std::ldexp(1.0, -piece)), number) : number;
    }
  }
  double turn = std::ldexp(1.0, 2 - piece); // of the topmost piece, in quarters of a turn
  const double *halfPi = isDouble ? halfPi64 : halfPi32;
  Value scaled = mul(sum, constant(turn));
  angle.r = fma(scaled, constant(halfPi[0]), mul(scaled, constant(halfPi[1])));
  angle.r = select(isNegative, mul(angle.r, constant(-1)), angle.r);
  Value isBackwards = compare(CmpFPredicate::OLT, x, constant(0));
  angle.n = select(isBackwards, sub(integer(0), angle.n), angle.n);
  angle.r = select(isBackwards, mul(angle.r, constant(-1)), angle.r);
  Value isFinite = compare(CmpFPredicate::OLT, abs(x), constant(std::numeric_limits<double>::infinity()));
  angle.r = select(isFinite, angle.r, constant(std::nan("")));
  return angle;
}

MathExpansion::Angle MathExpansion::reduceAngle(Value x) {
  const double *halfPi = isDouble ? halfPi64 : halfPi32;
  Reduced reduced = roundScaled(x, M_2_PI);
  Value r = fma(reduced.n, constant(-halfPi[0]), x); // exact
  r = fma(reduced.n, constant(-halfPi[1]), r);
  r = fma(reduced.n, constant(-halfPi[2]), r);
  Angle angle{r, toBits(reduced.rounded)};

  Value isLarge = compare(CmpFPredicate::OGT, abs(x), constant(isDouble ? 0x1p30 : 0x1p17)), any = isLarge;
  auto merged = [&] {
    Angle large = reduceLarge(x);
    return Angle{select(isLarge, large.r, angle.r), select(isLarge, large.n, angle.n)};
  };
  if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.getRank() != 1)
      return merged();
    any = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, isLarge);
  }
  auto branch = scf::IfOp::create(b, loc, TypeRange{type, integerType}, any, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  Angle here = merged();
  scf::YieldOp::create(b, loc, ValueRange{here.r, here.n});
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b, loc, ValueRange{angle.r, angle.n});
  return {branch.getResult(0), branch.getResult(1)};
}

//===----------------------------------------------------------------------===//
// sin, cos, tan
//===----------------------------------------------------------------------===//

Value MathExpansion::sinOfReduced(Value r) {
  Value square = mul(r, r), p = isDouble ? polynomial(square, sin64) : polynomial(square, sin32);
  return fma(mul(r, square), p, r);
}

Value MathExpansion::cosOfReduced(Value r) {
  Value square = mul(r, r), p = isDouble ? polynomial(square, cos64) : polynomial(square, cos32);
  return fma(mul(square, square), p, fma(square, constant(-0.5), constant(1)));
}

/// Whether bit `bit` of n is set.
Value MathExpansion::hasBit(Value n, int bit) {
  Value masked = arith::AndIOp::create(b, loc, n, integer(int64_t(1) << bit));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked, integer(0));
}

Value MathExpansion::sin(Value x, int quarters) {
  Angle angle = reduceAngle(x);
  Value n = quarters ? arith::AddIOp::create(b, loc, angle.n, integer(quarters)).getResult() : angle.n;
  Value y = select(hasBit(n, 0), cosOfReduced(angle.r), sinOfReduced(angle.r));
  y = select(hasBit(n, 1), mul(y, constant(-1)), y);
  // Keeps denormals exact, and the sign of zero.
  return quarters ? y : select(compare(CmpFPredicate::OLT, abs(x), constant(isDouble ? 0x1p-27 : 0x1p-13)), x, y);
}

Value MathExpansion::cos(Value x) { return sin(x, 1); }

Value MathExpansion::tan(Value x) {
  Angle angle = reduceAngle(x);
  Value s = sinOfReduced(angle.r), c = cosOfReduced(angle.r), isOdd = hasBit(angle.n, 0);
  Value y = div(select(isOdd, mul(c, constant(-1)), s), select(isOdd, s, c));
  return select(compare(CmpFPredicate::OLT, abs(x), constant(isDouble ? 0x1p-27 : 0x1p-13)), x, y);
}

//===----------------------------------------------------------------------===//
// The inverses
//===----------------------------------------------------------------------===//

/// asin of t for t <= 1/2, else half of acos of t: with the half angle, the argument of the polynomial is small again.
Value MathExpansion::asinOrHalfAcos(Value t, Value isLarge) {
  Value square = select(isLarge, mul(sub(constant(1), t), constant(0.5)), mul(t, t));
  Value root = select(isLarge, math::SqrtOp::create(b, loc, square), t);
  Value p = isDouble ? polynomial(square, asin64) : polynomial(square, asin32);
  return fma(mul(root, square), p, root);
}

Value MathExpansion::asin(Value x) {
  const double *halfPi = isDouble ? halfPi64 : halfPi32;
  Value t = abs(x), isLarge = compare(CmpFPredicate::OGT, t, constant(0.5)), y = asinOrHalfAcos(t, isLarge);
  Value large = add(fma(y, constant(-2), constant(halfPi[0])), constant(halfPi[1]));
  return copySign(select(isLarge, large, y), x);
}

Value MathExpansion::acos(Value x) {
  const double *halfPi = isDouble ? halfPi64 : halfPi32;
  Value t = abs(x), isLarge = compare(CmpFPredicate::OGT, t, constant(0.5)), y = asinOrHalfAcos(t, isLarge);
  Value around = add(sub(constant(halfPi[0]), copySign(y, x)), constant(halfPi[1]));
  Value twice = add(y, y), opposite = add(sub(constant(2 * halfPi[0]), twice), constant(2 * halfPi[1]));
  Value large = select(compare(CmpFPredicate::OLT, x, constant(0)), opposite, twice);
  return select(isLarge, large, around);
}

/// The angle of the point (x, y) in the first quadrant: of y / x, of (y - x) / (y + x) and an eighth of a turn, or of
/// -x / y and a quarter of one.
Value MathExpansion::atanOfQuotient(Value y, Value x) {
  const double *halfPi = isDouble ? halfPi64 : halfPi32, low = M_SQRT2 - 1, high = M_SQRT2 + 1;
  Value isSmall = compare(CmpFPredicate::OLE, y, mul(x, constant(low)));
  Value isMiddle = compare(CmpFPredicate::OLE, y, mul(x, constant(high)));
  Value above = select(isSmall, y, select(isMiddle, sub(y, x), mul(x, constant(-1))));
  Value below = select(isSmall, x, select(isMiddle, add(y, x), y));
  auto base = [&](int part) {
    return select(isSmall, constant(0), select(isMiddle, constant(halfPi[part] / 2), constant(halfPi[part])));
  };
  Value z = div(above, below), square = mul(z, z);
  Value p = isDouble ? polynomial(square, atan64) : polynomial(square, atan32);
  return add(base(0), fma(mul(z, square), p, add(z, base(1))));
}

Value MathExpansion::atan(Value x) { return copySign(atanOfQuotient(abs(x), constant(1)), x); }

Value MathExpansion::atan2(Value y, Value x) {
  const double *halfPi = isDouble ? halfPi64 : halfPi32;
  Value ax = abs(x), ay = abs(y), infinity = constant(std::numeric_limits<double>::infinity());
  // Two infinities are an eighth of a turn, two zeros nothing.
  Value both = arith::AndIOp::create(b, loc, compare(CmpFPredicate::OEQ, ax, infinity),
                                     compare(CmpFPredicate::OEQ, ay, infinity));
  ax = select(both, constant(1), ax);
  ay = select(both, constant(1), ay);
  ax = select(compare(CmpFPredicate::OEQ, add(ax, ay), constant(0)), constant(1), ax);
  // Sums of the largest numbers stay finite.
  Value largest = constant(isDouble ? 0x1p1021 : 0x1p125);
  Value isLarge =
      arith::OrIOp::create(b, loc, compare(CmpFPredicate::OGT, ax, largest), compare(CmpFPredicate::OGT, ay, largest));
  Value factor = select(isLarge, constant(0.25), constant(1));
  Value angle = atanOfQuotient(mul(ay, factor), mul(ax, factor));
  // The sign of zero counts, too.
  Value isLeft = compare(CmpFPredicate::OLT, copySign(constant(1), x), constant(0));
  Value turned = add(sub(constant(2 * halfPi[0]), angle), constant(2 * halfPi[1]));
  return copySign(select(isLeft, turned, angle), y);
}

} // namespace tilewright
