//===- KernelModules.h - Kernels in modules of their own --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stage 5 has passes on modules, which MLIR runs in one thread; a module in a module is an operation that it may give
/// to another thread. So kernels leave their module and come back lowered, to where they stood:
///
///   module {                        module {
///     @main, @f, @g, @small           module { @main, declarations of @f and @g, @small }
///   }                         ->      module { @f }
///                                     module { @g }
///                                   }
///
/// Which kernels leave depends on the program alone.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_KERNELMODULES_H
#define TILEWRIGHT_CORE_PIPELINES_KERNELMODULES_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Moves kernels into modules inside of `module`, and all else into the first of these; each has the attributes of
/// `module`. Kernels leave that call nothing, allocate nothing and take pointers and integers alone (after
/// flatten-signatures), for no pass changes how they are called. False, with nothing done, for short programs.
bool splitKernels(mlir::ModuleOp module);

/// Puts what is in the modules inside of `module` back into it: kernels in place of their declarations. Definitions
/// that several modules made for themselves are one where they are equal, and get names of their own where not.
mlir::LogicalResult joinKernels(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_KERNELMODULES_H
