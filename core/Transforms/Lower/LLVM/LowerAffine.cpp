//===- LowerAffine.cpp - Affine ops as plain ones -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MLIR's patterns, over what is given.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/LLVM/LowerAffine.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

LogicalResult tilewright::lowerAffine(ArrayRef<Operation *> roots, MLIRContext *context, bool keepIndices) {
  RewritePatternSet patterns(context);
  populateAffineToStdConversionPatterns(patterns);
  populateAffineToVectorConversionPatterns(patterns);
  affine::populateAffineExpandIndexOpsPatterns(patterns);
  ConversionTarget legality(*context);
  legality.markUnknownOpDynamicallyLegal([keepIndices](Operation *op) {
    return !isa_and_nonnull<affine::AffineDialect>(op->getDialect()) ||
           (keepIndices && isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(op));
  });
  return applyPartialConversion(roots, legality, std::move(patterns));
}
