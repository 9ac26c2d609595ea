//===- TrackAllocations.h - Memory of a call ---------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Allocations that could not be planned into the workspace, and calls that end in their middle, made safe.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_TRACKALLOCATIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_TRACKALLOCATIONS_H

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// Attribute of the functions of the C interface that call a program's body; they return its status.
inline constexpr const char *entryAttr = "tilewright.entry";
/// Statuses of calls whose sizes disagree, and whose memory cannot be had.
inline constexpr int sizesDisagreeStatus = 1, outOfMemoryStatus = 2;
/// Function of a program's body that never comes back: the call ends with `sizesDisagreeStatus`.
inline constexpr const char *refuseSizesName = "tilewright.refuse_sizes";

/// On the LLVM dialect: all memory that a call allocates is freed when the call ends, and where some cannot be had, the
/// call ends with `outOfMemoryStatus`; calls of `refuseSizesName` end it too. Does nothing to modules without either
/// under an entry.
void trackAllocations(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_TRACKALLOCATIONS_H
