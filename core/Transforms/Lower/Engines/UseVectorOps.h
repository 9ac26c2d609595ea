//===- UseVectorOps.h - Element-wise chains as instructions of a vector unit ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requantisation (Requantisation.h) by the `VectorOp` records of a chip: with a record of kind "requantize" from i32
/// to i8 that scales, adds a zero point and saturates, the end of a chain of vectors,
///
///   %q = arith.fptosi %clamped : vector<64xf32> to vector<64xi8>
///
/// becomes %q = call @tilewright.vector.<record>.64(%x, %scale, %zero). Clamps that are tighter than the type stay as
/// integer ones.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_USEVECTOROPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_USEVECTOROPS_H

#include "mlir/IR/BuiltinOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Rewrites all chains of vectors in `module` that a record of `chip` computes.
void useVectorOps(mlir::ModuleOp module, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_USEVECTOROPS_H
