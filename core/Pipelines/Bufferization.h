//===- Bufferization.h - How tensors become memrefs -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Upstream's passes as stage 2 and its reference both need them: signatures and
/// calls in memrefs without a layout, results in arrays that the caller gives.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_BUFFERIZATION_H
#define TILEWRIGHT_CORE_PIPELINES_BUFFERIZATION_H

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright {

/// Tensors become memrefs, those of signatures too; a loop may hand on what it allocates.
inline void addBufferization(mlir::OpPassManager &pm) {
  mlir::bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion = mlir::bufferization::LayoutMapOption::IdentityLayoutMap;
  options.unknownTypeConversion = mlir::bufferization::LayoutMapOption::IdentityLayoutMap;
  options.allowReturnAllocsFromLoops = true;
  pm.addPass(mlir::bufferization::createOneShotBufferizePass(options));
}

/// Results become arguments that are written, of public functions too.
inline void addOutParameters(mlir::OpPassManager &pm) {
  pm.addNestedPass<mlir::func::FuncOp>(createReturnWholeArrays());
  mlir::bufferization::BufferResultsToOutParamsPassOptions options;
  options.hoistStaticAllocs = options.hoistDynamicAllocs = options.modifyPublicFunctions = true;
  pm.addPass(mlir::bufferization::createBufferResultsToOutParamsPass(options));
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_BUFFERIZATION_H
