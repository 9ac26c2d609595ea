//===- FoldConstants.h - Constants packed by the compiler -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What bind-constants has taken out of a program because it follows from large constants alone is computed in this
/// process, by the code that a call would execute:
///
///   global @w = ...                                        global @packed = ...      @fold has run
///   global @packed                                   ->
///   func @fold() { w -> packed }
///   func @f(..)  { .. reads packed .. }                    func @f(..)  { .. reads packed .. }
///
/// @w is gone unless other code reads it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_FOLDCONSTANTS_H
#define TILEWRIGHT_CORE_PIPELINES_FOLDCONSTANTS_H

#include "tilewright/Compiler.h"

namespace tilewright {

/// Marks a module as it was read, whose large constants this process can pack for the chip "target:chip"; gives a copy
/// to compile where that fails, which is marked as one that does not. Null where there is nothing to mark.
mlir::OwningOpRef<mlir::ModuleOp> prepareFolding(mlir::ModuleOp module, llvm::StringRef target);

/// Gives the packed constants of a module after stage 5 their contents. Fails after a remark that says why they have
/// none; then the module is of no use.
llvm::LogicalResult foldConstants(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_FOLDCONSTANTS_H
