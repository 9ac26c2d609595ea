//===- Overlap.h - The time of resources that work side by side -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Resources that work at the same time (units, loads, issue, memory) take the
/// time of the busiest if they overlap perfectly: the norm of infinite order of
/// their times. One after the other they take the sum: the norm of order one.
/// What a core does lies between, near the busiest while the others have room,
/// above it where another is nearly as busy, since each sometimes waits for the
/// other. A norm of a finite order has that shape:
///
///   (t1^4 + t2^4 + ..)^(1/4)      10 beside 1: 10.00025      10 beside 8: 10.9      10 beside 10: 11.9
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_OVERLAP_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_OVERLAP_H

#include <cmath>
#include <initializer_list>

namespace tilewright {

/// The time of resources that overlap, but not perfectly: the fourth root of the sum of the fourth powers of `times`,
/// what each takes alone, in the unit of them (none is negative). The order is a choice, not derived: that of the form
/// to which the fields `hidden` and `exposed` were fitted (docs/contractions.md), and two square roots compute it.
inline double overlapped(std::initializer_list<double> times) {
  double sum = 0;
  for (double time : times)
    sum += time * time * time * time;
  return std::sqrt(std::sqrt(sum));
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_OVERLAP_H
