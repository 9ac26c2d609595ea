//===- ExpandBfloats.cpp - Conversions of bf16 as integer arithmetic ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Six operations on integers round an f32 to bf16. A chip whose record has a rate
/// for that has an instruction, which the code generator knows.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/ExpandBfloats.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tilewright {
#define GEN_PASS_DEF_EXPANDBFLOATS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

LogicalResult tilewright::expandBfloats(ModuleOp module) {
  bool converts = module
                      .walk([](Operation *op) {
                        bool isBfloat = isa<arith::ExtFOp>(op) && getElementTypeOrSelf(op->getOperand(0)).isBF16();
                        isBfloat |= isa<arith::TruncFOp>(op) && getElementTypeOrSelf(op->getResult(0)).isBF16();
                        return isBfloat ? WalkResult::interrupt() : WalkResult::advance();
                      })
                      .wasInterrupted();
  if (!converts)
    return success();
  if (module->hasAttr(targetAttr)) {
    auto chip = requireTarget(module);
    if (failed(chip))
      return failure();
    // Its instructions may take numbers below the smallest normal one for zero.
    if ((*chip)->number(Number::ConvertF32BF16) && Settings::of(module).contract == FloatContract::Fast)
      return success();
  }
  RewritePatternSet patterns(module.getContext());
  arith::populateExpandBFloat16Patterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns), GreedyRewriteConfig().enableFolding(false));
}

namespace {
struct ExpandBfloats : tilewright::impl::ExpandBfloatsBase<ExpandBfloats> {
  void runOnOperation() override {
    if (failed(expandBfloats(getOperation())))
      signalPassFailure();
  }
};
} // namespace
