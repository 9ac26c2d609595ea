//===- ElementPacking.h - Narrow elements side by side ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arrays of programs hold a float of 4 or 6 bits in a byte. A unit that reads the scratchpad by itself may want them
/// packed (core/Machine/PackedElements.h), and an engine copies bytes as they are. So a launch before the contraction
/// writes another array, with k as its fastest dimension:
///
///   A[i, k]                        a byte each
///   P[i, k / 2] or P[i, k]         as the unit reads them, rows of whole `packBytes`
///
/// Where the unit takes the magnitudes of scales alone, that launch moves their signs to the elements.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_ELEMENTPACKING_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_ELEMENTPACKING_H

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Machine/PackedElements.h"

namespace tilewright {

/// Bytes of such an array for the `k` elements of a row, whole `packBytes`; the last ones may be more than there are.
inline int64_t packedRowBytes(int64_t k, int64_t packed) { return llvm::divideCeil(k, packed) * packBytes; }

/// Whether a launch can write the array of `operand` for a unit that finds `packed` elements in `packBytes`: sizes are
/// known, all of k is, and `engine` tells its dimensions apart, those of outer loops, rows and bytes.
bool canPack(const LaneContractionPlan &plan, const Contraction &c, bool isA, int64_t packed, const CopyEngine &engine);

/// Seconds of the launches that write such arrays for the plan; 0: there are none.
double packingSeconds(const LaneContractionPlan &plan, const Contraction &c, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_ELEMENTPACKING_H
