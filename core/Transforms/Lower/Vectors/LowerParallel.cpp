//===- LowerParallel.cpp - Parallel loops to threads ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The outermost scf.parallel loops become OpenMP work-sharing loops of
/// `tilewright.threads` threads; all others become plain loops, so that a
/// single-thread program needs no OpenMP library. Then kernels whose module is
/// traced get the calls that tell when they run.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Lower/Vectors/ParallelLoops.h"
#include "core/Transforms/Lower/Vectors/TraceKernels.h"
#include "core/Transforms/Passes.h"

#include "mlir/Conversion/SCFToOpenMP/SCFToOpenMP.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright {
#define GEN_PASS_DEF_LOWERPARALLEL
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct LowerParallel : tilewright::impl::LowerParallelBase<LowerParallel> {
  void runOnOperation() override;
  LogicalResult lower();
};

/// Stack buffers inside loops would take new stack each iteration: they move to the start of their thread's body or of
/// the function.
void hoistStackBuffers(ModuleOp module) {
  module.walk([](memref::AllocaOp alloca) {
    if (!alloca.getType().hasStaticShape())
      return;
    Region *home = nullptr;
    if (auto parallel = alloca->getParentOfType<omp::ParallelOp>())
      home = &parallel.getRegion();
    else if (auto function = alloca->getParentOfType<func::FuncOp>())
      home = &function.getBody();
    if (home)
      alloca->moveBefore(&home->front(), home->front().begin());
  });
}

} // namespace

void LowerParallel::runOnOperation() {
  if (failed(lower()))
    return signalPassFailure();
  hoistStackBuffers(getOperation());
  tilewright::traceKernels(getOperation());
}

LogicalResult LowerParallel::lower() {
  ModuleOp module = getOperation();
  const int64_t threads = tilewright::Settings::of(module).threads;
  const bool single = threads == 1;

  // What allocates may have to give up, which it can only do on the calling thread.
  llvm::SmallPtrSet<Operation *, 8> allocating;
  auto allocates = [&](Operation *root) {
    return root
        ->walk([&](Operation *op) {
          auto call = dyn_cast<func::CallOp>(op);
          bool found = isa<memref::AllocOp>(op) ||
                       (call && allocating.contains(module.lookupSymbol<func::FuncOp>(call.getCallee())));
          return found ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (auto function : module.getOps<func::FuncOp>())
      if (!allocating.contains(function) && allocates(function))
        grown = allocating.insert(function).second;
  }

  // Inner loops first: a loop inside another parallel loop runs on its thread.
  SmallVector<scf::ParallelOp> loops;
  module.walk([&](scf::ParallelOp op) { loops.push_back(op); });
  bool any = false;
  for (scf::ParallelOp loop : loops) {
    bool inner = loop->getParentOfType<scf::ParallelOp>() != nullptr;
    if (single || inner || loop.getNumReductions() != 0 || allocates(loop))
      tilewright::makeSequential(loop); // results never depend on the number of threads
    else
      any = true;
  }
  if (single || !any)
    return success();
  ConvertSCFToOpenMPPassOptions options;
  options.numThreads = threads;
  OpPassManager pipeline(ModuleOp::getOperationName());
  pipeline.addPass(createConvertSCFToOpenMPPass(options));
  if (failed(runPipeline(pipeline, module)))
    return failure();
  // The conversion wraps bodies in scopes of one block, which the loops inside would outgrow.
  SmallVector<memref::AllocaScopeOp> scopes;
  module.walk([&](memref::AllocaScopeOp scope) { scopes.push_back(scope); });
  for (memref::AllocaScopeOp scope : scopes) {
    if (scope.getNumResults() != 0)
      continue;
    Block &body = scope.getBodyRegion().front();
    body.getTerminator()->erase();
    scope->getBlock()->getOperations().splice(scope->getIterator(), body.getOperations());
    scope.erase();
  }
  return success();
}
