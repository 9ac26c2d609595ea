//===- ErrorBound.cpp - Whether an element is within its bound ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rule of ErrorBound.h.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/ErrorBound.h"

#include <cmath>

using namespace tilewright;

/// `value` as an element of `type` holds it.
static double rounded(ElementType type, double value) {
  if (type == ElementType::F32)
    return static_cast<float>(value);
  Array element(type, {1});
  element.set(0, value);
  return element.get(0);
}

Judgement tilewright::judge(ElementType type, double got, double expected, double bound) {
  constexpr double infinity = HUGE_VAL;
  Judgement result;
  if (got == expected || (isFloat(type) && std::isfinite(expected) && got == rounded(type, expected)))
    return result;
  bool isShort = isFloat8(type);
  if (std::isnan(expected)) {
    if (isShort && std::isnan(got))
      return result;
    return {infinity, infinity, true};
  }
  result.error = std::fabs(got - expected);
  if (!(bound < infinity)) {
    result.error = 0;
    result.isJudged = false;
    return result;
  }
  double size = std::fabs(expected);
  if (isFloat(type) && std::isfinite(expected) && size + bound > largest(type)) {
    // May be, or must be, too large for the type.
    bool isInfinite = std::isinf(got) && std::signbit(got) == std::signbit(expected);
    bool isLargest = std::fabs(got) == largest(type) && std::signbit(got) == std::signbit(expected);
    if (isInfinite || (isShort && (std::isnan(got) || isLargest)))
      return {};
    if (size - bound > largest(type))
      return {infinity, infinity, true};
  }
  if (isShort && std::isinf(expected) && std::isnan(got))
    return {};
  if (std::isnan(result.error) || std::isinf(result.error))
    return {infinity, infinity, true};
  result.ratio = bound > 0 ? result.error / bound : infinity;
  return result;
}
