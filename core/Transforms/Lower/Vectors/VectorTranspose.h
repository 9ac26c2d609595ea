//===- VectorTranspose.h - Transposition in registers -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_VECTORTRANSPOSE_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_VECTORTRANSPOSE_H

#include "mlir/IR/Builders.h"

namespace tilewright {

/// Transposes n vectors of n elements (n a power of two, at most 512 bits a vector) by two-input shuffles: first n/w x
/// n/w blocks inside 128-bit lanes (unpack), then the lanes. log2(n) * n shuffles.
llvm::SmallVector<mlir::Value> transposeSquare(mlir::OpBuilder &builder, mlir::Location loc,
                                               llvm::ArrayRef<mlir::Value> rows);

/// Transposes r vectors of c elements into c vectors of r, powers of two both. Fewer rows than columns stay in r
/// vectors until the columns are taken out of them; fewer columns than rows (the other way round) are first put side by
/// side: min(r, c) * log2(min(r, c)) shuffles on vectors of max(r, c) elements, and a part of a vector for each of the
/// max(r, c).
///
///   a0 a1 a2 a3   unpack   a0 b0 a1 b1   parts   a0 b0 | a1 b1 | a2 b2 | a3 b3
///   b0 b1 b2 b3            a2 b2 a3 b3
llvm::SmallVector<mlir::Value> transposeVectors(mlir::OpBuilder &builder, mlir::Location loc,
                                                llvm::ArrayRef<mlir::Value> vectors);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_VECTORTRANSPOSE_H
