//===- LaneTail.h - Results that leave together ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many results of a contraction on lanes leave together: elements of a lane, and
/// fragments that lie side by side.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANETAIL_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANETAIL_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Contraction/ContractionEmitter.h"

namespace tilewright {

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
