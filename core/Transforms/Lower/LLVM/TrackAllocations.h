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
/// Statuses of calls whose sizes disagree, whose memory cannot be had, and that found an index outside of its array
/// (the runtime's TW_BAD_INDEX).
inline constexpr int sizesDisagreeStatus = 1, outOfMemoryStatus = 2, badIndexStatus = 9;
/// Functions of a program's body that never come back: the call ends with `sizesDisagreeStatus` or `badIndexStatus`.
inline constexpr const char *refuseSizesName = "tilewright.refuse_sizes", *refuseIndexName = "tilewright.refuse_index";

/// On the LLVM dialect: all memory that a call allocates is freed when the call ends, and where some cannot be had, the
/// call ends with `outOfMemoryStatus`; calls of `refuseSizesName` and `refuseIndexName` end it too. Does nothing to
/// modules without either under an entry.
void trackAllocations(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_TRACKALLOCATIONS_H
