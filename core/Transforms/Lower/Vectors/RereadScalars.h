//===- RereadScalars.h - Loads that stay one for each iteration -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Taps of a window read most elements that the taps before them have read. LLVM unrolls a loop over a few taps, loads
/// what it sees twice once, and where the sums hold the registers it spills what it keeps: a store and a load a tap for
/// what a load alone had given. So the index of the loop is hidden from it, once for an iteration:
///
///   %0 = arith.index_cast %tap : index to i64
///   %1 = llvm.inline_asm "", "=r,0" %0 : (i64) -> i64      no instruction; LLVM does not know that %1 is %0
///   %2 = arith.index_cast %1 : i64 to index
///
/// A 3 x 3 window on 4 x 24 sums: 182 instructions for 108 FMA instead of 190, none of which touches the stack (30).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_REREADSCALARS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_REREADSCALARS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Hides the indices of loops from the addresses of the loads with `reread` that stand in their bodies.
void hideRereadIndices(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_REREADSCALARS_H
