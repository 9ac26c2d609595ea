//===- SingleArithmetic.h - Short floats by way of f32 ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operations on short floats through f32, where chips have no instruction for
/// them and LLVM would call a function that the system's libraries lack.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_SINGLEARITHMETIC_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_SINGLEARITHMETIC_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir {
class Operation;
class Type;
} // namespace mlir

namespace tilewright {

/// Rewrites every arith.extf from bf16 to f64 below `root` as one to f32 and one from there: the first is a shift.
/// LLVM's own would keep a bf16, compare it where it can, and pass it between blocks in an f32, for which it calls
/// __truncsfbf2 on chips without bf16.
void widenBfloatsBySingle(mlir::Operation *root);

/// Rewrites every math.fma below `root`, of whose element type `isEmulated` says so, as one of f32 between conversions:
/// its result is rounded twice.
void fuseInSingle(mlir::Operation *root, llvm::function_ref<bool(mlir::Type)> isEmulated);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_SINGLEARITHMETIC_H
