//===- CarriedScalars.h - Scalars that control flow carries ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Values that branches and loops of a host hand on, and that only the device
/// has, go through arrays of rank 0, the cells:
///
///   %r = scf.for .. iter_args(%v = %x) -> f32 {      store %x, %cell
///     .. scf.yield %w }                              scf.for .. { %v = load %cell .. store %w, %cell }
///                                                    %r = load %cell
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_CARRIEDSCALARS_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_CARRIEDSCALARS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// Control flow that the host walks: it launches grids, brings arrays into being, or may end the call.
bool isHostControl(mlir::Operation *op);
/// Rewrites all of `function`'s host control flow so that it carries arrays and integers of the host only.
void carryThroughCells(mlir::func::FuncOp function);

/// An array of one element for a value of `type`, at the start of `function`, of a vector's elements for a vector; its
/// store and load.
mlir::Value scalarCell(mlir::func::FuncOp function, mlir::Type type, mlir::Location loc);
void storeCell(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value cell);
mlir::Value loadCell(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value cell, mlir::Type type);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_CARRIEDSCALARS_H
