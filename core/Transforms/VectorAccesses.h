//===- VectorAccesses.h - Vectors of memory, element by element -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accesses of vectors that stand in the input program:
///
///   %v = vector.transfer_read %a[%i], %pad : memref<?xf32>, vector<4xf32>
///   -> for each of the 4: %x = scf.if %i + 2 < dim { memref.load %a[%i + 2] } else { %pad };  vector.insert %x, .. [2]
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_VECTORACCESSES_H
#define TILEWRIGHT_CORE_TRANSFORMS_VECTORACCESSES_H

#include "mlir/IR/PatternMatch.h"

namespace tilewright {

/// Patterns that make loads and stores of single elements of all accesses of vectors to memrefs: of any rank, with
/// permutations, masks, ends of arrays and gathered positions. What computes with vectors stays.
void populateVectorAccesses(mlir::RewritePatternSet &patterns);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_VECTORACCESSES_H
