//===- Import.cpp - Stage 1: tensors in one form ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// TOSA, linalg and tensor programs become linalg.generic, views and control
/// flow on tensors: docs/stages.md shows the IR before and after.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Pipelines/Lowering.h"
#include "core/Pipelines/TensorCanonicalization.h"
#include "core/Transforms/Passes.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToSCF/TosaToSCF.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Tosa/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/Pipeline.h"

using namespace mlir;

/// Arithmetic on 8-bit floats is arithmetic on f32 between conversions: what a reduction sums was promoted before.
static void computeFloat8InSingle(OpPassManager &pm) {
  math::MathExtendToSupportedTypesOptions math;
  math.extraTypeStrs = {"f16", "bf16"};
  pm.addNestedPass<func::FuncOp>(math::createMathExtendToSupportedTypes(math));
  arith::ArithEmulateUnsupportedFloatsOptions floats;
  floats.sourceTypeStrs.assign(std::begin(tilewright::float8Types), std::end(tilewright::float8Types));
  floats.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(floats));
}

/// The same of floats of 4 and 6 bits, before they are held as 8-bit floats.
static void computeNarrowInSingle(OpPassManager &pm) {
  arith::ArithEmulateUnsupportedFloatsOptions floats;
  floats.sourceTypeStrs.assign(std::begin(tilewright::narrowFloatTypes), std::end(tilewright::narrowFloatTypes));
  floats.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(floats));
}

void tilewright::convertTosa(OpPassManager &pm) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(tosa::createTosaOptionalDecompositionsPass());
  functions.addPass(tosa::createTosaInferShapesPass());
  functions.addPass(tosa::createTosaMakeBroadcastablePass());
  functions.addPass(createTosaToSCFPass()); // before what has no room for regions of TOSA
  functions.addPass(tosa::createTosaToLinalgNamed());
  functions.addPass(tosa::createTosaToLinalg());
  functions.addPass(createTosaToArithPass(TosaToArithPassOptions{/*includeApplyRescale=*/true, /*use32Bit=*/false}));
  functions.addPass(createTosaToTensorPass());
}

void tilewright::buildImportPipeline(OpPassManager &pm, bool lanes) {
  pm.addPass(createCheckSupported());
  pm.addPass(createLiftControlFlowToSCFPass()); // branches between blocks: all that follows reads regions
  pm.addPass(createCountWithIndex());           // before what asks how often a loop runs
  pm.addPass(createFlattenVectorElements());
  pm.addNestedPass<func::FuncOp>(createSeparateScales()); // before casts to narrow floats are bytes
  computeNarrowInSingle(pm);
  pm.addPass(createPadIntegers());
  convertTosa(pm);
  pm.addPass(createTensorInliner());
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createTensorCanonicalizer());
  pm.addNestedPass<func::FuncOp>(createDecomposeStructuredOps());
  pm.addNestedPass<func::FuncOp>(createPromoteAccumulators({lanes}));
  pm.addNestedPass<func::FuncOp>(createSplitPhases());
  pm.addNestedPass<func::FuncOp>(createDecomposeStructuredOps()); // fills that these two made
  computeFloat8InSingle(pm);
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createNarrowScaledOperands());
  pm.addNestedPass<func::FuncOp>(createCompareIndices({/*writes=*/lanes}));
  pm.addNestedPass<func::FuncOp>(createFuseElementwise({lanes}));
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addPass(createCheckImport());
}
