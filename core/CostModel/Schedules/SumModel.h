//===- SumModel.h - Parts of sums that are too few ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Into how many parts the rows are cut that a SIMT target sums columns of, one
/// lane for each column of a part:
///
///   clocks(P) = max(bytes / bandwidth of global memory, waves(columns x P) x rows / P x latency / loads under way)
///               + P > 1: a launch, and the same for the P rows of partial sums
///
/// and into how many parts sums over whole rows are cut, where there are fewer rows than the chip has room for:
///
///   clocks(P) = clocks of rows x P rows of the P-th part of the length (RowModel.h)
///               + P > 1: a launch, and clocks of rows of P partial sums
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SUMMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SUMMODEL_H

#include "core/CostModel/Schedules/RowModel.h"

namespace tilewright {

/// What is to be summed up: `rows` rows of `columns` elements.
struct ColumnTask {
  int64_t rows = 1, columns = 1;
  int64_t bytes = 0;        // read for each element by all arrays together
  int64_t partialBytes = 0; // of one partial result of each column
};

struct SumPlan {
  int64_t parts = 1;
  double clocks = 0, seconds = 0;

  llvm::json::Object toJSON() const;
  int64_t key() const { return parts; }
};

/// The divisor of the rows of the fewest clocks; one part where the chip has no memory whose rate is known.
/// `considered` receives all.
SumPlan planColumnSums(const ColumnTask &task, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                       std::vector<SumPlan> *considered = nullptr);

/// The same of `trips`, iterations of the outermost loop along the rows of `task`, with partial sums of `partialBytes`.
SumPlan planRowSums(const RowTask &task, int64_t trips, int64_t partialBytes, const TargetDescription &chip,
                    const LaneHierarchy &hierarchy, std::vector<SumPlan> *considered = nullptr);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SUMMODEL_H
