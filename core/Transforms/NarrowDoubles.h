//===- NarrowDoubles.h - f64 to 16-bit floats in two steps ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// arith.truncf from f64 to floats of 16 and 8 bits through f32 with one rounding.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NARROWDOUBLES_H
#define TILEWRIGHT_CORE_TRANSFORMS_NARROWDOUBLES_H

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// Rewrites every arith.extf from bf16 to f64 below `root` as one to f32 and one from there: the first is a shift.
/// LLVM's own would keep a bf16, compare it where it can, and pass it between blocks in an f32, for which it calls
/// __truncsfbf2 on chips without bf16; the system's libraries lack that function.
void widenBfloatsBySingle(mlir::Operation *root);

/// Rewrites every narrowing from f64 to a float of at most `mostBits` bits below `root`, scalar or vector.
void narrowDoubles(mlir::Operation *root, unsigned mostBits = 16);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NARROWDOUBLES_H
