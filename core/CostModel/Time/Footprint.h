//===- Footprint.h - What a plan keeps in which memory ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bytes of a contraction's tiles in each memory of the chip, the bytes of its
/// arrays, and its operations: what --explain draws. Estimates by the words of the plan;
/// sizes that are not known count as 1 and are left out of the text.
///
///   registers   accumulators, one step of the vector and the scalar operand
///   caches      each the largest that it holds of: a panel of vectors over a block
///               of k with the rows that it is multiplied with; all rows of a block; all panels
///   global      the arrays
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_FOOTPRINT_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_FOOTPRINT_H

#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"

namespace tilewright {

/// {"footprints": [{"memory", "what", "bytes"}], "operations", "array_bytes"}
llvm::json::Object traffic(const Contraction &contraction, const ContractionPlan &plan, const TargetDescription &chip);
llvm::json::Object traffic(const Contraction &contraction, const LaneContractionPlan &plan,
                           const TargetDescription &chip);
llvm::json::Object traffic(const Contraction &contraction, const ScratchpadContractionPlan &plan,
                           const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_FOOTPRINT_H
