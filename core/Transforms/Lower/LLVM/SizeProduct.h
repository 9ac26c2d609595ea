//===- SizeProduct.h - Products of sizes that do not wrap -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytes of arrays whose sizes a caller gives: more than any machine has stay at
/// one large number instead of wrapping to a small one.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_SIZEPRODUCT_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_SIZEPRODUCT_H

#include "mlir/IR/Builders.h"

namespace tilewright {

/// No memory is so large; sums of a hundred of it still fit 64 bits.
inline constexpr int64_t unreachableBytes = int64_t(1) << 56;

/// min(x * y, unreachableBytes) of two index values; a negative one counts as too large.
mlir::Value boundedProduct(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value y);

/// The same for x times a constant from 1 on.
mlir::Value boundedProduct(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, int64_t factor);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_SIZEPRODUCT_H
