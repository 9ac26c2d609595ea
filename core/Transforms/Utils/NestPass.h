//===- NestPass.h - How passes over nests begin -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pass over nests asks first whether the function is one of its own, then for
/// the chip and what decides with it, and takes the nests from there:
///
///   void runOnOperation() override {
///     LogicalResult done = withMemoryModel(getOperation(), [&](const NestContext &context) { ... });
///     if (failed(done))
///       signalPassFailure();
///   }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTPASS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTPASS_H

#include "core/Analysis/Settings.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// By what passes decide about nests that move more than they compute.
struct NestContext {
  const TargetDescription &chip;
  const MemoryModel &model; // of `chip`
  Settings settings;        // of the function's module
};

/// Calls `body` if `function` has one; a declaration needs no chip. Fails with a diagnostic where the module names no
/// known chip.
llvm::LogicalResult withMemoryModel(mlir::func::FuncOp function,
                                    llvm::function_ref<void(const NestContext &context)> body);

/// Outermost loops of nests that are no code of a level yet: those of the function, and those in tiles of scheduled
/// nests.
llvm::SmallVector<mlir::affine::AffineForOp> nestRoots(mlir::func::FuncOp function);

/// Whether somebody has given nests of `function` a schedule, which counts their loops and arrays: they stay as they
/// are.
bool isScheduled(mlir::func::FuncOp function);

/// Calls `map` for each outermost loop of a kernel, in their order; it may erase the loop and put others in its place,
/// for which it is not called; `gathers`: also of functions that read at computed indices. Others are left alone. Fails
/// with a diagnostic where the chip runs no lanes.
llvm::LogicalResult overLaneNests(mlir::func::FuncOp function,
                                  llvm::function_ref<void(mlir::affine::AffineForOp root, const LaunchTarget &)> map,
                                  bool gathers = false);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTPASS_H
