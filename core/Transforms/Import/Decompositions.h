//===- Decompositions.h - Parts of decompose-structured-ops -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the rewrites of decompose-structured-ops share.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_IMPORT_DECOMPOSITIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_IMPORT_DECOMPOSITIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace tilewright {

using BodyBuilder = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// An all-parallel generic over the shape of `init`: inputs through `maps`, identity for the result.
mlir::linalg::GenericOp buildMap(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange inputs,
                                 mlir::ArrayRef<mlir::AffineMap> maps, mlir::Value init, BodyBuilder body);

/// pack and unpack, with tile sizes that are constants or not, to generics and reshapes.
void populateRelayoutPatterns(mlir::RewritePatternSet &patterns);

/// Tests and clamps of floats to comparisons, minima and maxima, which every later pass knows.
void populateScalarPatterns(mlir::RewritePatternSet &patterns);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_IMPORT_DECOMPOSITIONS_H
