//===- CopyYieldedSlices.cpp - Control flow passes whole buffers -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel folds a slice into its access maps, which needs to see where the
/// slice was taken. Behind a branch or a loop nobody sees that, so what they
/// yield is copied where it would be a slice.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace tilewright {
#define GEN_PASS_DEF_COPYYIELDEDSLICES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// Whether bufferization would compute `value` in a slice of another buffer.
bool isSlice(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (isa<tensor::ExtractSliceOp>(op))
      return true;
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      value = destination.getTiedOpOperand(result)->get();
    else if (isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      value = op->getOperand(0);
    else
      return false; // what branches and loops yield is whole once their terminators are done
  }
  return false;
}

/// Replaces each operand of `op` from `first` on that is a slice by a copy of it.
void copySlices(Operation *op, unsigned first) {
  OpBuilder b(op);
  for (OpOperand &operand : op->getOpOperands().drop_front(first))
    if (auto type = dyn_cast<RankedTensorType>(operand.get().getType()); type && isSlice(operand.get()))
      operand.set(bufferization::AllocTensorOp::create(b, op->getLoc(), type, ValueRange{}, operand.get()));
}

struct CopyYieldedSlices : tilewright::impl::CopyYieldedSlicesBase<CopyYieldedSlices> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (branch->getNumResults() != 0)
          for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
            copySlices(region->front().getTerminator(), 0);
      } else if (isa<arith::SelectOp>(op)) {
        copySlices(op, 1);
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        copySlices(loop, loop.getNumControlOperands());
        copySlices(loop.getBody()->getTerminator(), 0);
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        copySlices(loop, 0);
        copySlices(loop.getConditionOp(), 1);
        copySlices(loop.getYieldOp(), 0);
      }
    });
  }
};

} // namespace
