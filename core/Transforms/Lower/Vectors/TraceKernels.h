//===- TraceKernels.h - When kernels begin and end ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that tells when it runs, for programs of this process (`tw-run --trace`):
///
///   func.func private @k(%a: !llvm.ptr) attributes {tilewright.kernel} {
///     omp.parallel { omp.wsloop { .. } }
///     return
///   }
///   // becomes, with the name and location of @k at number 3 of the module's sites
///   func.func private @k(%a: !llvm.ptr) attributes {tilewright.kernel} {
///     call @tilewright_trace_kernel(3, 0)
///     omp.parallel {
///       call @tilewright_trace_kernel(3, 2)      on each thread
///       omp.wsloop nowait { .. }
///       call @tilewright_trace_kernel(3, 3)      before it waits for the others
///     }
///     call @tilewright_trace_kernel(3, 1)
///     return
///   }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TRACEKERNELS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TRACEKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// An array attribute of modules whose kernels tell: a NameLoc for each site, in the order of their numbers. Empty
/// before stage 5.
inline constexpr llvm::StringLiteral tracedAttr = "tilewright.traced";
/// What they call: the number of the site, and a TraceMark.
inline constexpr llvm::StringLiteral traceFunction = "tilewright_trace_kernel";
enum class TraceMark : int64_t { Begin = 0, End = 1, ThreadBegin = 2, ThreadEnd = 3 };

/// Adds the calls to all kernels of a module with `tracedAttr`; does nothing to others.
void traceKernels(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TRACEKERNELS_H
