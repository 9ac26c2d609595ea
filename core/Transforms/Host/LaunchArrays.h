//===- LaunchArrays.h - Whether arrays of a launch overlap ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels have arrays that do not overlap. What one lane does for a program on memrefs may reach one memory by two
/// names, through a view or a choice.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHARRAYS_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHARRAYS_H

#include "core/Analysis/Buffers.h"

namespace tilewright {

/// A unit attribute of launches that write one of their arrays through two of their arguments.
inline constexpr llvm::StringLiteral overlapsAttr = "tilewright.overlaps";

/// Of a memref.view in a launch: a power of two that divides its shift, known by what the host computes it of.
inline constexpr llvm::StringLiteral shiftMultipleAttr = "tilewright.shift_multiple";

/// Whether `grid` writes one of `arrays`, which it captures, and may reach what it has written by another of them.
bool mayOverlap(mlir::Operation *grid, llvm::ArrayRef<mlir::Value> arrays, const BufferOrigins &origins);

/// Whether `array` is an array of another type that memref.view makes of bytes, or a view of one: it is unaligned in
/// its memory.
bool isByteView(mlir::Value array);

/// The array behind views that stand in `grid`.
mlir::Value behindViewsIn(mlir::Operation *grid, mlir::Value array);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHARRAYS_H
