//===- SumChains.h - Sums that begin anew -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the registers of a tile sum up what is long:
///
///   s = 0;  for k < 5632 { s += a[k] b[k] }
///   ->
///   s = 0;  for 11 chains { t = 0;  for k < 512 { t += a[..] b[..] };  s += t }
///
/// The rounding errors of n additions one after the other, of numbers with random signs, grow with the square root of
/// n (N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2 and 2.8); those of chains of c
/// that are added up with that of c + n / c. A chain more costs a load, an addition and a store for each register of
/// sums, 0.4 % of the time of 512 steps.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SUMCHAINS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SUMCHAINS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <optional>

namespace tilewright {

/// Where the loops of a sum begin it anew.
struct SumChains {
  std::optional<size_t> loop; // of those that are given; nullopt: all is one chain
  int64_t iterations = 0;     // of this loop, in each chain
  int64_t count = 1;          // of chains, in all loops

  /// Additions of a chain. A sum of at most twice as many stays one: a second chain took 2 to 5 % of the time of a
  /// product of k = 1024, for a quarter of its error (docs/contraction-model.md).
  static constexpr int64_t longest = 512;

  /// The chains of loops of `trips` iterations, outermost first, the innermost of which adds `additions` numbers in
  /// each iteration. The innermost loop is cut where that is possible; a loop around shorter chains begins them anew
  /// in each iteration, if they are half as long at least.
  static SumChains of(llvm::ArrayRef<int64_t> trips, int64_t additions) {
    SumChains chains;
    int64_t inside = additions;
    for (size_t loop = trips.size(); loop-- > 0; inside *= trips[loop]) {
      const bool isInnermost = loop + 1 == trips.size();
      if (inside * trips[loop] <= 2 * longest || (!isInnermost && 2 * inside < longest))
        continue;
      chains.loop = loop;
      chains.iterations = isInnermost ? cut(trips[loop], std::max<int64_t>(1, longest / inside)) : 1;
      chains.count = llvm::divideCeil(trips[loop], chains.iterations);
      for (int64_t outer : trips.take_front(loop))
        chains.count *= outer;
      break;
    }
    return chains;
  }

private:
  /// Iterations of a chain, at most `most`: a divisor of `trips`, if one of at least half of `most` is.
  static int64_t cut(int64_t trips, int64_t most) {
    const int64_t least = llvm::divideCeil(trips, most);
    for (int64_t parts = least; parts <= 2 * least; ++parts)
      if (trips % parts == 0)
        return trips / parts;
    return llvm::divideCeil(trips, least);
  }
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SUMCHAINS_H
