//===- CoreInstructions.h - Instructions around a core's work ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a core of one thread spends on the code around its work, in clocks; counted in the code that is written for it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREINSTRUCTIONS_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREINSTRUCTIONS_H

#include <algorithm>
#include <cstdint>

namespace tilewright {

/// Of one iteration of a loop: counter, comparison, branches.
inline constexpr double loopClocks = 4;
/// Of a command to an engine: addresses, the call.
inline constexpr double commandClocks = 8;
/// Vectors that a loop moves or computes between two tests, at most: more would only lengthen the code.
inline constexpr int64_t mostBetweenTests = 8;

/// Of a row of `vectors`, those between two tests of the loop over it: nothing hides the test, so as many as make the
/// fewest of them, while each has one of `registers` for each of its loads, and one for its result.
inline int64_t vectorsBetweenTests(int64_t vectors, int64_t loads, int64_t registers) {
  int64_t best = 1;
  auto tests = [&](int64_t together) { return vectors / together + vectors % together; };
  for (int64_t each = 2; each <= std::min({mostBetweenTests, vectors, registers / (1 + loads)}); ++each)
    best = tests(each) <= tests(best) ? each : best;
  return best;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREINSTRUCTIONS_H
