//===- FoldedConstants.h - Constants that the compiler computes -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How passes tell code generation what follows from large constants of a module alone, such as packed weights:
///
///   module attributes {tilewright.fold = true} {
///     memref.global "private" constant @tilewright.packed : memref<...>        without contents
///     func.func @tilewright.fold() attributes {tilewright.folds = "tilewright.fold"} { fills @tilewright.packed }
///
/// It is a function like the public ones: it gets a workspace and entry points, and then it is called and erased.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_FOLDEDCONSTANTS_H
#define TILEWRIGHT_CORE_ANALYSIS_FOLDEDCONSTANTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// A boolean attribute of modules: whether the compiler itself runs their code to pack their large constants. A program
/// that says `false` has them packed at each call.
inline constexpr const char *foldAttr = "tilewright.fold";
/// Of the function that does: its name, before it has a C interface.
inline constexpr const char *foldsAttr = "tilewright.folds";

/// Constants of at least so many bytes are no numbers for LLVM, and worth packing ahead of time.
inline constexpr uint64_t largeConstantBytes = 1 << 16;

/// Whether `module` says so.
inline bool foldsConstants(mlir::Operation *module) {
  auto says = module->getAttrOfType<mlir::BoolAttr>(foldAttr);
  return says && says.getValue();
}

/// The function of `module` that does; null where there is none.
inline mlir::func::FuncOp foldingFunction(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr(foldsAttr))
      return function;
  return {};
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_FOLDEDCONSTANTS_H
