//===- SingleArithmetic.cpp - Short floats by way of f32 ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversions around operations of f32.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/SingleArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

/// f32 in the shape of `type`.
static Type singleLike(Type type) {
  Type single = Float32Type::get(type.getContext());
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(single);
  return single;
}

void tilewright::widenBfloatsBySingle(Operation *root) {
  SmallVector<arith::ExtFOp> widening;
  root->walk([&](arith::ExtFOp op) {
    if (getElementTypeOrSelf(op.getIn().getType()).isBF16() && getElementTypeOrSelf(op.getType()).isF64())
      widening.push_back(op);
  });
  for (arith::ExtFOp op : widening) {
    OpBuilder builder(op);
    op.getInMutable().assign(
        arith::ExtFOp::create(builder, op.getLoc(), singleLike(op.getType()), op.getIn()).getResult());
  }
}

void tilewright::fuseInSingle(Operation *root, llvm::function_ref<bool(Type)> isEmulated) {
  SmallVector<math::FmaOp> fused;
  root->walk([&](math::FmaOp op) {
    if (isEmulated(getElementTypeOrSelf(op.getType())))
      fused.push_back(op);
  });
  for (math::FmaOp op : fused) {
    OpBuilder builder(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(arith::ExtFOp::create(builder, op.getLoc(), singleLike(op.getType()), operand));
    Value result = math::FmaOp::create(builder, op.getLoc(), operands[0], operands[1], operands[2]);
    op.replaceAllUsesWith(arith::TruncFOp::create(builder, op.getLoc(), op.getType(), result).getResult());
    op.erase();
  }
}
