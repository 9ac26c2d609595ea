//===- SizeVersions.h - Which plan serves which sizes -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A plan that is best for large sizes may leave cores without work for small
/// ones. A nest of dynamic sizes therefore has *versions*, each with a plan, and
/// tests of its sizes, at the launch, that say which of them runs:
///
///         m <= 96 ?
///        yes      no
///     version 1   n <= 160 ?
///                yes      no
///             version 1   version 0
///
/// All of it follows from the prices that a model gives plans at sizes, here for
/// any model:
///
///   1. sizes      from one block of a unit to the largest that is assumed, powers of a factor and three quarters of
///                 each, all combinations; and 1, where there is one dynamic size
///   2. versions   the plan with the smallest product of its times; then, one after the other, the plan that lowers the
///                 product of the best times most, while that gains enough where it is the best
///   3. tests      each time the one that loses least, until what a test could gain is less than the model's error; its
///                 number is the size at which the times of both sides are the same, found by bisection
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SIZEVERSIONS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SIZEVERSIONS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace tilewright {

/// A test of one size, or the version that runs.
struct SizeTest {
  unsigned version = 0;     // where nothing is tested
  int dim = -1;             // the size that is tested; -1: none
  int64_t atMost = 0;       // elements
  unsigned yes = 0, no = 0; // tests that follow

  bool isVersion() const { return dim < 0; }
};

struct SizeVersions {
  llvm::SmallVector<unsigned> candidates; // of each version; the first one is the best for the largest sizes
  std::vector<SizeTest> tests;            // the first one is where to begin
};

/// The first of `tests` and what follows as JSON: the number of a version, or {"dimension", "at_most", "yes", "no"}.
llvm::json::Value toJSON(llvm::ArrayRef<SizeTest> tests, unsigned first = 0);

/// Seconds of a candidate where the dynamic dimensions have `sizes` elements; infinity: it cannot be.
using PriceAtSizes = llvm::function_ref<double(unsigned candidate, llvm::ArrayRef<int64_t> sizes)>;

/// The versions, `mostVersions` at most, of a nest with so many `candidates`, one at least, and so many dynamic
/// dimensions.
SizeVersions chooseVersions(unsigned candidates, unsigned dimensions, int64_t mostVersions, PriceAtSizes price);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SIZEVERSIONS_H
