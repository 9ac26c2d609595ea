//===- NarrowDoubles.cpp - f64 to 16-bit floats in two steps --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// No instruction of common chips narrows f64 to a float of 16 or 8 bits, and the system's
/// libraries lack the function that LLVM would call. Going through f32 rounds
/// twice, unless the first step rounds to odd: towards zero, with the last bit set
/// when anything was lost. 24 bits are enough for that to be exact (11 + 2 <= 24).
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/NarrowDoubles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

static Type withElement(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

static void expand(arith::TruncFOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type wide = op.getIn().getType();
  Type single = withElement(wide, builder.getF32Type()), bits = withElement(wide, builder.getI32Type());
  auto constant = [&](int32_t value) -> Value {
    TypedAttr scalar = builder.getI32IntegerAttr(value);
    if (auto shaped = dyn_cast<ShapedType>(bits))
      return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(shaped, Attribute(scalar)));
    return arith::ConstantOp::create(builder, loc, scalar);
  };
  Value nearest = arith::TruncFOp::create(builder, loc, single, op.getIn());
  Value back = arith::ExtFOp::create(builder, loc, wide, nearest);
  Value x = op.getIn();
  // Rounded away from zero: |back| > |x|, which the sign of x decides; NaN compares false.
  Value above = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, back, x);
  Value below = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, back, x);
  Value pattern = arith::BitcastOp::create(builder, loc, bits, nearest);
  Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, pattern, constant(0));
  Value away = arith::SelectOp::create(builder, loc, negative, below, above);
  Value inexact = arith::OrIOp::create(builder, loc, above, below);
  Value towardsZero = arith::SubIOp::create(builder, loc, pattern, constant(1));
  Value truncated = arith::SelectOp::create(builder, loc, away, towardsZero, pattern);
  Value odd = arith::OrIOp::create(builder, loc, truncated, constant(1));
  Value chosen = arith::SelectOp::create(builder, loc, inexact, odd, pattern);
  Value value = arith::BitcastOp::create(builder, loc, single, chosen);
  Value result = arith::TruncFOp::create(builder, loc, op.getType(), value);
  op.replaceAllUsesWith(result);
  op.erase();
}

void tilewright::narrowDoubles(Operation *root, unsigned mostBits) {
  SmallVector<arith::TruncFOp> narrowing;
  root->walk([&](arith::TruncFOp op) {
    if (getElementTypeOrSelf(op.getIn().getType()).isF64() &&
        getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() <= mostBits)
      narrowing.push_back(op);
  });
  for (arith::TruncFOp op : narrowing)
    expand(op);
}
