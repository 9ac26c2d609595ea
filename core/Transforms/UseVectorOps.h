//===- UseVectorOps.h - Element-wise chains as instructions of a vector unit ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requantisation by the `VectorOp` records of a chip: with a record of kind
/// "requantize" from i32 to i8 that scales, adds a zero point and saturates,
///
///   %f = arith.sitofp %x : vector<64xi32> to vector<64xf32>
///   %s = arith.mulf %f, %scale;  %r = math.roundeven %s;  %z = arith.addf %r, %zero
///   %c = arith.minimumf (arith.maximumf %z, -128), 127
///   %q = arith.fptosi %c : vector<64xf32> to vector<64xi8>
///
/// becomes %q = call @tilewright.vector.<record>.64(%x, %scale, %zero). Scales may differ between the elements; the
/// zero point is one whole number. Clamps that are tighter than the type stay as integer ones.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_USEVECTOROPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_USEVECTOROPS_H

#include "mlir/IR/BuiltinOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Rewrites all chains of vectors in `module` that a record of `chip` computes.
void useVectorOps(mlir::ModuleOp module, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_USEVECTOROPS_H
