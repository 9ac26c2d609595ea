//===- ErrorRules.h - How errors go through an operation --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each value v of the float64 reference has two companions (Twin), with u the unit roundoff of the type that the
/// program computes v in:
///
///   bound   what a computed value may differ from v at most (running error analysis: N. J. Higham, Accuracy and
///           Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 3.3)
///   spread  the same with the errors of the terms of a sum taken for independent: they add as squares do
///
/// The error of v that passes is the smaller of `bound` and 4 `spread` (the factor of N. J. Higham and T. Mary, A New
/// Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5), 2019: of errors that are uniform in
/// [-u, u] it is about 7 deviations). Without the second, bounds of programs of several products one after the other
/// grow by the length of each and soon excuse everything.
///
///   v = x + y     bound = X + Y + u |v|
///   v = x y       bound = X |y| + Y |x| + X Y + u |v|
///   v = x / y     bound = (X + |v| Y) / (|y| - Y) + 3 u |v|       infinite where Y >= |y|
///   v = f(x)      bound = max |f(x +- X) - v| + ulps(f) u |v|      f monotone; exact at steps of floor, round, ..
///   v = a sum of n terms in any order:
///                 bound  = sum of the terms' bounds + n u sum |terms|
///                 spread = root of the sum of the terms' squared spreads + root(n) u sum |terms|
///                 Terms with an error in common, such as a mean that is subtracted from each, add their spreads.
///   v = x < y     may be the other one where |x - y| <= X + Y: then a selection may be the other operand.
///
/// Where the reference is infinite or NaN, so must the result be: no bound. Beyond the largest number of the type that
/// computes, and where a comparison that is too close decides what is read, the bound is infinite: nothing can be said.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORRULES_H
#define TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORRULES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tilewright {

/// The companions of a value, in f64; of an array: arrays of the same shape.
struct Twin {
  mlir::Value bound, spread; // null: exact
  /// Of sums that still grow: sum |terms| and the number of additions. `bound` is then the sum of the terms' bounds,
  /// `spread` that of their squared spreads.
  mlir::Value magnitude, count;
  bool isExact() const { return !bound; }
  bool isSum() const { return bool(count); }
};

/// What a type can hold.
struct Rounding {
  double unit;    // half the spacing around 1; of f64 the spacing, since the reference errs as well
  double tiny;    // what may be lost below the normal numbers
  double largest; // finite
  static Rounding of(mlir::FloatType type);
};

class ErrorRules {
public:
  static constexpr double spreadFactor = 4;

  /// `operandSpacing`: of the numbers around 1 to which matrix units round factors of f32; 0: they do not.
  ErrorRules(mlir::OpBuilder &builder, double operandSpacing) : builder(builder), operandSpacing(operandSpacing) {}

  /// An operand: its value in f64 (integers and booleans as they are) and its twin.
  struct Operand {
    mlir::Value value;
    Twin twin;
  };

  /// The twin of the result of an operation of arith or math, whose floats are f64 already; `type` is the type that the
  /// program computes in. `isShared`: of the terms of a sum, by operand. The builder stands after `op`.
  Twin result(mlir::Operation *op, mlir::ArrayRef<Operand> operands, mlir::FloatType type,
              llvm::function_ref<bool(unsigned)> isShared);

  /// `twin` of a sum that grows no more.
  Twin finished(mlir::Value value, Twin twin, mlir::FloatType type);
  /// `twin` as that of a sum that grows.
  Twin growing(mlir::Value value, Twin twin);
  /// The smaller of `bound` and 4 `spread` of a finished twin; zero if exact.
  mlir::Value error(Twin twin);
  /// `twin`, or an unknown one where `condition` holds.
  Twin unknownWhere(mlir::Value condition, Twin twin);
  /// `twin` of a product or quotient that the program rounds to `type`, which is `value`, where the compiled program
  /// may round one of its operands instead.
  Twin roundedBeforeScaling(mlir::Value value, Twin twin, mlir::FloatType type);
  /// A condition, true where something that carries an error does carry one.
  mlir::Value isUnsure(Twin twin);
  /// `twin` of a value that is read from an array of `type`.
  Twin loaded(mlir::Value value, Twin twin, mlir::FloatType type);

  mlir::Value number(double value);
  mlir::Value magnitudeOf(mlir::Value value);

private:
  mlir::Value add(mlir::Value x, mlir::Value y); // null is zero
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value larger(mlir::Value x, mlir::Value y);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value asFloat(mlir::Value value);
  mlir::Value again(mlir::Operation *op, mlir::Value operand);
  mlir::Value bounded(mlir::Value value, mlir::Value error, double largest);
  Twin rounded(mlir::Value value, Twin twin, mlir::FloatType type, double units, mlir::Value more = {});
  Twin alike(mlir::Value error) { return {error, error, {}, {}}; }

  Twin sum(mlir::Value value, Operand x, Operand y, bool shared);
  Twin product(mlir::Value value, Operand x, Operand y);
  Twin quotient(mlir::Value value, Operand x, Operand y);
  Twin monotone(mlir::Operation *op, Operand x, bool hasSteps);
  Twin smooth(mlir::Operation *op, llvm::ArrayRef<Operand> operands);
  Twin selected(mlir::Operation *op, llvm::ArrayRef<Operand> operands);
  Twin compared(mlir::Operation *op, llvm::ArrayRef<Operand> operands);
  Twin ofIntegers(mlir::Operation *op, llvm::ArrayRef<Operand> operands);

  mlir::OpBuilder &builder;
  double operandSpacing;
  mlir::Location loc = builder.getUnknownLoc();
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_ERRORRULES_H
