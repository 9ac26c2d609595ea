//===- Optimize.cpp - Stages 3 and 4: tiles, units, levels ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One list of passes for every chip. A pass stands in it once for each place in the order where the machine has what
/// it works on: threads in lockstep, a memory that copies fill, a host program.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/TileCanonicalization.h"
#include "core/Transforms/Passes.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// What programs on memrefs have beside kernels, where a host program starts launches.
static void simplifyHostCode(OpPassManager &pm) {
  pm.addPass(tilewright::createCopyByteViews());
  pm.addNestedPass<func::FuncOp>(tilewright::createSimplifyHostCode());
  pm.addNestedPass<func::FuncOp>(tilewright::createMapParallelToLanes());
}

void tilewright::buildOptimizePipeline(OpPassManager &pm, const MachineGraph &graph, bool vectors) {
  const bool launches = graph.startsLaunches(), lanes = graph.lanesAreThreads();
  const bool staged = graph.threadMemory(); // copies bring what a thread works on; else caches do
  vectors &= !lanes;
  if (launches)
    simplifyHostCode(pm);
  pm.addNestedPass<func::FuncOp>(createSinkFactors());
  if (!lanes)
    pm.addNestedPass<func::FuncOp>(createReadAtIndices());
  if (!lanes && !staged)
    pm.addNestedPass<func::FuncOp>(createShareArrays());
  if (lanes || !staged)
    pm.addNestedPass<func::FuncOp>(createPermuteArrays());
  pm.addNestedPass<func::FuncOp>(createReadThroughPadding());
  pm.addNestedPass<func::FuncOp>(createFuseHalos());
  pm.addNestedPass<func::FuncOp>(createScheduleChains());
  pm.addNestedPass<func::FuncOp>(createTileAndFuse());
  pm.addNestedPass<func::FuncOp>(createPlaceTiles());
  if (lanes) {
    pm.addNestedPass<func::FuncOp>(createMapToUnits());
    pm.addNestedPass<func::FuncOp>(createSplitReductions());
  }
  pm.addNestedPass<func::FuncOp>(createMapContractions());
  if (!lanes && !staged)
    pm.addNestedPass<func::FuncOp>(createHoistPacking());
  if (!launches)
    pm.addPass(createBindConstants());
  if (vectors)
    pm.addNestedPass<func::FuncOp>(createUnrollTaps());
  if (!lanes)
    pm.addNestedPass<func::FuncOp>(createFuseNests());
  if (staged) {
    pm.addNestedPass<func::FuncOp>(createScheduleKernels());
    pm.addNestedPass<func::FuncOp>(createTileAndFuse());
    pm.addNestedPass<func::FuncOp>(createPlaceTiles());
    pm.addNestedPass<func::FuncOp>(createPipelineTiles());
  }
  if (lanes) {
    pm.addNestedPass<func::FuncOp>(createSplitSums());
    pm.addNestedPass<func::FuncOp>(createMapRowProgramsToLanes());
    pm.addNestedPass<func::FuncOp>(createReadAtIndices());
    pm.addNestedPass<func::FuncOp>(createMapRowsToLanes());
    pm.addNestedPass<func::FuncOp>(createMapTransposesToLanes());
    pm.addNestedPass<func::FuncOp>(createJoinNests());
    pm.addNestedPass<func::FuncOp>(createMapNestsToLanes());
  }
  if (vectors) {
    pm.addNestedPass<func::FuncOp>(createSplitSums());
    pm.addNestedPass<func::FuncOp>(createSplitStrides());
    pm.addNestedPass<func::FuncOp>(createVectorizeNests());
  }
  // Elsewhere after kernels that are equal have become one.
  if (launches) {
    pm.addNestedPass<func::FuncOp>(createTileCanonicalizer());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
  }
}

void tilewright::buildMapPipeline(OpPassManager &pm, const MachineGraph &graph) {
  const bool launches = graph.startsLaunches(), lanes = graph.lanesAreThreads();
  if (launches) {
    pm.addPass(createPlaceHostCode());
    pm.addPass(createTileCanonicalizer());
  }
  if (lanes)
    pm.addPass(createJoinLaunches());
  if (launches) {
    pm.addPass(createOutlineLaunches());
    pm.addPass(createDropSignedness());
    pm.addPass(createTileCanonicalizer());
    pm.addPass(createCSEPass());
  }
  if (!launches) {
    pm.addNestedPass<func::FuncOp>(createLowerTileParallel());
    pm.addPass(createSplitKernels());
    pm.addPass(createShareKernels());
    pm.addNestedPass<func::FuncOp>(createTileCanonicalizer());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
  }
}
