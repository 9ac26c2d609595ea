//===- MathExpansion.h - Elementary functions as arithmetic -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Elementary functions written as arithmetic on one f32 or f64 value or on a
/// vector of them, so that 16 lanes cost what one costs, and free of branches
/// but for the reduction of large angles. All honour infinity, NaN and
/// denormals. Largest errors found over all exponents, in units in the last
/// place of f32 (test/integration/test_math_accuracy.py):
///
///   exp, exp2   1.1    log, log2   1.0    tanh         2.5    erf    0.9    normalCdf2  3.3
///   expm1       1.6    log1p       1.5    sinh, cosh   2.9    erfc   3.6    gelu        3.8
///   sin, cos    2.1    tan         3.5    asin, atan   2.0    acos   1.3    atan2       1.9
///   asinh       1.9    acosh       1.8    atanh        1.9    cbrt   1.0    pow         1.1
///
/// The range reduction of exp: x = n ln2 + r, |r| <= ln2/2, e^x = 2^n e^r, where e^r is a minimax polynomial. The
/// error function and its relatives stand in ErrorFunction.cpp, angles in Trigonometry.cpp, powers in Powers.cpp.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_MATHEXPANSION_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_MATHEXPANSION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "tilewright/TargetDescription.h"
#include <optional>

namespace tilewright {

/// What a chip does in one instruction, by its numbers.
struct MathInstructions {
  bool scale = false;                       // multiplies by a power of two
  bool exp2 = false;                        // 2^x of an f32, to two units in the last place
  std::optional<LaneInstruction> shortExp2; // the same, where denormal results may be 0
  bool maximum = false;                     // the larger or smaller of two f32, NaN where one is
};

/// Instructions that one operation of a body becomes: all but divisions and roots, and these, which have a unit of
/// their own.
struct ArithmeticWork {
  double instructions = 0, divisions = 0;
};

/// Counts what the expansion of `op`, on scalars, is made of: of constants nothing, of others an instruction each. The
/// expansion is the one without a chip's own instructions.
ArithmeticWork arithmeticOf(mlir::Operation *op);

/// Builds expansions of one type: f32, f64 or a vector of one.
class MathExpansion {
public:
  MathExpansion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, const MathInstructions &has);

  /// e^(x + correction); the correction, if there is one, is small against x.
  mlir::Value exp(mlir::Value x, mlir::Value correction = {});
  mlir::Value exp2(mlir::Value x);
  /// Whether the chip has an instruction for the two below.
  bool hasShortExp() const { return shortExp2Record; }
  /// e^x and 2^x by one instruction, of x log2(e) as it is rounded: each is wrong by a part of 2^-24 |x| more, and what
  /// is below the smallest normal number may be 0. For values that only sums and roundings of their own size read.
  mlir::Value shortExp(mlir::Value x);
  /// e^(x - base), where `base` repeats a few numbers, in one fused operation and one instruction an element.
  mlir::Value shortExp(mlir::Value x, mlir::vector::ShuffleOp base);
  mlir::Value shortExp2(mlir::Value x);
  mlir::Value expm1(mlir::Value x);
  /// Logarithm to base e, 2 or 10.
  mlir::Value log(mlir::Value x, int base = 0);
  mlir::Value log1p(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  mlir::Value erfc(mlir::Value x);
  /// 1 + erf(x / sqrt 2), accurate in both tails.
  mlir::Value normalCdf2(mlir::Value x);
  /// x / 2 * (1 + erf(x / sqrt 2)), accurate in both tails.
  mlir::Value gelu(mlir::Value x);
  mlir::Value rsqrt(mlir::Value x);
  mlir::Value sinh(mlir::Value x);
  mlir::Value cosh(mlir::Value x);
  /// sin(x + quarters * pi/2).
  mlir::Value sin(mlir::Value x, int quarters = 0);
  mlir::Value cos(mlir::Value x);
  mlir::Value tan(mlir::Value x);
  mlir::Value asin(mlir::Value x);
  mlir::Value acos(mlir::Value x);
  mlir::Value atan(mlir::Value x);
  mlir::Value atan2(mlir::Value y, mlir::Value x);
  mlir::Value pow(mlir::Value x, mlir::Value y);
  mlir::Value cbrt(mlir::Value x);
  mlir::Value asinh(mlir::Value x);
  mlir::Value acosh(mlir::Value x);
  mlir::Value atanh(mlir::Value x);

  // Arithmetic on the type; constants are splat.
  mlir::Value constant(double value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value abs(mlir::Value x);
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);

private:
  /// x = n ln2 + r: n rounded to an integer, as a float and as `rounded` = n + 1.5 * 2^mantissa bits.
  struct Reduced {
    mlir::Value n, rounded, r;
  };
  mlir::Value integer(int64_t value);
  mlir::Value toBits(mlir::Value x);
  mlir::Value fromBits(mlir::Value x);
  mlir::Value intrinsic(llvm::StringRef name, mlir::ValueRange operands);
  mlir::Value expByExp2(mlir::Value x, mlir::Value correction);
  mlir::Value minimum(mlir::Value x, double bound); // NaN stays
  mlir::Value maximum(mlir::Value x, double bound);
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients); // of x^0, x^1, ...
  Reduced roundScaled(mlir::Value x, double factor);
  Reduced reduce(mlir::Value x, mlir::Value correction = {}); // of x + correction
  mlir::Value expm1OfReduced(mlir::Value r);
  mlir::Value scale(mlir::Value x, const Reduced &reduced);
  mlir::Value zeroBelow(double bound, mlir::Value x, mlir::Value value);
  mlir::Value powerOfTwo(const Reduced &reduced, int offset = 0, bool negative = false);
  mlir::Value exp2m1OfReduced(mlir::Value r);
  mlir::Value erfSmall(mlir::Value x); // |x| <= 1
  /// x = n pi/2 + r: n as an integer whose two lowest bits are right.
  struct Angle {
    mlir::Value r, n;
  };
  Angle reduceAngle(mlir::Value x);
  Angle reduceLarge(mlir::Value x);
  mlir::Value sinOfReduced(mlir::Value r);
  mlir::Value cosOfReduced(mlir::Value r);
  mlir::Value hasBit(mlir::Value n, int bit);
  mlir::Value asinOrHalfAcos(mlir::Value t, mlir::Value isLarge);
  mlir::Value atanOfQuotient(mlir::Value y, mlir::Value x);
  /// x = 2^n m of a positive x, sqrt(1/2) <= m <= sqrt 2; n as a float.
  struct Mantissa {
    mlir::Value n, m;
  };
  Mantissa splitMantissa(mlir::Value x);
  struct Pair {
    mlir::Value high, low;
  };
  Pair logPair(mlir::Value x);
  mlir::Value both(mlir::Value p, mlir::Value q) { return mlir::arith::AndIOp::create(b, loc, p, q); }
  mlir::Value either(mlir::Value p, mlir::Value q) { return mlir::arith::OrIOp::create(b, loc, p, q); }
  /// Twice the upper part of the normal distribution as a product: a power of two and a number near 2^-tailShift.
  struct Tail {
    mlir::Value power, rest;
  };
  Tail tail(mlir::Value z, bool gaussian, int halvings, bool negative);
  mlir::Value addTail(mlir::Value base, const Tail &tail, mlir::Value isTiny, bool negative);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type, integerType;
  bool isDouble, hasScale, hasExp2, hasMaximum;
  const LaneInstruction *shortExp2Record;
  int mantissa, bias;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_MATHEXPANSION_H
