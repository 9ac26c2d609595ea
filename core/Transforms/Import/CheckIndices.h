//===- CheckIndices.h - Indices made of data, kept inside -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of check-operand-sizes that compares indices with their arrays.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_IMPORT_CHECKINDICES_H
#define TILEWRIGHT_CORE_TRANSFORMS_IMPORT_CHECKINDICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// Clamps the indices of `function` that are made of data (of elements, of scalars that the caller passes, of numbers
/// that loops carry) to their arrays, and has the call end where one was outside. Fails, with a diagnostic, where that
/// cannot be told: in loops that several threads run.
mlir::LogicalResult checkIndices(mlir::func::FuncOp function);

/// Whether the program clamps `index` to 0 .. last itself.
bool isClamped(mlir::Value index, int64_t last);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_IMPORT_CHECKINDICES_H
