//===- Judge.h - What an output may be --------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An expected array is a value and an error bound for each element, both in float64
/// and computed without the compiler. The bound covers what the arithmetic may err;
/// rounding to the type of the output is added here:
///
///   |out - value| <= bound + u(T) (|value| + bound) + tiny(T) / 2
///
/// u(f64, f32, f16, bf16) = 2^-53, 2^-24, 2^-11, 2^-8; tiny is the smallest
/// denormal. NaN must be NaN, an infinity the same one; a value beyond the largest of
/// T must be infinite, one within the tolerance of it may. Integers: the bound alone.
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

/// The type that values of `type` are computed in: f64 for itself, f32 for narrower floats.
ElementType computeType(ElementType type);
/// The largest finite value.
double largest(ElementType type);
/// The smallest positive value.
double tiny(ElementType type);

Verdict judge(const Array &got, const Expected &expected);

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_JUDGE_H
