//===- Interfaces.h - Interfaces that upstream attaches from outside -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Registration of the external models (inlining, bufferization, value bounds,
/// subsets) that stages 1 and 2 rely on.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_INTERFACES_H
#define TILEWRIGHT_CORE_PIPELINES_INTERFACES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilewright {

/// What stages 1 and 2 ask of operations of upstream dialects.
void registerFrontInterfaces(mlir::DialectRegistry &registry);
/// External models of stage 5: conversions to the LLVM dialect and from there to LLVM IR.
void registerLoweringInterfaces(mlir::DialectRegistry &registry);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_INTERFACES_H
