//===- UseVectorOps.cpp - Element-wise chains as instructions of a vector unit ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds requantisation from its end, the conversion to the narrow type, and
/// walks back over clamps, zero point, rounding, scale and widening.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/UseVectorOps.h"
#include "core/Analysis/ElementType.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

using namespace mlir;
using namespace tilewright;

namespace {
/// to(clamp(round(from * scale) + zeroPoint)): what was found; null values are absent.
struct Requantisation {
  Value from, scale, zeroPoint;
  std::string rounding;
  double low = -HUGE_VAL, high = HUGE_VAL;
};
} // namespace

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

/// How `record` computes the chain; false if it does not.
static bool computes(const VectorOp &record, Requantisation &chain, Type to) {
  if (record.kind != "requantize" || !record.saturates || record.rounding != chain.rounding ||
      (chain.zeroPoint && !record.zeroPoint) || to != elementType(record.to, to.getContext()))
    return false;
  double range = std::ldexp(1.0, bitWidth(record.to) - (isSigned(record.to) ? 1 : 0));
  double least = isSigned(record.to) ? -range : 0;
  if (chain.low < least || chain.high > range - 1) // the program relies on a conversion out of range
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

/// The record's instruction on vectors, then clamps that are tighter than the type.
static void rewrite(arith::FPToSIOp op, const Requantisation &chain, const VectorOp &record, ModuleOp module) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<VectorType>(op.getType());
  auto floats = VectorType::get(type.getShape(), builder.getF32Type());
  auto splat = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(floats, float(value)));
  };
  SmallVector<Value> operands{chain.from};
  if (record.scale)
    operands.push_back(chain.scale ? chain.scale : splat(1));
  if (record.zeroPoint)
    operands.push_back(chain.zeroPoint ? chain.zeroPoint : splat(0));
  std::string name = "tilewright.vector." + record.name + "." + std::to_string(type.getNumElements());
  if (!module.lookupSymbol(name)) {
    OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
    func::FuncOp::create(top, loc, name, top.getFunctionType(TypeRange(operands), type)).setPrivate();
  }
  Value result = func::CallOp::create(builder, loc, name, TypeRange(type), operands).getResult(0);
  auto bound = [&](double value) -> Value {
    auto number = builder.getIntegerAttr(type.getElementType(), int64_t(value));
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, Attribute(number)));
  };
  double range = std::ldexp(1.0, bitWidth(record.to) - (isSigned(record.to) ? 1 : 0));
  if (chain.low > (isSigned(record.to) ? -range : 0))
    result = arith::MaxSIOp::create(builder, loc, result, bound(chain.low));
  if (chain.high < range - 1)
    result = arith::MinSIOp::create(builder, loc, result, bound(chain.high));
  op.replaceAllUsesWith(result);
}

/// Erases a chain from its end as far as nobody else uses it.
static void eraseUnused(Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseUnused(operand.getDefiningOp());
}

void tilewright::useVectorOps(ModuleOp module, const TargetDescription &chip) {
  SmallVector<arith::FPToSIOp> ends;
  module.walk([&](arith::FPToSIOp op) {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (vector && vector.getRank() == 1)
      ends.push_back(op);
  });
  for (arith::FPToSIOp op : ends) {
    std::optional<Requantisation> chain = findChain(op);
    if (!chain)
      continue;
    for (const VectorOp &record : chip.vectorOps()) {
      Requantisation own = *chain;
      if (!computes(record, own, getElementTypeOrSelf(op.getType())))
        continue;
      rewrite(op, own, record, module);
      eraseUnused(op);
      break;
    }
  }
}
