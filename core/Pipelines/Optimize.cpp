//===- Optimize.cpp - Stages 3 and 4: tiles, units, levels ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order of the optimising passes. The plain path takes none of them.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/TileCanonicalization.h"
#include "core/Transforms/Passes.h"
#include "tilewright/Pipeline.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tilewright::buildOptimizePipeline(OpPassManager &pm, bool plain) {
  if (plain)
    return;
  pm.addNestedPass<func::FuncOp>(createFuseHalos());
  pm.addNestedPass<func::FuncOp>(createScheduleKernels());
  pm.addNestedPass<func::FuncOp>(createTileAndFuse());
  pm.addNestedPass<func::FuncOp>(createPlaceTiles());
  pm.addNestedPass<func::FuncOp>(createMapContractions());
  pm.addNestedPass<func::FuncOp>(createUnrollTaps());
  pm.addNestedPass<func::FuncOp>(createFuseNests());
  pm.addNestedPass<func::FuncOp>(createVectorizeNests());
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createCSEPass());
}

void tilewright::buildMapPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createLowerTileParallel());
  pm.addPass(createSplitKernels());
  pm.addPass(createShareKernels());
}

/// What programs on memrefs have beside kernels.
static void simplifyHostCode(OpPassManager &pm) {
  pm.addPass(tilewright::createCopyByteViews());
  pm.addNestedPass<func::FuncOp>(tilewright::createSimplifyHostCode());
  pm.addNestedPass<func::FuncOp>(tilewright::createMapParallelToLanes());
}

void tilewright::buildOptimizeLanesPipeline(OpPassManager &pm) {
  simplifyHostCode(pm);
  pm.addNestedPass<func::FuncOp>(createSplitReductions());
  pm.addNestedPass<func::FuncOp>(createMapContractions());
  pm.addNestedPass<func::FuncOp>(createMapRowProgramsToLanes());
  pm.addNestedPass<func::FuncOp>(createMapRowsToLanes());
  pm.addNestedPass<func::FuncOp>(createMapTransposesToLanes());
  pm.addNestedPass<func::FuncOp>(createMapNestsToLanes());
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createCSEPass());
}

void tilewright::buildMapLanesPipeline(OpPassManager &pm) {
  pm.addPass(createPlaceHostCode());
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createOutlineLaunches());
  pm.addPass(createDropSignedness());
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createCSEPass());
}

void tilewright::buildOptimizeCoresPipeline(OpPassManager &pm, bool vectors) {
  simplifyHostCode(pm);
  pm.addNestedPass<func::FuncOp>(createMapContractions());
  if (vectors)
    pm.addNestedPass<func::FuncOp>(createUnrollTaps());
  pm.addNestedPass<func::FuncOp>(createFuseNests());
  pm.addNestedPass<func::FuncOp>(createScheduleKernels());
  pm.addNestedPass<func::FuncOp>(createTileAndFuse());
  pm.addNestedPass<func::FuncOp>(createPlaceTiles());
  pm.addNestedPass<func::FuncOp>(createPipelineTiles());
  if (vectors)
    pm.addNestedPass<func::FuncOp>(createVectorizeNests());
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createCSEPass());
}

void tilewright::buildMapCoresPipeline(OpPassManager &pm) { buildMapLanesPipeline(pm); }
