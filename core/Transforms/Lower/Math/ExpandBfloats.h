//===- ExpandBfloats.h - Conversions of bf16 as integers --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass expand-bfloats as a function, for what later passes convert.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_EXPANDBFLOATS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_EXPANDBFLOATS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Writes conversions of bf16 as integer arithmetic where the module's chip has no instructions for them.
mlir::LogicalResult expandBfloats(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_EXPANDBFLOATS_H
