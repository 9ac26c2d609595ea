//===- StatementLoops.h - Loops around single statements --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Passes that look at nests see a statement without loops as a nest of one iteration.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_STATEMENTLOOPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_STATEMENTLOOPS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// Puts a loop of one iteration around the statement that ends in `store`: what computes its value in the same block.
/// It stays as it is where a value that it reads may have changed since.
void wrapStatement(mlir::affine::AffineStoreOp store);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_STATEMENTLOOPS_H
