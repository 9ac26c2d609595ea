//===- Requantisation.cpp - Chains that a vector unit computes in one ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matches the arithmetic of a chain against the records of a chip.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Engines/Requantisation.h"
#include "core/Analysis/ElementType.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tilewright;

/// The number that all elements of `value` are.
static std::optional<double> splatOf(Value value) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(attribute);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// Takes clamps by constants off.
static Value stripClamps(Value value, Requantisation &found) {
  for (Operation *op = value.getDefiningOp(); op && op->getNumOperands() == 2; op = value.getDefiningOp()) {
    bool isMax = isa<arith::MaximumFOp, arith::MaxNumFOp>(op), isMin = isa<arith::MinimumFOp, arith::MinNumFOp>(op);
    std::optional<double> bound = isMax || isMin ? splatOf(op->getOperand(1)) : std::nullopt;
    if (!bound)
      break;
    // Clamps further inside count only where they are tighter than those around them.
    (isMax ? found.low : found.high) = isMax ? std::max(found.low, *bound) : std::min(found.high, *bound);
    value = op->getOperand(0);
  }
  return value;
}

static std::optional<std::string> roundingOf(Operation *op) {
  if (isa_and_nonnull<math::RoundEvenOp>(op))
    return "nearest-even";
  if (isa_and_nonnull<math::RoundOp>(op))
    return "nearest-away";
  if (isa_and_nonnull<math::FloorOp>(op))
    return "down";
  return std::nullopt;
}

/// The chain that ends in `op`.
static std::optional<Requantisation> findChain(arith::FPToSIOp op) {
  Requantisation found;
  Value value = stripClamps(op.getIn(), found);
  if (auto add = value.getDefiningOp<arith::AddFOp>()) {
    for (unsigned i = 0; i < 2; ++i)
      if (std::optional<double> zero = splatOf(add->getOperand(1 - i)); zero && *zero == std::round(*zero))
        if (roundingOf(add->getOperand(i).getDefiningOp())) {
          found.zeroPoint = add->getOperand(1 - i);
          value = add->getOperand(i);
          break;
        }
  }
  std::optional<std::string> rounding = roundingOf(value.getDefiningOp());
  if (!rounding)
    return std::nullopt;
  found.rounding = *rounding;
  found.from = value.getDefiningOp()->getOperand(0);
  return found;
}

std::pair<double, double> tilewright::rangeOf(const VectorOp &record) {
  double range = std::ldexp(1.0, bitWidth(record.to) - (isSigned(record.to) ? 1 : 0));
  return {isSigned(record.to) ? -range : 0, range - 1};
}

/// How `record` computes the chain; false if it does not.
static bool computes(const VectorOp &record, Requantisation &chain, Type to) {
  if (record.kind != "requantize" || !record.saturates || record.rounding != chain.rounding ||
      (chain.zeroPoint && !record.zeroPoint) || to != elementType(record.to, to.getContext()))
    return false;
  auto [least, most] = rangeOf(record);
  if (chain.low < least || chain.high > most) // the program relies on a conversion out of range
    return false;
  auto is = [&](Value value) { return getElementTypeOrSelf(value) == elementType(record.from, to.getContext()); };
  if (is(chain.from))
    return true;
  // from * scale, of an integer that is widened, or of a number of the record's type.
  auto multiply = chain.from.getDefiningOp<arith::MulFOp>();
  if (!record.scale || !multiply)
    return false;
  for (unsigned i = 0; i < 2; ++i) {
    Value factor = multiply->getOperand(i);
    if (auto widen = factor.getDefiningOp<arith::SIToFPOp>())
      factor = widen.getIn();
    if (is(factor)) {
      chain.from = factor;
      chain.scale = multiply->getOperand(1 - i);
      return true;
    }
  }
  return false;
}

const VectorOp *tilewright::findRequantisation(arith::FPToSIOp op, const TargetDescription &chip,
                                               Requantisation &chain) {
  std::optional<Requantisation> found = findChain(op);
  if (!found)
    return nullptr;
  for (const VectorOp &record : chip.vectorOps()) {
    chain = *found;
    if (computes(record, chain, getElementTypeOrSelf(op.getType())))
      return &record;
  }
  return nullptr;
}

Value tilewright::clampAsIn(OpBuilder &builder, Location loc, const Requantisation &chain, const VectorOp &record,
                            Value result) {
  Type type = result.getType();
  auto bound = [&](double value) -> Value {
    TypedAttr number = builder.getIntegerAttr(getElementTypeOrSelf(type), int64_t(value));
    if (auto shaped = dyn_cast<ShapedType>(type))
      number = DenseElementsAttr::get(shaped, Attribute(number));
    return arith::ConstantOp::create(builder, loc, number);
  };
  auto [least, most] = rangeOf(record);
  if (chain.low > least)
    result = arith::MaxSIOp::create(builder, loc, result, bound(chain.low));
  if (chain.high < most)
    result = arith::MinSIOp::create(builder, loc, result, bound(chain.high));
  return result;
}
