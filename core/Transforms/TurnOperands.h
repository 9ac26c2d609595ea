//===- TurnOperands.h - Operands in the order that units read ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Units that read the scratchpad themselves, where an engine puts tiles, may read
/// an element type only in lines along k. Where an array has k elsewhere, lanes
/// would have to copy and turn it, for slower units; or it is turned as a whole
/// first, into a buffer:
///
///   for k, j: T[j, k] = B[k, j]
///   for i, j, k: C[i, j] += A[i, k] * T[j, k]
///
/// The model decides: the buffer is written and read once and takes a launch, so
/// it is worth it for large products.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TURNOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_TURNOPERANDS_H

#include "core/CostModel/LaneContractionModel.h"

namespace tilewright {

/// Rewrites `c` so, with a remark, if the plan for turned operands and their turning take less time than the plan as it
/// is; false, and nothing is changed, if not. `fast`, `overrides`: as for planLaneContraction.
bool turnOperands(const Contraction &c, const TargetDescription &chip, const LaneHierarchy &hierarchy, bool fast,
                  LanePlanOverrides overrides);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TURNOPERANDS_H
