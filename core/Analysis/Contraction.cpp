//===- Contraction.cpp - Sums of products, by access maps -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body decides by its data flow (store of a sum of the loaded accumulator
// and one product of two widened loads), the access maps classify the loops.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

/// The operands of a commutative op of kind `Float` or `Int`.
template <typename Float, typename Int> static std::optional<std::pair<Value, Value>> operandsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && isa<Float, Int>(op) && op->hasOneUse())
    return std::pair(op->getOperand(0), op->getOperand(1));
  return std::nullopt;
}

std::optional<ContractionOperand> multiplicandOf(Value value, const Nest &nest) {
  ContractionOperand operand;
  if (Operation *cast = value.getDefiningOp(); cast && isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(cast)) {
    operand.isUnsigned = isa<arith::ExtUIOp>(cast);
    value = cast->getOperand(0);
  }
  for (const Access &load : nest.loads)
    if (load.op->getResult(0) == value) {
      operand.access = load;
      operand.element = value.getType();
      return operand;
    }
  return std::nullopt;
}

bool isAccumulator(Value value, const Nest &nest) {
  const Access &store = nest.stores.front();
  return llvm::any_of(nest.loads, [&](const Access &load) {
    return load.op->getResult(0) == value && load.memref == store.memref && load.map == store.map &&
           load.symbols == store.symbols && value.hasOneUse();
  });
}

void sortLoops(Contraction &c) {
  llvm::SmallBitVector inA = c.a.access.dims(), inB = c.b.access.dims(), inC = c.c.dims();
  for (unsigned dim = 0; dim < c.nest.depth(); ++dim) {
    if (!inC.test(dim))
      c.k.push_back(dim);
    else if (inA.test(dim) == inB.test(dim))
      c.batch.push_back(dim);
    else
      (inA.test(dim) ? c.m : c.n).push_back(dim);
  }
}

FailureOr<Contraction> recognizeContraction(const Nest &nest) {
  if (nest.stores.size() != 1)
    return failure();
  Contraction result;
  result.nest = nest;
  result.c = nest.stores.front();
  Value stored = cast<AffineStoreOp>(result.c.op).getValueToStore();
  if (!ownDims(result.c.map))
    return failure();
  result.accumulator = stored.getType();

  // One side of the sum is the accumulator itself, the other the product.
  std::optional<std::pair<Value, Value>> factors;
  if (auto fused = stored.getDefiningOp<math::FmaOp>(); fused && fused->hasOneUse()) {
    if (!isAccumulator(fused.getC(), nest))
      return failure();
    factors = {fused.getA(), fused.getB()};
  } else if (auto sum = operandsOf<arith::AddFOp, arith::AddIOp>(stored)) {
    Value product = isAccumulator(sum->first, nest) ? sum->second : sum->first;
    if (product == sum->first && !isAccumulator(sum->second, nest))
      return failure();
    factors = operandsOf<arith::MulFOp, arith::MulIOp>(product);
  }
  if (!factors)
    return failure();
  auto a = multiplicandOf(factors->first, nest), b = multiplicandOf(factors->second, nest);
  // A type without a zero cannot fill what lies beyond an edge.
  if (!a || !b || isa<Float8E8M0FNUType>(a->element) || isa<Float8E8M0FNUType>(b->element))
    return failure();
  if (a->access.memref == result.c.memref || b->access.memref == result.c.memref)
    return failure();
  result.a = *a;
  result.b = *b;

  sortLoops(result);
  if (result.k.empty() || (result.m.empty() && result.n.empty()))
    return failure();
  return result;
}

bool isProduct(const Nest &nest) {
  FailureOr<Contraction> contraction = recognizeContraction(nest);
  return succeeded(contraction) && !contraction->m.empty() && !contraction->n.empty();
}

} // namespace tilewright
