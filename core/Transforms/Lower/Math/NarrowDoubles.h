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

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_NARROWDOUBLES_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_NARROWDOUBLES_H

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// Rewrites every narrowing from f64 to a float of at most `mostBits` bits below `root`, scalar or vector.
void narrowDoubles(mlir::Operation *root, unsigned mostBits = 16);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_NARROWDOUBLES_H
