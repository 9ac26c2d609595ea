//===- PackElements.h - Narrow elements side by side ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The launch before a contraction that writes an operand as its unit reads it in the scratchpad
/// (core/CostModel/Copies/ElementPacking.h), here of f4E2M1FN for "<32 x i4>":
///
///   %p = memref.alloc : memref<4096x2048xi8>
///   affine.for %i = 0 to 4096 { affine.for %j = 0 to 2048 {
///     %p[%i, %j] = (%a[%i, %j * 2] & 15) | (%a[%i, %j * 2 + 1] & 15) << 4 } }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKELEMENTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKELEMENTS_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

/// Writes the array and the nest that fills it at `builder`; where the operand is read from then on: its access has the
/// dimensions of the nest of `c`, of which that of the sum counts bytes. The plan packs A, or B.
Access packElements(mlir::OpBuilder &builder, mlir::Location loc, const Contraction &c, const LaneContractionPlan &plan,
                    bool isA);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKELEMENTS_H
