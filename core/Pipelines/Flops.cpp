//===- Flops.cpp - Arithmetic operations of a call ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts what a program computes as it is written, before any optimisation:
/// the operations in the bodies of linalg operations times their iterations.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Run.h"
#include "core/Pipelines/TensorCanonicalization.h"
#include "tilewright/Pipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tilewright;

/// Operations that an element of the body counts for: none for moves, casts, comparisons and index arithmetic.
static double weight(Operation *op) {
  if (op->getNumResults() != 1 || op->getResult(0).getType().isIndex())
    return 0;
  if (isa<math::FmaOp>(op))
    return 2;
  if (isa<math::MathDialect>(op->getDialect()))
    return 1;
  bool arithmetic = isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::MaximumFOp,
                        arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::SubIOp,
                        arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
                        arith::MinUIOp>(op);
  return arithmetic ? 1 : 0;
}

/// Operations of the blocks below `op`; nullopt if a number of iterations is unknown.
static std::optional<double> count(Operation *op) {
  double inside = weight(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &nested : block) {
        std::optional<double> part = count(&nested);
        if (!part)
          return std::nullopt;
        inside += *part;
      }
  if (inside == 0)
    return 0;
  double iterations = 1;
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
    for (int64_t range : linalg.getStaticLoopRanges()) {
      if (ShapedType::isDynamic(range))
        return std::nullopt;
      iterations *= static_cast<double>(range);
    }
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto lower = getConstantIntValue(loop.getLowerBound()), upper = getConstantIntValue(loop.getUpperBound()),
         step = getConstantIntValue(loop.getStep());
    if (!lower || !upper || !step || *step <= 0)
      return std::nullopt;
    iterations = static_cast<double>(std::max<int64_t>(0, llvm::divideCeilSigned(*upper - *lower, *step)));
  } else if (isa<scf::WhileOp>(op)) {
    return std::nullopt;
  }
  return inside * iterations;
}

std::optional<double> Run::flops() const {
  ModuleOp source = program;
  OwningOpRef<ModuleOp> copy = source.clone();
  ScopedDiagnosticHandler quiet(source.getContext(), [](Diagnostic &) { return success(); });
  auto function = copy->lookupSymbol<func::FuncOp>(code->signature().name);
  if (!function)
    return std::nullopt;
  // Inputs get the shapes of this call; canonicalisation carries them through the program.
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  size_t next = 0;
  for (BlockArgument argument : function.getArguments()) {
    while (next < arguments.size() && code->signature().arguments[next].isResult)
      ++next;
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (next >= arguments.size())
      return std::nullopt;
    const Array &array = arguments[next++];
    if (!type || type.hasStaticShape())
      continue;
    argument.setType(type.clone(array.shape()));
    auto cast = tensor::CastOp::create(builder, argument.getLoc(), type, argument);
    argument.replaceAllUsesExcept(cast, cast);
  }
  function.setType(builder.getFunctionType(function.front().getArgumentTypes(), function.getResultTypes()));
  PassManager pm(copy->getContext(), ModuleOp::getOperationName(), PassManager::Nesting::Implicit);
  pm.enableVerifier(false);
  pm.addPass(createTensorCanonicalizer());
  buildImportPipeline(pm);
  pm.addPass(createTensorCanonicalizer());
  if (failed(pm.run(*copy)))
    return std::nullopt;
  return count(function);
}
