//===- Judge.cpp - What an output may be ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares element by element.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Judge.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;

double conformance::unitRoundoff(ElementType type) { return epsilon(type) / 2; }
static double smallestNormal(ElementType type) {
  return type == ElementType::F64 ? 0x1p-1022 : type == ElementType::F16 ? 0x1p-14 : 0x1p-126;
}
/// What a product may lose below the normal numbers; those of f16 are not flushed.
static double lost(ElementType type) {
  return type == ElementType::F16 ? conformance::tiny(type) : smallestNormal(type);
}
double conformance::operationError(ElementType type) { return 2 * unitRoundoff(computeType(type)); }
double conformance::sumBound(ElementType accumulator, int64_t terms, double magnitude) {
  if (!isFloat(accumulator) || !std::isfinite(magnitude))
    return 0;
  double steps = static_cast<double>(terms) + 2;
  return steps * (2 * unitRoundoff(accumulator) * magnitude + lost(accumulator));
}

ElementType conformance::computeType(ElementType type) {
  return type == ElementType::F64 ? ElementType::F64 : ElementType::F32;
}

double conformance::tiny(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 0x1p-1074;
  case ElementType::F16:
    return 0x1p-24;
  case ElementType::BF16:
    return 0x1p-133;
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
  case ElementType::F8E4M3FNUZ:
  case ElementType::F8E5M2FNUZ:
  case ElementType::F8E8M0FNU:
    return smallest(type);
  default:
    return 0x1p-149;
  }
}

bool conformance::isDenormal(double x, ElementType type) {
  return isFloat(type) && x != 0 && std::fabs(x) < smallestNormal(type);
}
bool conformance::dependsOnFlush(double x, ElementType typeX, double y, ElementType typeY) {
  return (std::isinf(x) && isDenormal(y, typeY)) || (std::isinf(y) && isDenormal(x, typeX));
}

double conformance::judgeElement(double got, double expected, double bound, ElementType type, double &tolerance) {
  if (!isFloat(type)) {
    tolerance = bound;
    double error = std::fabs(got - expected);
    return error == 0 ? 0 : error <= tolerance ? error / tolerance : INFINITY;
  }
  tolerance = bound + unitRoundoff(type) * (std::fabs(expected) + bound) + tiny(type) / 2;
  if (std::isnan(expected))
    return std::isnan(got) ? 0 : INFINITY;
  // Without infinities NaN stands for what is too large.
  if (isFloat8(type) && type != ElementType::F8E5M2 && std::isnan(got) && std::isfinite(bound))
    return std::fabs(expected) + tolerance >= largest(type) ? 0 : INFINITY;
  if (!std::isfinite(bound))
    return 0; // nothing can be said of this element
  if (std::isnan(got))
    return INFINITY;
  bool isTooLarge = std::isinf(expected) || std::fabs(expected) - tolerance > largest(type);
  if (isFloat8(type) && type != ElementType::F8E5M2 && isTooLarge)
    return INFINITY;
  if (isTooLarge)
    return std::isinf(got) && (got > 0) == (expected > 0) ? 0 : INFINITY;
  if (std::isinf(got))
    return std::fabs(expected) + tolerance >= largest(type) && (got > 0) == (expected > 0) ? 0 : INFINITY;
  double error = std::fabs(got - expected);
  return error == 0 ? 0 : tolerance > 0 ? error / tolerance : INFINITY;
}

Verdict conformance::judge(const Array &got, const Expected &expected) {
  Verdict verdict;
  for (int64_t i = 0; i < got.count(); ++i) {
    double value = got.get(i), tolerance;
    double worst = judgeElement(value, expected.value[i], expected.bound[i], got.type(), tolerance);
    verdict.wrong += worst > 1;
    if (worst > verdict.worst || verdict.index < 0) {
      verdict.worst = worst;
      verdict.index = i;
      verdict.got = value;
      verdict.expected = expected.value[i];
      verdict.tolerance = tolerance;
    }
  }
  verdict.passed = verdict.wrong == 0;
  return verdict;
}
