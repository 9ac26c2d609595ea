//===- VectorTranspose.h - Square transposition in registers ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_VECTORTRANSPOSE_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_VECTORTRANSPOSE_H

#include "mlir/IR/Builders.h"

namespace tilewright {

/// Transposes n vectors of n elements of 32 or 64 bits (n a power of two, at least 128 bits a vector) by two-input
/// shuffles: first n/w x n/w blocks inside 128-bit lanes (unpack), then the lanes. log2(n) * n shuffles.
llvm::SmallVector<mlir::Value> transposeSquare(mlir::OpBuilder &builder, mlir::Location loc,
                                               llvm::ArrayRef<mlir::Value> rows);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_VECTORTRANSPOSE_H
