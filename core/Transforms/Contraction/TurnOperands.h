//===- TurnOperands.h - Operands in the order that units read ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Units want k along the lines of a tile. Where an array has it elsewhere, lanes
/// turn tiles while they copy them, which takes instructions of the main loop, and
/// units that read the scratchpad themselves may not be reached at all. Or a launch
/// before turns the array as a whole, into a buffer:
///
///   for k, j: T[j, k] = B[k, j]
///   for i, j, k: C[i, j] += A[i, k] * T[j, k]
///
/// The model decides, for A, B or both: the buffer is written and read once and
/// takes a launch, so it is worth it for large products alone. Only operands that
/// the plan has to turn are looked at, and only while the fastest plan that the
/// chip's units allow would still win what the launches take.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_TURNOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_TURNOPERANDS_H

#include "core/Transforms/Contraction/OperandChoice.h"

namespace tilewright {

/// What was decided for a contraction.
struct TurnedOperands {
  llvm::SmallVector<mlir::Value> buffers;  // that it reads now; empty: nothing was changed
  llvm::json::Array considered;            // "transpose_before" and "seconds", with the launches, of what was compared
  std::optional<LaneContractionPlan> plan; // of the contraction as it is, where it stays so and was planned
};

/// Rewrites `c` so, with a remark, for those operands for which the plan and the launches before it take the least
/// time. `forced`: for these (`turnsA`, `turnsB`, both or 0) whatever they take; failure, with an error, if one of them
/// is in order already or its array cannot be transposed. `freedom`, `overrides`: as for planLaneContraction.
mlir::FailureOr<TurnedOperands> turnOperands(const Contraction &c, const TargetDescription &chip,
                                             const LaneHierarchy &hierarchy, NumericFreedom freedom,
                                             LanePlanOverrides overrides, std::optional<int64_t> forced);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_TURNOPERANDS_H
