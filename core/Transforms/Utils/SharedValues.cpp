//===- SharedValues.cpp - Equal operations of a block are one -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Expands expressions term by term. Upstream writes the operations of a term.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/SharedValues.h"
#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;
using namespace tilewright;

Value SharedValues::once(OpBuilder &builder, Key key, llvm::function_ref<Value()> write) {
  const std::tuple place(builder.getInsertionBlock(), key.kind, key.first, key.second, key.third);
  if (Value before = known.lookup(place))
    return before;
  Value value = write(); // may write operands of its own once
  known[place] = value;
  return value;
}

SmallVector<Value> SharedValues::of(OpBuilder &builder, Location loc, AffineMap map, ValueRange operands) {
  const ValueRange dims = operands.take_front(map.getNumDims()), symbols = operands.drop_front(map.getNumDims());
  return llvm::map_to_vector(map.getResults(),
                             [&](AffineExpr result) { return of(builder, loc, result, dims, symbols); });
}

Value SharedValues::of(OpBuilder &builder, Location loc, AffineExpr expr, ValueRange dims, ValueRange symbols) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  static constexpr char kinds[size_t(AffineExprKind::SymbolId) + 1] = {};
  auto share = [&](const void *left, const void *right, AffineExpr term, ValueRange leftValue, ValueRange rightValue) {
    const Key key{&kinds[size_t(expr.getKind())], left, right};
    return once(builder, key, [&] { return affine::expandAffineExpr(builder, loc, term, leftValue, rightValue); });
  };
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return share(expr.getAsOpaquePointer(), nullptr, expr, {}, {});
  MLIRContext *context = expr.getContext();
  const AffineExpr first = getAffineDimExpr(0, context);
  Value left = of(builder, loc, binary.getLHS(), dims, symbols);
  const bool isSum = expr.getKind() == AffineExprKind::Add || expr.getKind() == AffineExprKind::Mul;
  if (!isSum && isa<AffineConstantExpr>(binary.getRHS())) // a division is written as its divisor asks for it
    return share(left.getAsOpaquePointer(), binary.getRHS().getAsOpaquePointer(),
                 getAffineBinaryOpExpr(expr.getKind(), first, binary.getRHS()), left, {});
  Value right = of(builder, loc, binary.getRHS(), dims, symbols);
  return share(left.getAsOpaquePointer(), right.getAsOpaquePointer(),
               getAffineBinaryOpExpr(expr.getKind(), first, getAffineSymbolExpr(0, context)), left, right);
}

AffineExpr SharedValues::simplified(AffineExpr expr, unsigned dims, unsigned symbols) {
  auto [known, isNew] = simpleForms.try_emplace(std::tuple(expr, dims, symbols));
  if (isNew)
    known->second = simplifyAffineExpr(expr, dims, symbols);
  return known->second;
}
