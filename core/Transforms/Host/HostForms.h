//===- HostForms.h - Ops that hosts of launches have steps for --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ops that neither a step of a manifest nor a lane does, written as those that
/// one of them does:
///
///   scf.index_switch %k ...                 a chain of scf.if
///   memref.reshape %a(%shape)               memref.reinterpret_cast by elements of %shape, which the host reads
///   memref.extract_strided_metadata %a      memref.dim, where only sizes and strides of a dense array are asked for
///   arith.divui %n, 2 (divsi, rem*)         arith.floordivsi, where %n is not known to be non-negative
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTFORMS_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTFORMS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::scf {
class IndexSwitchOp;
} // namespace mlir::scf

namespace tilewright {

/// Compares the cases of `op` one after the other, in branches, at the insertion point of `b`, which is `op`.
void switchToBranches(mlir::RewriterBase &b, mlir::scf::IndexSwitchOp op);

void populateHostForms(mlir::RewritePatternSet &patterns);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTFORMS_H
