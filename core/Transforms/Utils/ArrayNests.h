//===- ArrayNests.h - Loops over arrays, and moved accesses -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What passes write that compute an array, or a part of one, in another place: the nest over its elements, and the
/// accesses that go there.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_ARRAYNESTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_ARRAYNESTS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"

namespace tilewright {

/// Loops from 0 to each of `sizes`, the first one outermost; the builder then stands in the innermost. Where
/// `extents[d]` is given and not null, it is the size. Their induction variables.
llvm::SmallVector<mlir::Value> elementLoops(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> sizes,
                                            llvm::ArrayRef<mlir::Value> extents = {});

/// Erases an allocation that is only freed, with that; a value that is none, or that is used, stays.
void eraseUnused(mlir::Value memref);

/// Lets an affine.load or affine.store access the element at `map` of `operands` in `memref`, an array of the same type
/// of elements.
void moveAccess(mlir::Operation *access, mlir::Value memref, mlir::AffineMap map, mlir::ValueRange operands);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_ARRAYNESTS_H
