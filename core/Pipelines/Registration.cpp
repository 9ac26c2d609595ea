//===- Registration.cpp - Dialects and passes of the stages ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one list of dialects that programs may use at any stage, and of the
/// project's passes by command-line name.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Interfaces.h"
#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_REGISTRATION
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

void tilewright::registerAllDialects(DialectRegistry &registry) {
  registry
      .insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect, cf::ControlFlowDialect,
              func::FuncDialect, index::IndexDialect, linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
              ml_program::MLProgramDialect, memref::MemRefDialect, omp::OpenMPDialect, scf::SCFDialect,
              tensor::TensorDialect, tile::TileDialect, tosa::TosaDialect, ub::UBDialect, vector::VectorDialect>();
  // Refused by check-supported, which has to be able to read them first.
  registry.insert<complex::ComplexDialect, quant::QuantDialect, sparse_tensor::SparseTensorDialect>();
  registerFrontInterfaces(registry);
  registerLoweringInterfaces(registry);
}

DialectRegistry tilewright::programDialects() {
  DialectRegistry registry;
  registerAllDialects(registry);
  for (const Target *known : TargetRegistry::get().targets())
    known->registerDialects(registry);
  return registry;
}

void tilewright::registerAllPasses() {
  registerTilewrightPasses();
  PassPipelineRegistration<>("tw-import", "Stage 1: tensor programs to linalg.generic on tensors",
                             [](mlir::OpPassManager &pm) { buildImportPipeline(pm); });
  PassPipelineRegistration<>("tw-affine", "Stage 2: tensors to affine nests in kernels", buildAffinePipeline);
}
