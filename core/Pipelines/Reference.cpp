//===- Reference.cpp - Stage 2 without any optimisation -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The straightest way from linalg on tensors to loops: bufferize with
/// out-parameters, then one loop nest an operation. Of the SDK's own passes it has
/// those without which upstream's refuse a program or crash. `--verify-stages` runs the
/// result of stage 1 through it.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Bufferization.h"
#include "core/Transforms/Passes.h"
#include "tilewright/Pipeline.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void tilewright::buildReferencePipeline(OpPassManager &pm) {
  pm.addPass(createPrepareBufferization());
  pm.addNestedPass<func::FuncOp>(createCopyYieldedSlices());
  addBufferization(pm);
  pm.addPass(createCheckResultSizes());
  addOutParameters(pm);
  pm.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  pm.addPass(memref::createExpandReallocPass());
  pm.addNestedPass<func::FuncOp>(createLowerVectorAccesses());
  pm.addNestedPass<func::FuncOp>(createExpandCopies());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
}
