//===- LeaveInvariants.cpp - What is the same in all iterations ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Upstream's motion of loop-invariant code, with divisions by what is known to be positive: `arith.divsi` says of
/// itself that it may be speculated where its divisor is a constant alone, whatever is known of the divisor's range.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace tilewright {
#define GEN_PASS_DEF_LEAVEINVARIANTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {
struct LeaveInvariants : tilewright::impl::LeaveInvariantsBase<LeaveInvariants> {
  void runOnOperation() override;
};
} // namespace

/// Whether `op` divides by at least one, which is defined for every dividend.
static bool dividesByPositive(Operation *op) {
  auto division = dyn_cast<arith::DivSIOp>(op);
  auto divisor = division ? division.getRhs().getDefiningOp<arith::MaxSIOp>() : arith::MaxSIOp();
  return divisor && llvm::any_of(divisor->getOperands(), [](Value each) {
           APInt least;
           return matchPattern(each, m_ConstantInt(&least)) && least.isStrictlyPositive();
         });
}

void LeaveInvariants::runOnOperation() {
  getOperation()->walk([](LoopLikeOpInterface loop) { // inner loops first
    moveLoopInvariantCode(
        loop.getLoopRegions(), [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
        [](Operation *op, Region *) { return isMemoryEffectFree(op) && (isSpeculatable(op) || dividesByPositive(op)); },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  });
}
