//===- ConsumerGroups.h - Each reader computes what it reads ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nests that read one large array in different orders cannot share its tiles:
///
///   s = q k;  a += s k  (for each row of s)       s' = q k;  a += s' k
///             b += s q  (for each column)    ->   s'' = q k;  b += s'' q
///
/// Each group of readers gets a copy of the array and of the nests that compute it, right before them, so that it may
/// become a chain of its own (ScheduleChains.cpp). Whether what is computed again costs less than the array that is
/// never in memory then is a question for the models.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CONSUMERGROUPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CONSUMERGROUPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// Which readers share what is computed for them.
enum class ConsumerGroups {
  BySum,    ///< Those that sum over the same dimension of wide arrays, or touch the same array that is not wide.
  ByResult, ///< Those that touch the same array that is not wide.
};

/// What was computed anew.
struct SeparateConsumers {
  size_t groups = 0;         ///< Of nests; 0: nothing was.
  int64_t leastElements = 0; ///< Of the wide arrays.
};

/// Rewrites the nests of `kernel`, whose sizes are constant, so that every group of readers computes the *wide* arrays
/// that it reads: those of the kernel's own with more elements than each of its results. No groups, and
/// nothing is changed, where fewer than two groups read one wide array, or nests would change places that may not.
SeparateConsumers separateConsumers(mlir::func::FuncOp kernel, ConsumerGroups by);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CONSUMERGROUPS_H
