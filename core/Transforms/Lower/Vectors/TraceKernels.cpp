//===- TraceKernels.cpp - When kernels begin and end ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Calls at the begin and end of kernels and of what each thread does of them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/TraceKernels.h"
#include "core/Analysis/Settings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"

using namespace mlir;
using namespace tilewright;

static void mark(OpBuilder &builder, Location loc, int64_t site, TraceMark what) {
  Value number = arith::ConstantIntOp::create(builder, loc, site, 64);
  Value kind = arith::ConstantIntOp::create(builder, loc, static_cast<int64_t>(what), 64);
  func::CallOp::create(builder, loc, traceFunction, TypeRange(), ValueRange{number, kind});
}

/// A thread has done its part when it has no iteration left: that it then waits for the others is not told.
static void markThreads(omp::ParallelOp parallel, int64_t site) {
  Block &body = parallel.getRegion().front();
  auto builder = OpBuilder::atBlockBegin(&body);
  mark(builder, parallel.getLoc(), site, TraceMark::ThreadBegin);
  parallel.walk([](omp::WsloopOp loop) { loop.setNowait(true); });
  builder.setInsertionPoint(parallel.getRegion().back().getTerminator());
  mark(builder, parallel.getLoc(), site, TraceMark::ThreadEnd);
}

void tilewright::traceKernels(ModuleOp module) {
  if (!module->hasAttr(tracedAttr))
    return;
  SmallVector<Attribute> sites;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (function.isExternal() || (!function->hasAttr(kernelAttr) && !function->hasAttr(opaqueAttr)))
      continue;
    auto site = static_cast<int64_t>(sites.size());
    sites.push_back(NameLoc::get(function.getNameAttr(), function.getLoc()));
    function.walk([&](omp::ParallelOp parallel) { markThreads(parallel, site); });
    auto builder = OpBuilder::atBlockBegin(&function.front());
    mark(builder, function.getLoc(), site, TraceMark::Begin);
    function.walk([&](func::ReturnOp end) {
      builder.setInsertionPoint(end);
      mark(builder, function.getLoc(), site, TraceMark::End);
    });
  }
  Builder builder(module.getContext());
  module->setAttr(tracedAttr, builder.getArrayAttr(sites));
  if (sites.empty())
    return;
  auto moduleEnd = OpBuilder::atBlockEnd(module.getBody());
  Type number = builder.getI64Type();
  auto callee =
      func::FuncOp::create(moduleEnd, module.getLoc(), traceFunction, builder.getFunctionType({number, number}, {}));
  callee.setPrivate();
}
