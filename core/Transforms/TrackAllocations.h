//===- TrackAllocations.h - Memory of a call ---------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Allocations that could not be planned into the workspace, made safe.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TRACKALLOCATIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_TRACKALLOCATIONS_H

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// Attribute of the functions of the C interface that call a program's body; they return its status.
inline constexpr const char *entryAttr = "tilewright.entry";
/// Status of a call whose memory cannot be had.
inline constexpr int outOfMemoryStatus = 2;

/// On the LLVM dialect: all memory that a call allocates is freed when the call ends, and where some cannot be had, the
/// call ends with `outOfMemoryStatus`. Does nothing to modules without allocations under an entry.
void trackAllocations(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TRACKALLOCATIONS_H
