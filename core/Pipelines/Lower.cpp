//===- Lower.cpp - Stage 5: from tiles, loops and vectors to LLVM ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of stage 5 that all targets share whose code LLVM generates: the
/// C interface is made while arrays are still memrefs, then everything goes to
/// the LLVM dialect in one conversion.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Pipelines/Lowering.h"
#include "core/Pipelines/TileCanonicalization.h"
#include "core/Transforms/Passes.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tilewright::emulateFloats(OpPassManager &pm, llvm::SmallVector<std::string> types) {
  arith::ArithEmulateUnsupportedFloatsOptions floats;
  floats.sourceTypeStrs = std::move(types);
  llvm::append_range(floats.sourceTypeStrs, tilewright::float8Types);
  floats.targetTypeStr = "f32";
  OpPassManager &functions = pm.nest<func::FuncOp>();
  math::MathExtendToSupportedTypesOptions math;
  functions.addPass(math::createMathExtendToSupportedTypes(math));
  pm.addPass(arith::createArithEmulateUnsupportedFloats(floats));
  pm.addPass(tilewright::createExpandFloat8());
}

void tilewright::expandArithmetic(OpPassManager &pm, llvm::SmallVector<std::string> types) {
  emulateFloats(pm, std::move(types));
  pm.addPass(tilewright::createExpandBfloats());
  pm.addPass(arith::createArithExpandOpsPass());
}

namespace tilewright {

void lowerInterfaces(OpPassManager &pm, const LoweringOptions &options) {
  pm.addPass(createPlanWorkspace());
  MakeCInterfaceOptions interface;
  interface.packedCall = options.packedCall;
  pm.addPass(createMakeCInterface(interface));
  pm.addPass(createFlattenSignatures());
}

void lowerBodies(OpPassManager &pm, const LoweringOptions &options) {
  // Views become pointers and strides, affine loops and maps plain ones.
  pm.addNestedPass<func::FuncOp>(createLowerReshapes());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  if (options.tileLoops) {
    pm.addNestedPass<func::FuncOp>(createLowerTileToLoops());
  } else {
    pm.addPass(createAssignTileRegisters());
    pm.addPass(createLowerTileToVector());
  }
  pm.addPass(createLowerParallel());
  pm.addPass(createCSEPass()); // each access computes its address anew
  if (!options.libm)
    pm.addPass(createExpandMath());
  pm.addPass(createEnterStates());

  expandArithmetic(pm);
  pm.addPass(createSCFToControlFlowPass());
  LowerToLLVMOptions toLLVM;
  toLLVM.fuseBfloatsInSingle = true;
  pm.addPass(createLowerToLLVM(toLLVM));
  pm.addPass(createCSEPass());
  pm.addPass(createEmitUnits());
}

static void lowerLanes(OpPassManager &pm) {
  pm.addPass(createLowerAffinePass());
  pm.addPass(createDistributeLanes());
  pm.addPass(createCSEPass()); // each access computes its address anew: a fifth of the operations stays
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createExpandMath());
  expandArithmetic(pm);
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerToLLVM());
  pm.addPass(createFinishLaunches());
  pm.addPass(createCheckEngineFences());
}

static void lowerCores(OpPassManager &pm) {
  pm.addPass(createPlanScratchpad());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createLowerTileToEngines());
  // Addresses become sums of indices that loops can leave to the one around them.
  pm.addPass(memref::createFlattenMemrefsPass());
  pm.addPass(createFlattenSignatures());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addPass(createLeaveInvariants());
  pm.addPass(createExpandMath());
  emulateFloats(pm); // maxima and minima stay single instructions
  pm.addPass(createSCFToControlFlowPass());
  LowerToLLVMOptions toLLVM;
  toLLVM.fuseBfloatsInSingle = true;
  pm.addPass(createLowerToLLVM(toLLVM));
  pm.addPass(createMem2Reg());
  pm.addPass(createFinishLaunches());
}

static void lowerCoresToSource(OpPassManager &pm) {
  pm.addPass(createPlanScratchpad());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createLowerTileToEngines());
  pm.addPass(createFlattenSignatures());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createUseVectorOpsInLoops());
  pm.addPass(createBindIntrinsics());
  pm.addPass(createWriteHostProgram());
  expandArithmetic(pm, {"bf16", "f16"});
  pm.addPass(createExpandHalfs());
  pm.addPass(createTileCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addPass(createLeaveInvariants());
}

/// Both parts of the host's functions; the compiler puts kernels on threads between them.
static void lowerFunctions(OpPassManager &pm, const LoweringOptions &options) {
  lowerInterfaces(pm, options);
  lowerBodies(pm, options);
}

} // namespace tilewright

void tilewright::buildLowerPipeline(OpPassManager &pm, const MachineGraph &graph, const LoweringOptions &options) {
  if (!graph.startsLaunches())
    lowerFunctions(pm, options);
  else if (graph.lanesAreThreads())
    lowerLanes(pm);
  else if (options.source)
    lowerCoresToSource(pm);
  else
    lowerCores(pm);
}
