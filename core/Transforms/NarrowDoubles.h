//===- NarrowDoubles.h - f64 to 16-bit floats in two steps ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// arith.truncf from f64 to f16 or bf16 through f32 with one rounding.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NARROWDOUBLES_H
#define TILEWRIGHT_CORE_TRANSFORMS_NARROWDOUBLES_H

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// Rewrites every narrowing from f64 to a float of 16 bits or less below `root`, scalar or vector.
void narrowDoubles(mlir::Operation *root);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NARROWDOUBLES_H
