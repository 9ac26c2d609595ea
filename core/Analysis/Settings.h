//===- Settings.h - What a module is compiled for ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The attributes through which the tools tell passes what to compile for:
///
///   module attributes {tilewright.target = "cpu:host", tilewright.threads = 2 : i64, tilewright.fp = "default"}
///
/// A module without them is compiled for one thread with the default contract.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_SETTINGS_H
#define TILEWRIGHT_CORE_ANALYSIS_SETTINGS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Names of module attributes; `tilewright.target` is read by targetOf().
inline constexpr const char *targetAttr = "tilewright.target";
inline constexpr const char *threadsAttr = "tilewright.threads";
inline constexpr const char *contractAttr = "tilewright.fp";
/// Of modules that are the reference of another one, which kind of reference: "values" or "bounds" (Reference).
inline constexpr const char *referenceAttr = "tilewright.reference";

/// A unit attribute of modules whose constant arguments are bound: what is computed of them alone is a function of its
/// own (bind-constants). Without it such arguments are like others.
inline constexpr const char *bindAttr = "tilewright.bind";
/// A unit attribute of arguments that are the same in many calls, such as weights: of public functions by the program's
/// author, of kernels by outline-kernels.
inline constexpr const char *constantAttr = "tilewright.constant";
/// A unit attribute of arguments that hold places in groups, of public functions by the program's author, of kernels by
/// outline-kernels: those along the last dimension ascend (docs/quantisation.md).
inline constexpr const char *ascendingAttr = "tilewright.ascending";
/// A unit attribute of the argument of a public function that takes what is computed of its constant arguments, and of
/// buffers in kernels that hold a part of it.
inline constexpr const char *boundAttr = "tilewright.bound";
/// Of a public function that fills the bound argument of another one, which it names.
inline constexpr const char *bindsAttr = "tilewright.binds";

/// A unit attribute of functions outlined by outline-kernels.
inline constexpr const char *kernelAttr = "tilewright.kernel";

/// A unit attribute of functions outlined by outline-kernels, bodies that stages leave alone: they read at computed
/// indices, or use two views of one array.
inline constexpr const char *opaqueAttr = "tilewright.opaque";

/// A unit attribute of those opaque functions of which, as of kernels, no two arrays name the same memory if one of
/// them is written.
inline constexpr const char *apartAttr = "tilewright.apart";

/// A unit attribute of kernels that split-kernels made of one nest of another kernel.
inline constexpr const char *nestAttr = "tilewright.nest";

/// Whether `function` is a kernel with a body.
inline bool isKernel(mlir::func::FuncOp function) { return !function.isExternal() && function->hasAttr(kernelAttr); }

/// Whether `value` is an argument of a function that has the attribute `promise`.
inline bool isPromised(mlir::Value value, llvm::StringRef promise) {
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
  auto function = argument ? mlir::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  return function && argument.getOwner() == &function.front() &&
         function.getArgAttr(argument.getArgNumber(), promise) != nullptr;
}

/// What may be done to floating-point arithmetic, from the least to the most.
enum class FloatContract {
  Strict,       ///< Each sum is added up as it is written.
  Reproducible, ///< As Strict; sums have one order that suits all chips, and functions one form (fix-sums).
  Default,      ///< Sums may be reordered, products and sums fused.
  Fast,         ///< Operands may be rounded to the type of a matrix unit, too.
};

/// What a module is there for. Code of a reference runs once, so that seconds of LLVM's optimiser are not won back.
enum class Reference {
  None,   ///< A program that is to be fast.
  Values, ///< What a program means, as it is written: its sums and products stay in their form.
  Bounds, ///< What `--verify` compares with: the program's values in float64 and their bounds, of arrays of any size.
};

/// The kind of the module that `op` is or stands in.
Reference referenceOf(mlir::Operation *op);

/// Whether `function` is a kernel, or one that reads at computed indices, with a body.
inline bool isKernelOrGathers(mlir::func::FuncOp function) {
  return isKernel(function) || (!function.isExternal() && function->hasAttr(apartAttr));
}

/// The attributes of one module, read.
struct Settings {
  int64_t threads = 1; // at least 1
  FloatContract contract = FloatContract::Default;

  bool mayReassociate() const { return contract >= FloatContract::Default; }
  /// Whether results have the same bits on all chips, for all sizes of tiles and numbers of threads.
  bool isReproducible() const { return contract == FloatContract::Reproducible; }
  bool mayRoundOperands() const { return contract == FloatContract::Fast; }

  /// Those of the module that `op` is or stands in; the defaults where there is none.
  static Settings of(mlir::Operation *op);
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_SETTINGS_H
