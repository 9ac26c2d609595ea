//===- LaneTail.h - What a kernel does with its sums ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The epilogue of a contraction on lanes, as the cost model counts it: which arrays are
/// read and written where C's fragments lie, and how many of these lie side by side.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANETAIL_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANETAIL_H

#include "core/CostModel/Time/LaunchPrediction.h"
#include "core/Transforms/Contraction/ContractionEmitter.h"
#include "mlir/IR/Operation.h"

namespace tilewright {

/// Of one fragment of C in `grid`, which was written by `plan`: every load from an array into a fragment, and every
/// store.
LaneTail tailOf(mlir::Operation *grid, const LaneContractionPlan &plan, const LaneHierarchy &hierarchy);

/// Elements of a lane that loads, maps and the store behind a sum take at a time, where the smallest element of them
/// has `bytes`.
int64_t elementsTogether(int64_t bytes);

/// How many units of `plan`, neighbours in a row, shall give their results together: as many as make the stores of
/// `task` the shortest for each, with what lanes shuffle before (core/CostModel/Copies/ExchangeModel.h). A power of
/// two that divides the units of a subgroup's row.
int64_t unitsTogether(const ContractionTask &task, const LaneContractionPlan &plan, const TargetDescription &chip,
                      const LaneHierarchy &hierarchy);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANETAIL_H
