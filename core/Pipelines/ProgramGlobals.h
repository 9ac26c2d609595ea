//===- ProgramGlobals.h - Globals of ml_program as constants ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Other importers keep weights, and the seed of random numbers, in globals. What nobody writes to is a constant,
/// whether it is called mutable or not:
///
///   ml_program.global private @w(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
///   %w = ml_program.global_load_const @w : tensor<2xf32>
///   ->
///   %w = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_PROGRAMGLOBALS_H
#define TILEWRIGHT_CORE_PIPELINES_PROGRAMGLOBALS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Replaces what reads a global of ml_program by its value. Fails after a diagnostic where an operation writes to one,
/// since programs keep nothing between calls, and where one that is read has no value here.
llvm::LogicalResult inlineProgramGlobals(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_PROGRAMGLOBALS_H
