//===- ScaledOperands.h - Scales that a unit applies ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operands of a contraction are computed by nests before it, as products of
/// elements and of one factor for a block of them along k. A unit that takes such
/// factors as operands, of both or of one, does not need these nests:
///
///   W[i, k] = ext A[i, k] * ext S[i, k floordiv 32]
///   V[j, k] = ext B[j, k] * ext T[j, k floordiv 32]
///   C[i, j] += W[i, k] * V[j, k]                    ->    C[i, j] += A[i, k] * B[j, k], with the scales S and T
///
/// What counts are the access maps and the types of the unit's record. The model
/// compares both: the buffers are written and read, and each takes a launch.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCALEDOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCALEDOPERANDS_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Fusion/OperandProducer.h"

namespace tilewright {

/// A contraction whose unit scales its operands.
struct ScaledOperands {
  Contraction contraction;                     // of the elements, with their scales
  llvm::SmallVector<OperandProducer, 2> nests; // that it does not need
  llvm::json::Array considered;                // "scaled_by" ("unit" or "buffers") and "seconds"
};

/// `c` so, with a remark; nullopt where its operands are computed otherwise, no unit takes elements and scales of these
/// types and blocks, or buffers are faster. `freedom`, `overrides`: as for planLaneContraction.
std::optional<ScaledOperands> findScaledOperands(const Contraction &c, const TargetDescription &chip,
                                                 const LaneHierarchy &hierarchy, NumericFreedom freedom,
                                                 LanePlanOverrides overrides);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCALEDOPERANDS_H
