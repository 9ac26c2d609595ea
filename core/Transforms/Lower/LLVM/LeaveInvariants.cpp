//===- LeaveInvariants.cpp - What is the same in all iterations ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Upstream's motion of loop-invariant code, with divisions by what is known to be positive.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/LLVM/LeaveInvariants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

/// Whether `op` divides by at least one, which is defined for every dividend.
static bool dividesByPositive(Operation *op) {
  if (!isa<arith::DivSIOp, arith::RemSIOp>(op))
    return false;
  auto divisor = op->getOperand(1).getDefiningOp<arith::MaxSIOp>();
  return divisor && llvm::any_of(divisor->getOperands(), [](Value each) {
           APInt least;
           return matchPattern(each, m_ConstantInt(&least)) && least.isStrictlyPositive();
         });
}

namespace {
struct LeaveInvariants : PassWrapper<LeaveInvariants, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LeaveInvariants)
  StringRef getArgument() const final { return "leave-invariants"; }
  StringRef getDescription() const final { return "What is the same in all iterations of a loop stands before it"; }
  void runOnOperation() override {
    getOperation()->walk([](LoopLikeOpInterface loop) { // inner loops first
      moveLoopInvariantCode(
          loop.getLoopRegions(), [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
          [](Operation *op, Region *) {
            return isMemoryEffectFree(op) && (isSpeculatable(op) || dividesByPositive(op));
          },
          [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
    });
  }
};
} // namespace

std::unique_ptr<Pass> tilewright::createLeaveInvariants() { return std::make_unique<LeaveInvariants>(); }

void tilewright::registerLeaveInvariants() { PassRegistration<LeaveInvariants>(); }
