//===- Values.cpp - Inputs of conformance cases ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A counter hashed to 64 bits gives every number.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Values.h"
#include "core/Conformance/Judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

using namespace tilewright;
using namespace tilewright::conformance;

const char *conformance::nameOf(Values values) {
  return values == Values::Random ? "random" : values == Values::Extreme ? "extreme" : "special";
}

namespace {

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 0xd1b54a32d192ed03ull) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// 0 to n - 1.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  /// Uniform in (0, 1).
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
  /// Standard normal (Box-Muller).
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

private:
  uint64_t state;
};

double randomFloat(Random &random, Domain domain) {
  switch (domain) {
  case Domain::Positive:
    return std::fabs(random.normal()) + 0.125;
  case Domain::NearOne:
    return 1 + random.normal() / 16;
  case Domain::Small:
    return 4 * random.uniform() - 2;
  default:
    return random.normal();
  }
}

/// Exponents over which two factors multiply, and products add up, inside the type that they are computed in.
double extremeFloat(Random &random, ElementType type, Domain domain) {
  if (domain == Domain::Small || domain == Domain::NearOne)
    return randomFloat(random, domain);
  int range = type == ElementType::F64 ? 400 : type == ElementType::F16 ? 14 : isFloat8(type) ? 4 : 50;
  double value = std::ldexp(1 + random.uniform(), static_cast<int>(random.below(2 * range)) - range);
  return domain != Domain::Positive && (random.next() & 1) ? -value : value;
}

double specialFloat(Random &random, ElementType type, Domain domain) {
  switch (random.below(8)) {
  case 0: {
    double denormal = conformance::tiny(type) * static_cast<double>(1 + random.below(100));
    return domain != Domain::Positive && (random.next() & 1) ? -denormal : denormal;
  }
  case 1:
    return domain == Domain::Any && (random.next() & 1) ? -0.0 : 0.0;
  default:
    return randomFloat(random, domain);
  }
}

double integer(Random &random, ElementType type, Values values, Domain domain) {
  if (domain == Domain::Shift)
    return static_cast<double>(random.below(8));
  bool isUnsigned = type >= ElementType::U8 && type <= ElementType::U64;
  if (type == ElementType::Bool)
    return static_cast<double>(random.next() & 1);
  if (values != Values::Extreme)
    return static_cast<double>(random.below(16)) - (isUnsigned ? 0 : 8);
  double top = std::ldexp(1.0, static_cast<int>(8 * sizeOf(type)) - (isUnsigned ? 0 : 1));
  double ends[] = {top - 1, top - 1, isUnsigned ? top - 2 : -top, isUnsigned ? top - 1 : -top, 0, 1};
  return ends[random.below(6)];
}

} // namespace

void conformance::fill(Array &array, Values values, Domain domain, uint64_t seed) {
  Random random(seed);
  ElementType type = array.type();
  if (domain == Domain::Places) {
    for (int64_t i = 0; i + 1 < array.count(); i += 2) {
      const int64_t first = random.below(3), second = first + 1 + random.below(3 - first);
      for (auto [at, place] : {std::pair(i, first), std::pair(i + 1, second)}) // the bits above say nothing
        array.set(at, static_cast<double>(place + 4 * static_cast<int64_t>(random.below(64)) - 128));
    }
    return;
  }
  for (int64_t i = 0; i < array.count(); ++i) {
    if (!isFloat(type))
      array.set(i, integer(random, type, values, domain));
    else if (values == Values::Extreme)
      array.set(i, extremeFloat(random, type, domain));
    else if (values == Values::Special)
      array.set(i, specialFloat(random, type, domain));
    else
      array.set(i, randomFloat(random, domain));
  }
  if (values != Values::Special || !isFloat(type) || array.count() == 0)
    return;
  // Few of these: each one decides a whole row of a product or reduction.
  const double infinity = std::numeric_limits<double>::infinity();
  const double rare[] = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
  for (double value : rare)
    for (int64_t i = 0; i < 1 + array.count() / 400; ++i)
      array.set(random.below(array.count()), value);
}
