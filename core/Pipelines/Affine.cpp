//===- Affine.cpp - Stage 2: tensors become affine nests on memrefs --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bufferization with results as out-parameters, kernels outlined, linalg to
/// affine nests with views folded: docs/stages.md shows the IR before and after.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Bufferization.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/Pipeline.h"

using namespace mlir;

void tilewright::buildAffinePipeline(OpPassManager &pm) {
  auto simplify = [&] {
    pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
  };

  pm.addPass(createPrepareBufferization());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  pm.addNestedPass<func::FuncOp>(createCopyYieldedSlices());
  addBufferization(pm);
  simplify();
  pm.addPass(createCheckResultSizes());
  addOutParameters(pm);
  pm.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  pm.addPass(memref::createExpandReallocPass());
  pm.addNestedPass<func::FuncOp>(createLowerVectorAccesses());
  pm.addPass(memref::createResolveShapedTypeResultDimsPass());
  simplify();

  pm.addPass(createOutlineKernels());
  simplify();
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToAffineLoopsPass());
  pm.addNestedPass<func::FuncOp>(createFoldViews());
  simplify();
  pm.addPass(createShareSizes());
  pm.addNestedPass<func::FuncOp>(createNormalizeNests());
  pm.addNestedPass<func::FuncOp>(createFixSums());
  simplify();
  pm.addPass(createShareKernels());
  pm.addPass(createCheckKernels());
}
