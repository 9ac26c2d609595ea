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

#ifndef TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_VECTORACCESSES_H
#define TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_VECTORACCESSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// Makes loads and stores of single elements of accesses of vectors to memrefs: of any rank, with permutations, masks,
/// ends of arrays and gathered positions. What computes with vectors stays. Unless `all` is set, only of those that
/// LLVM has no form for: of several dimensions, across the order of the array, and of i1, which are bytes in memory and
/// bits in vectors.
mlir::LogicalResult lowerVectorAccesses(mlir::func::FuncOp function, bool all);

/// Calls `visit` with each position in a vector, in order.
void forEachPosition(mlir::VectorType type, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_VECTORACCESSES_H
