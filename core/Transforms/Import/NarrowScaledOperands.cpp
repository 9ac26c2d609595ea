//===- NarrowScaledOperands.cpp - Scaled operands for units of bf16 --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An 8-bit float has at most four significant bits, and a scale of f8E8M0FNU is a power of two: their product is exact
/// in bf16, which has eight significant bits and the exponents of f32. What differs from f32 is below 2^-126 alone.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {
#define GEN_PASS_DEF_NARROWSCALEDOPERANDS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

/// The block argument that `value` is widened from, null for any other value.
BlockArgument widenedArgument(Value value) {
  auto widening = value.getDefiningOp<arith::ExtFOp>();
  return widening ? dyn_cast<BlockArgument>(widening.getIn()) : BlockArgument();
}

/// Whether each element of `op`'s one result is an 8-bit float times a power of two, in f32.
bool isScaled(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op->getNumResults() != 1 || !op.hasPureTensorSemantics())
    return false;
  auto product = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!product || !product.getType().isF32())
    return false;
  BlockArgument left = widenedArgument(product.getLhs()), right = widenedArgument(product.getRhs());
  if (!left || !right)
    return false;
  auto isPower = [](BlockArgument argument) { return isa<Float8E8M0FNUType>(argument.getType()); };
  auto isFraction = [&](BlockArgument argument) { return isFloat8(argument.getType()) && !isPower(argument); };
  return (isPower(left) && isFraction(right)) || (isPower(right) && isFraction(left));
}

/// The factors of a generic that adds up products of two elements; empty for any other.
SmallVector<Value, 2> factorsOf(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 || !op.hasPureTensorSemantics())
    return {};
  auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return {};
  BlockArgument accumulator = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  auto product = (sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs()).getDefiningOp<arith::MulFOp>();
  if (!product || (sum.getLhs() != accumulator && sum.getRhs() != accumulator))
    return {};
  return {product.getLhs(), product.getRhs()};
}

/// The operations whose results `op`, a sum of products, reads as bf16 without a change of its value; empty where a
/// factor has more bits.
SmallVector<linalg::GenericOp, 2> scaledOperands(linalg::GenericOp op) {
  SmallVector<linalg::GenericOp, 2> scaled;
  for (Value factor : factorsOf(op)) {
    if (BlockArgument argument = widenedArgument(factor);
        argument && (argument.getType().isBF16() || isFloat8(argument.getType())))
      continue;
    auto argument = dyn_cast<BlockArgument>(factor);
    auto producer =
        argument ? op.getMatchingOpOperand(argument)->get().getDefiningOp<linalg::GenericOp>() : linalg::GenericOp();
    if (!producer || !producer->hasOneUse() || !argument.hasOneUse() || !isScaled(producer))
      return {};
    scaled.push_back(producer);
  }
  return scaled;
}

/// Stores the products of `op`, which one other operation reads, as bf16.
void narrow(linalg::GenericOp op) {
  OpBuilder b(op);
  Type bf16 = b.getBF16Type();
  Location loc = op.getLoc();
  OpOperand &use = *op->use_begin();
  auto reader = cast<linalg::GenericOp>(use.getOwner());

  auto shape = cast<RankedTensorType>(op.getResult(0).getType());
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, op.getDpsInits().front()), bf16);
  op.getDpsInitsMutable().assign(init);
  op.getMatchingBlockArgument(op.getDpsInitOperand(0)).setType(bf16);
  Operation *yield = op.getBody()->getTerminator();
  b.setInsertionPoint(yield);
  yield->setOperand(0, arith::TruncFOp::create(b, loc, bf16, yield->getOperand(0)));
  op.getResult(0).setType(shape.clone(bf16));

  BlockArgument argument = reader.getMatchingBlockArgument(&use);
  argument.setType(bf16);
  b.setInsertionPointToStart(reader.getBody());
  auto wide = arith::ExtFOp::create(b, reader.getLoc(), b.getF32Type(), argument);
  argument.replaceAllUsesExcept(wide, wide);
}

struct NarrowScaledOperands : tilewright::impl::NarrowScaledOperandsBase<NarrowScaledOperands> {
  void runOnOperation() override {
    if (referenceOf(getOperation()) == Reference::Values || !Settings::of(getOperation()).mayReassociate())
      return;
    auto chip = targetOf(getOperation());
    auto multiplies = [](const MatrixUnit &unit) {
      return unit.a.element == ElementKind::BF16 && unit.b.element == ElementKind::BF16;
    };
    if (!chip)
      return llvm::consumeError(chip.takeError()); // compiled for no chip
    if (llvm::none_of((*chip)->units(), multiplies))
      return;
    SmallVector<linalg::GenericOp> scaled;
    getOperation()->walk([&](linalg::GenericOp op) { llvm::append_range(scaled, scaledOperands(op)); });
    for (linalg::GenericOp op : scaled)
      narrow(op);
  }
};

} // namespace
