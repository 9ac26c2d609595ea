//===- IndexValues.cpp - What index arithmetic gives ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Affine maps and the integer ops of arith, on numbers of 64 bits.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/IndexValues.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tilewright;

/// Bits of a number here.
static constexpr int64_t numberBits = std::numeric_limits<uint64_t>::digits;

Known tilewright::valueOf(AffineExpr expr, ArrayRef<Known> dims, ArrayRef<Known> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Known left = valueOf(binary.getLHS(), dims, symbols), right = valueOf(binary.getRHS(), dims, symbols);
  if (!left || !right)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *left + *right;
  case AffineExprKind::Mul:
    return *left * *right;
  default:
    break;
  }
  if (*right <= 0)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mod)
    return llvm::mod(*left, *right);
  return expr.getKind() == AffineExprKind::FloorDiv ? llvm::divideFloorSigned(*left, *right)
                                                    : llvm::divideCeilSigned(*left, *right);
}

Known IndexValues::get(Value value) const {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) && int64_t(constant.getBitWidth()) <= numberBits)
    return constant.getBitWidth() == 1 ? int64_t(constant.getZExtValue()) : constant.getSExtValue();
  return std::nullopt;
}

SmallVector<Known> IndexValues::get(AffineMap map, ValueRange operands) const {
  SmallVector<Known> all = llvm::map_to_vector(operands, [&](Value each) { return get(each); });
  ArrayRef<Known> dims = ArrayRef(all).take_front(map.getNumDims()), symbols = ArrayRef(all).drop_front(dims.size());
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return valueOf(expr, dims, symbols); });
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  auto ua = uint64_t(a), ub = uint64_t(b);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  llvm_unreachable("a predicate of integers");
}

/// The result of an op of two numbers; nullopt for other ops and divisions by zero.
static Known ofTwo(Operation &op, int64_t a, int64_t b) {
  return llvm::TypeSwitch<Operation *, Known>(&op)
      .Case([&](arith::AddIOp) { return a + b; })
      .Case([&](arith::SubIOp) { return a - b; })
      .Case([&](arith::MulIOp) { return a * b; })
      .Case([&](arith::AndIOp) { return a & b; })
      .Case([&](arith::OrIOp) { return a | b; })
      .Case([&](arith::XOrIOp) { return a ^ b; })
      .Case([&](arith::ShLIOp) { return b < numberBits ? Known(a << b) : std::nullopt; })
      .Case([&](arith::ShRUIOp) { return b < numberBits ? Known(int64_t(uint64_t(a) >> b)) : std::nullopt; })
      .Case([&](arith::ShRSIOp) { return b < numberBits ? Known(a >> b) : std::nullopt; })
      .Case<arith::MinSIOp>([&](auto) { return std::min(a, b); })
      .Case<arith::MaxSIOp>([&](auto) { return std::max(a, b); })
      .Case<arith::MinUIOp>([&](auto) { return int64_t(std::min(uint64_t(a), uint64_t(b))); })
      .Case<arith::MaxUIOp>([&](auto) { return int64_t(std::max(uint64_t(a), uint64_t(b))); })
      .Case([&](arith::DivSIOp) { return b ? Known(a / b) : std::nullopt; })
      .Case([&](arith::RemSIOp) { return b ? Known(a % b) : std::nullopt; })
      .Case([&](arith::DivUIOp) { return b ? Known(int64_t(uint64_t(a) / uint64_t(b))) : std::nullopt; })
      .Case([&](arith::RemUIOp) { return b ? Known(int64_t(uint64_t(a) % uint64_t(b))) : std::nullopt; })
      .Case([&](arith::FloorDivSIOp) { return b ? Known(llvm::divideFloorSigned(a, b)) : std::nullopt; })
      .Case([&](arith::CeilDivSIOp) { return b ? Known(llvm::divideCeilSigned(a, b)) : std::nullopt; })
      .Case([&](arith::CmpIOp each) { return int64_t(compare(each.getPredicate(), a, b)); })
      .Default([](Operation *) { return std::nullopt; });
}

Known IndexValues::evaluate(Operation &op) const {
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return get(apply.getAffineMap(), apply.getMapOperands()).front();
  if (isa<affine::AffineMinOp, affine::AffineMaxOp>(op)) {
    AffineMap map = cast<AffineMapAttr>(op.getAttr("map")).getValue();
    Known result;
    for (Known each : get(map, op.getOperands())) {
      if (!each)
        return std::nullopt;
      const bool isMin = isa<affine::AffineMinOp>(op);
      result = !result ? *each : isMin ? std::min(*result, *each) : std::max(*result, *each);
    }
    return result;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Known condition = get(select.getCondition());
    return condition ? get(*condition ? select.getTrueValue() : select.getFalseValue()) : std::nullopt;
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return get(op.getOperand(0));
  if (op.getNumOperands() != 2)
    return std::nullopt;
  Known a = get(op.getOperand(0)), b = get(op.getOperand(1));
  // One factor or condition may decide alone.
  if (isa<arith::AndIOp, arith::MulIOp>(op) && ((a && !*a) || (b && !*b)))
    return 0;
  return a && b ? ofTwo(op, *a, *b) : std::nullopt;
}

void IndexValues::visit(Operation &op) {
  if (op.getNumResults() != 1 || !isNumber(op.getResult(0)) || op.hasTrait<OpTrait::ConstantLike>())
    return;
  if (Known value = evaluate(op))
    set(op.getResult(0), *value);
  else
    forget(op.getResult(0));
}
