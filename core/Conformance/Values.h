//===- Values.h - Inputs of conformance cases -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random, extreme and special values, the same on every machine.
///
///   random    floats: standard normal; integers: -8 to 7, unsigned 0 to 15
///   extreme   floats: +-2^e (1 + f) with e over the range that products of two can be
///             summed in without overflow; integers: the ends of the range, 0 and +-1
///   special   random, with NaN, infinities, signed zeros and denormals among them
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_VALUES_H
#define TILEWRIGHT_CORE_CONFORMANCE_VALUES_H

#include "core/Runtime/Array.h"

namespace tilewright::conformance {

enum class Values { Random, Extreme, Special };
const char *nameOf(Values values);

/// What an input may hold.
enum class Domain {
  Any,
  Positive, // magnitudes, no zero: roots, logarithms, divisors
  NearOne,  // 1 + x / 16: factors of long products
  Small,    // -2 to 2: arguments of functions that grow fast
  Shift,    // 0 to 7: distances of shifts
  Places    // pairs that ascend modulo 4, of i8: where two kept elements of four stand
};

void fill(Array &array, Values values, Domain domain, uint64_t seed);

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_VALUES_H
