//===- Judge.h - What an output may be --------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one tolerance rule, of programs and of single instructions. An expected array
/// is a value and an error bound for each element, both in float64 and computed without
/// the compiler. The bound covers what the arithmetic may err; rounding to the type of
/// the output is added here:
///
///   |out - value| <= bound + u(T) (|value| + bound) + tiny(T) / 2
///
/// u(f64, f32, f16, bf16) = 2^-53, 2^-24, 2^-11, 2^-8 is the error of rounding to
/// nearest, relative to the result; tiny is the smallest denormal. NaN must be NaN, an
/// infinity the same one; a value beyond the largest of T must be infinite, one within
/// the tolerance of it may. 8-bit floats without infinities have NaN in its place.
/// Integers: the bound alone.
///
/// Bounds are made of two numbers. One operation errs by 2 u(C) of its result, C the
/// type that computes: matrix units may cut off instead of rounding, which doubles u.
/// In a sum of K products, in whatever order, each product is rounded once and passes
/// through at most K additions with the start, so that its factor is (1 + d)^(K + 1),
/// |d| <= 2 u. To first order; one operation more covers the rest where
/// (K + 1)^2 u <= 1, in f32 up to K = 4095:
///
///   |computed - exact| <= (K + 2) (2 u(C) (|c| + sum |a b|) + normal(C))
///
/// normal is the smallest normal number: units may flush what is smaller to zero (f16: the smallest denormal, none
/// does).
///
/// Programs compute in f32 at least; an instruction in the type of its C.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_JUDGE_H
#define TILEWRIGHT_CORE_CONFORMANCE_JUDGE_H

#include "core/Runtime/Array.h"

namespace tilewright::conformance {

struct Expected {
  std::vector<double> value, bound;
  /// Room for `count` elements.
  explicit Expected(int64_t count = 0) : value(count), bound(count) {}
};

struct Verdict {
  bool passed = true;
  double worst = 0; // largest error / tolerance; above 1 is wrong
  int64_t wrong = 0, index = -1;
  double got = 0, expected = 0, tolerance = 0; // of the worst element
};

/// Half the spacing of a float type's values around 1.
double unitRoundoff(ElementType type);
/// What one operation on values of `type` errs, relative to its result: 2 u of the type that computes them.
double operationError(ElementType type);
/// What a sum of `terms` products errs that `accumulator` holds; `magnitude` is |c| + sum |a b|. 0 for integers, and
/// where a term is infinite or NaN: so is the sum then, in any order.
double sumBound(ElementType accumulator, int64_t terms, double magnitude);
/// Error over tolerance of one element of an output of `type`; above 1 is wrong. `tolerance` is that of the rule.
double judgeElement(double got, double expected, double bound, ElementType type, double &tolerance);

/// The type that values of `type` are computed in: f64 for itself, f32 for narrower floats.
ElementType computeType(ElementType type);
/// The smallest positive value.
double tiny(ElementType type);
/// Whether `x` is a denormal of a float type. Units of several chips take such factors as zeros.
bool isDenormal(double x, ElementType type);
/// Whether the product of two factors depends on that: an infinity times a denormal.
bool dependsOnFlush(double x, ElementType typeX, double y, ElementType typeY);

Verdict judge(const Array &got, const Expected &expected);

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_JUDGE_H
