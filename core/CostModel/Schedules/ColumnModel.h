//===- ColumnModel.h - Lanes for sums of columns ----------------*- C++ -*-===//
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
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_COLUMNMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_COLUMNMODEL_H

#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace tilewright {

/// What is to be summed up: `rows` rows of `columns` elements.
struct ColumnTask {
  int64_t rows = 1, columns = 1;
  int64_t bytes = 0;        // read for each element by all arrays together
  int64_t partialBytes = 0; // of one partial result of each column
};

struct ColumnPlan {
  int64_t parts = 1;
  double clocks = 0, seconds = 0;

  llvm::json::Object toJSON() const;
};

/// The divisor of the rows of the fewest clocks; one part where the chip has no memory whose rate is known.
/// `considered` receives all.
ColumnPlan planColumns(const ColumnTask &task, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                       std::vector<ColumnPlan> *considered = nullptr);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_COLUMNMODEL_H
