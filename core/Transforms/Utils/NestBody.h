//===- NestBody.h - What a nest computes, written elsewhere -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operations of a nest's body beside its accesses, cloned to where fragments, rows and registers are computed.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTBODY_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTBODY_H

#include "core/Analysis/Nest.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// Clones what `nest` computes, in order, all but its accesses and the operations that `without` holds of. `mapping`
/// has the values of its loads and receives those of its results.
void cloneBody(mlir::OpBuilder &builder, const Nest &nest, mlir::IRMapping &mapping,
               llvm::function_ref<bool(mlir::Operation *)> without = nullptr);

/// `how`, of these operands.
mlir::Value cloneOf(mlir::OpBuilder &builder, mlir::Operation *how, mlir::ValueRange operands);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTBODY_H
