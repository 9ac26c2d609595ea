//===- MathExpansion.h - Elementary functions as arithmetic -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Elementary functions written as branch-free arithmetic on one f32 or f64
/// value or on a vector of them, so that 16 lanes cost what one costs. All
/// honour infinity, NaN and denormals. Largest errors found over all exponents,
/// in units in the last place of f32 (test/integration/test_math_accuracy.py):
///
///   exp, exp2   1.1    log, log2   1.0    tanh         2.5    erf    0.9    normalCdf2  3.3
///   expm1       1.6    log1p       1.5    sinh, cosh   2.9    erfc   3.6    gelu        3.8
///
/// The range reduction of exp: x = n ln2 + r, |r| <= ln2/2, e^x = 2^n e^r, where e^r is a minimax polynomial. The
/// error function and its relatives stand in ErrorFunction.cpp.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_MATHEXPANSION_H
#define TILEWRIGHT_CORE_TRANSFORMS_MATHEXPANSION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tilewright {

/// Builds expansions of one type: f32, f64 or a vector of one.
class MathExpansion {
public:
  /// `hasScale`: the chip multiplies by a power of two in one instruction (capability "ldexp").
  MathExpansion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, bool hasScale);

  mlir::Value exp(mlir::Value x);
  mlir::Value exp2(mlir::Value x);
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
  /// Twice the upper part of the normal distribution as a product: a power of two and a number near 2^-tailShift.
  struct Tail {
    mlir::Value power, rest;
  };
  Tail tail(mlir::Value z, bool gaussian, int halvings, bool negative);
  mlir::Value addTail(mlir::Value base, const Tail &tail, mlir::Value isTiny, bool negative);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type, integerType;
  bool isDouble, hasScale;
  int mantissa, bias;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_MATHEXPANSION_H
