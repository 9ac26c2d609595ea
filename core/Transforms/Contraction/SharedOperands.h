//===- SharedOperands.h - Operands that tiles have in common ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A contraction in the tiles of a loop may read an operand that is the same in
/// all of them. If all of it is packed before the first, the packed copy is used
/// as often as there are tiles:
///
///   for tile: { pack b;  c[tile] += a[tile] * b }   ->   pack b;  for tile: c[tile] += a[tile] * b
///
/// The model counts the copy once for so many tiles, and `hoist-packing` moves it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SHAREDOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SHAREDOPERANDS_H

#include "core/CostModel/Schedules/ContractionModel.h"

namespace tilewright {

/// `options` with the number of tiles, one after the other, that each operand of `c` is the same in: the iterations of
/// the loops over tiles right around it which neither index nor write the operand.
PlanOptions withSharedOperands(PlanOptions options, const Contraction &c);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SHAREDOPERANDS_H
