//===- ErrorBound.h - Whether an element is within its bound ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rule of `--verify`, element by element: `expected` is the float64 reference, which no array has rounded, and
/// `bound` what a computed element may differ from it by, its own rounding included (ErrorRules.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_ERRORBOUND_H
#define TILEWRIGHT_CORE_PIPELINES_ERRORBOUND_H

#include "core/Runtime/Array.h"

namespace tilewright {

/// What one element shows.
struct Judgement {
  double error = 0;     // |got - expected|
  double ratio = 0;     // error / bound; above 1 is wrong
  bool isJudged = true; // false where the bound is infinite: nothing can be said
};

/// 1. Equal is right, and so is what the reference rounds to. 2. Where the reference is NaN, the element is wrong,
/// since NaN can be compared with nothing; in 8-bit floats, of which most have no infinity, NaN is right there. 3.
/// Without a bound nothing is said. 4. Beyond the largest number of the type the element is infinite, of the
/// reference's sign (8-bit floats: or NaN, or the largest).
/// 5. |got - expected| <= bound.
Judgement judge(ElementType type, double got, double expected, double bound);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_ERRORBOUND_H
