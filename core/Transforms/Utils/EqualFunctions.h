//===- EqualFunctions.h - Functions that do the same ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of functions that are equal up to names and locations, the first one:
///
///   func.func private @a(%x: memref<4xf32>) { fill 0.0, %x }      firstEqual(@a) = @a
///   func.func private @b(%y: memref<4xf32>) { fill 0.0, %y }      firstEqual(@b) = @a
///   func.func private @c(%x: memref<4xf32>) { fill 1.0, %x }      firstEqual(@c) = @c
///
/// Equal are the types, every attribute but the symbol's name, and the operations one by one.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_EQUALFUNCTIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_EQUALFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright {

class EqualFunctions {
public:
  /// The first function asked about that equals `function`, or `function` itself. Functions that were asked about stay
  /// as they are, or are erased where they were not the first.
  mlir::func::FuncOp firstEqual(mlir::func::FuncOp function);

private:
  llvm::DenseMap<size_t, llvm::SmallVector<mlir::func::FuncOp, 1>> known; // by hash
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_EQUALFUNCTIONS_H
