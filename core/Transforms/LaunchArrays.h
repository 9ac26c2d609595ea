//===- LaunchArrays.h - Whether arrays of a launch overlap ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels have arrays that do not overlap. What one lane does for a program on memrefs may meet one memory by two
/// names, through a view or a choice.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LAUNCHARRAYS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LAUNCHARRAYS_H

#include "core/Analysis/Buffers.h"

namespace tilewright {

/// A unit attribute of launches that write one of their arrays through two of their arguments.
inline constexpr llvm::StringLiteral overlapsAttr = "tilewright.overlaps";

/// Whether `grid` writes one of `arrays`, which it captures, and may meet what it has written by another of them.
bool mayOverlap(mlir::Operation *grid, llvm::ArrayRef<mlir::Value> arrays, const BufferOrigins &origins);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LAUNCHARRAYS_H
