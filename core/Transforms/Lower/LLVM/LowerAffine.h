//===- LowerAffine.h - Affine ops as plain ones -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where operands are no affine indices any more (loops of the host, quotients
/// and remainders of a lane's number), loops and accesses become plain ones.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_LOWERAFFINE_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_LOWERAFFINE_H

#include "mlir/IR/Operation.h"

namespace tilewright {

/// Affine control flow and accesses in `roots`, and these themselves, become those of scf, memref and vector.
/// `keepIndices`: affine.apply, affine.min and affine.max stay.
mlir::LogicalResult lowerAffine(llvm::ArrayRef<mlir::Operation *> roots, mlir::MLIRContext *context,
                                bool keepIndices = false);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_LOWERAFFINE_H
