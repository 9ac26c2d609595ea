//===- ErrorRules.cpp - How errors go through an operation ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rules of ErrorRules.h as arithmetic in f64 beside the operations of the reference.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Bufferize/ErrorRules.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tilewright;
using arith::CmpFPredicate;

Rounding Rounding::of(FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  auto asDouble = [](APFloat number) {
    bool inexact;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
    return number.convertToDouble();
  };
  double unit = std::ldexp(1.0, -static_cast<int>(type.getFPMantissaWidth()));
  double normal = asDouble(APFloat::getSmallestNormalized(semantics));
  double half = asDouble(APFloat::getSmallest(semantics)) / 2;
  // Units and processors may flush what is below the normal numbers of f32 and bf16; other narrow types have none to
  // spare.
  bool flushes = type.getWidth() >= 32 || type.isBF16();
  return {type.isF64() ? 2 * unit : unit, flushes ? normal : half, asDouble(APFloat::getLargest(semantics))};
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value ErrorRules::number(double value) {
  return arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(value));
}
Value ErrorRules::magnitudeOf(Value value) { return math::AbsFOp::create(builder, loc, value); }
Value ErrorRules::add(Value x, Value y) {
  return !x ? y : !y ? x : arith::AddFOp::create(builder, loc, x, y).getResult();
}
Value ErrorRules::mul(Value x, Value y) {
  return x && y ? arith::MulFOp::create(builder, loc, x, y).getResult() : Value();
}
Value ErrorRules::larger(Value x, Value y) {
  return !x ? y : !y ? x : arith::MaximumFOp::create(builder, loc, x, y).getResult();
}
Value ErrorRules::compare(CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(builder, loc, predicate, x, y);
}
Value ErrorRules::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(builder, loc, condition, x, y);
}

/// `value` as f64: a number of any type.
Value ErrorRules::asFloat(Value value) {
  Type wide = builder.getF64Type();
  if (isa<FloatType>(value.getType()))
    return value;
  if (value.getType().isIndex())
    value = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  if (value.getType().isInteger(1))
    return arith::UIToFPOp::create(builder, loc, wide, value);
  return arith::SIToFPOp::create(builder, loc, wide, value);
}

/// `op` of one operand on another one.
Value ErrorRules::again(Operation *op, Value operand) {
  Operation *copy = builder.clone(*op);
  copy->setOperand(0, operand);
  return copy->getResult(0);
}

/// `error` of a value, infinite where the value may be beyond the largest, zero where it is no number.
Value ErrorRules::bounded(Value value, Value error, double largest) {
  Value size = magnitudeOf(value), infinity = number(INFINITY);
  Value fits = compare(CmpFPredicate::OLE, add(size, error), number(largest));
  Value isFinite = compare(CmpFPredicate::OLT, size, infinity);
  return select(isFinite, select(fits, error, infinity), number(0));
}

/// Adds the rounding of `units` u, and `more` times u, to a twin.
Twin ErrorRules::rounded(Value value, Twin twin, FloatType type, double units, Value more) {
  Rounding rounding = Rounding::of(type);
  Value factor = add(number(units * rounding.unit), more ? mul(more, number(rounding.unit)) : Value());
  Value own = add(mul(magnitudeOf(value), factor), number(units ? rounding.tiny : 0));
  // What narrower types make of a large number shows where it is read from an array.
  double largest = std::max(rounding.largest, 0x1.fffffep127);
  return {bounded(value, add(twin.bound, own), largest), bounded(value, add(twin.spread, own), largest), {}, {}};
}

Twin ErrorRules::loaded(Value value, Twin twin, FloatType type) {
  if (twin.isExact() || type.getWidth() >= 32)
    return twin;
  double largest = Rounding::of(type).largest;
  return {bounded(value, twin.bound, largest), bounded(value, twin.spread, largest), {}, {}};
}

Twin ErrorRules::roundedBeforeScaling(Value value, Twin twin, FloatType type) {
  return rounded(value, rounded(value, twin, type, 1), type, 1);
}

Value ErrorRules::error(Twin twin) {
  if (twin.isExact())
    return number(0);
  return arith::MinimumFOp::create(builder, loc, twin.bound, mul(twin.spread, number(spreadFactor)));
}

Value ErrorRules::isUnsure(Twin twin) { return compare(CmpFPredicate::UGT, error(twin), number(0)); }

Twin ErrorRules::unknownWhere(Value condition, Twin twin) {
  Value infinity = number(INFINITY), zero = number(0);
  return {select(condition, infinity, twin.bound ? twin.bound : zero),
          select(condition, infinity, twin.spread ? twin.spread : zero),
          {},
          {}};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Twin ErrorRules::growing(Value value, Twin twin) {
  if (twin.isSum())
    return twin;
  Value zero = number(0);
  return {twin.bound ? twin.bound : zero, twin.spread ? mul(twin.spread, twin.spread) : zero, magnitudeOf(value), zero};
}

Twin ErrorRules::finished(Value value, Twin twin, FloatType type) {
  if (!twin.isSum())
    return twin;
  Rounding rounding = Rounding::of(type);
  Value units = mul(twin.count, number(rounding.unit));
  // gamma_n = n u / (1 - n u), at most n u (1 + 2 n u) where n u <= 1 / 2; beyond it is the spread that counts.
  Value gamma = mul(units, add(number(1), mul(number(2), units)));
  Value lost = mul(twin.count, number(rounding.tiny));
  Value bound = add(add(twin.bound, lost), mul(gamma, twin.magnitude));
  Value growth = mul(math::SqrtOp::create(builder, loc, twin.count), number(rounding.unit));
  Value spread = add(add(math::SqrtOp::create(builder, loc, twin.spread), lost), mul(growth, twin.magnitude));
  double largest = std::max(rounding.largest, 0x1.fffffep127);
  return {bounded(value, bound, largest), bounded(value, spread, largest), {}, {}};
}

/// One addition to a sum that grows.
Twin ErrorRules::sum(Value value, Operand x, Operand y, bool shared) {
  Twin a = growing(x.value, x.twin), b = growing(y.value, y.twin);
  Value spread;
  if (shared) {
    spread = add(math::SqrtOp::create(builder, loc, a.spread), math::SqrtOp::create(builder, loc, b.spread));
    spread = mul(spread, spread);
  } else {
    spread = add(a.spread, b.spread);
  }
  Value count = add(add(x.twin.count, y.twin.count), number(1)); // null for a term
  return {add(a.bound, b.bound), spread, add(a.magnitude, b.magnitude), count};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Twin ErrorRules::product(Value value, Operand x, Operand y) {
  Value sizeX = magnitudeOf(x.value), sizeY = magnitudeOf(y.value);
  auto propagated = [&](Value errorX, Value errorY) {
    return add(mul(errorX, errorY ? add(sizeY, errorY) : sizeY), mul(errorY, sizeX));
  };
  return {propagated(x.twin.bound, y.twin.bound), propagated(x.twin.spread, y.twin.spread), {}, {}};
}

Twin ErrorRules::quotient(Value value, Operand x, Operand y) {
  Value sizeY = magnitudeOf(y.value), size = magnitudeOf(value);
  Value left = sizeY, apart;
  if (!y.twin.isExact()) {
    left = arith::SubFOp::create(builder, loc, sizeY, error(y.twin));
    apart = compare(CmpFPredicate::OGT, left, number(0));
  }
  auto propagated = [&](Value errorX, Value errorY) {
    Value above = add(errorX, mul(size, errorY));
    if (!above)
      return above;
    Value result = arith::DivFOp::create(builder, loc, above, left);
    return apart ? select(apart, result, number(INFINITY)) : result;
  };
  return {propagated(x.twin.bound, y.twin.bound), propagated(x.twin.spread, y.twin.spread), {}, {}};
}

/// What a monotone function makes of the interval around `x`.
Twin ErrorRules::monotone(Operation *op, Operand x, bool hasSteps) {
  if (x.twin.isExact())
    return {};
  Value value = op->getResult(0), around = error(x.twin);
  if (isa<IntegerType>(value.getType()) || value.getType().isIndex())
    value = math::TruncOp::create(builder, loc, x.value); // a conversion; beyond its range as well
  auto at = [&](Value operand) -> Value {
    if (isa<FloatType>(op->getResult(0).getType()))
      return again(op, operand);
    return math::TruncOp::create(builder, loc, operand);
  };
  Value low = arith::SubFOp::create(builder, loc, x.value, around);
  if (isa<math::SqrtOp>(op))
    low = arith::MaximumFOp::create(builder, loc, low, number(0)); // of what is no negative number
  Value up = arith::SubFOp::create(builder, loc, at(add(x.value, around)), value);
  Value down = arith::SubFOp::create(builder, loc, at(low), value);
  Value error = larger(magnitudeOf(up), magnitudeOf(down));
  // Without an error nothing moves: what is infinite is no difference.
  error = select(compare(CmpFPredicate::OGT, around, number(0)), error, number(0));
  if (hasSteps)
    return alike(error);
  // As much smaller as the operand's.
  Value ratio = arith::DivFOp::create(builder, loc, x.twin.spread, around);
  Value isUseful = compare(CmpFPredicate::OLT, ratio, number(1));
  return {error, mul(error, select(isUseful, ratio, number(1))), {}, {}};
}

/// Functions that are not monotone.
Twin ErrorRules::smooth(Operation *op, ArrayRef<Operand> operands) {
  Value value = op->getResult(0), size = magnitudeOf(value);
  const Operand &x = operands[0];
  auto each = [&](llvm::function_ref<Value(Value)> f) {
    return Twin{x.twin.bound ? f(x.twin.bound) : Value(), x.twin.spread ? f(x.twin.spread) : Value(), {}, {}};
  };
  if (isa<math::SinOp, math::CosOp>(op))
    return each([&](Value e) { return arith::MinimumFOp::create(builder, loc, e, number(2)).getResult(); });
  if (isa<math::CoshOp>(op)) // |cosh' | <= sinh(|x| + e)
    return each([&](Value e) { return mul(e, math::SinhOp::create(builder, loc, add(magnitudeOf(x.value), e))); });
  if (isa<math::TanOp>(op)) // far from a pole tan' at most doubles
    return each([&](Value e) {
      Value slope = add(number(1), mul(size, size));
      Value isFar = compare(CmpFPredicate::OLT, mul(e, add(number(1), size)), number(0.25));
      return select(isFar, mul(number(2), mul(e, slope)), number(INFINITY));
    });
  const Operand &y = operands[1];
  if (isa<math::FPowIOp>(op)) // ((|x| + e) / |x|)^|n| - 1
    return each([&](Value e) {
      Value n = magnitudeOf(asFloat(y.value));
      Value near = arith::DivFOp::create(builder, loc, e, arith::SubFOp::create(builder, loc, magnitudeOf(x.value), e));
      Value isApart = compare(CmpFPredicate::OGE, near, number(0));
      Value grown = math::ExpM1Op::create(builder, loc, mul(n, math::Log1pOp::create(builder, loc, near)));
      return select(isApart, mul(size, grown), number(INFINITY));
    });
  if (isa<math::PowFOp>(op)) {
    // x^y = exp(y log x): x's error by its ratio, y's by log x; of negative x only those that are exact.
    Value e = error(x.twin), f = error(y.twin);
    Value near = arith::DivFOp::create(builder, loc, e, arith::SubFOp::create(builder, loc, magnitudeOf(x.value), e));
    Value logs = magnitudeOf(math::LogOp::create(builder, loc, magnitudeOf(x.value)));
    Value sizeY = magnitudeOf(y.value);
    Value exponent = add(mul(add(sizeY, f), math::Log1pOp::create(builder, loc, near)), mul(f, logs));
    Value moved = mul(size, math::ExpM1Op::create(builder, loc, exponent));
    Value isPositive = compare(CmpFPredicate::OGT, arith::SubFOp::create(builder, loc, x.value, e), number(0));
    Value isExact = compare(CmpFPredicate::OEQ, add(e, f), number(0));
    return alike(select(isExact, number(0), select(isPositive, moved, number(INFINITY))));
  }
  // atan2: the gradient is 1 / distance; the branch cut is where the first is zero and the second negative.
  assert(isa<math::Atan2Op>(op));
  Value e = error(x.twin), f = error(y.twin), both = add(e, f);
  Value distance = math::SqrtOp::create(builder, loc, add(mul(x.value, x.value), mul(y.value, y.value)));
  Value left = arith::SubFOp::create(builder, loc, distance, both);
  Value isApart = compare(CmpFPredicate::OGT, left, number(0));
  Value crosses =
      arith::AndIOp::create(builder, loc, compare(CmpFPredicate::OLE, magnitudeOf(x.value), e),
                            compare(CmpFPredicate::OLE, arith::SubFOp::create(builder, loc, y.value, f), number(0)));
  Value moved = select(crosses, number(INFINITY), arith::DivFOp::create(builder, loc, both, left));
  Value isExact = compare(CmpFPredicate::OEQ, both, number(0));
  return alike(select(isExact, number(0), select(isApart, moved, number(INFINITY))));
}

Twin ErrorRules::selected(Operation *op, ArrayRef<Operand> operands) {
  Operand condition = operands[0], x = operands[1], y = operands[2];
  Twin result;
  if (!x.twin.isExact() || !y.twin.isExact()) {
    if (x.twin.isSum() || y.twin.isSum()) {
      Twin a = growing(x.value, x.twin), b = growing(y.value, y.twin);
      result = {select(condition.value, a.bound, b.bound), select(condition.value, a.spread, b.spread),
                select(condition.value, a.magnitude, b.magnitude), select(condition.value, a.count, b.count)};
    } else {
      Value zero = number(0);
      auto or0 = [&](Value value) { return value ? value : zero; };
      result = {select(condition.value, or0(x.twin.bound), or0(y.twin.bound)),
                select(condition.value, or0(x.twin.spread), or0(y.twin.spread)),
                {},
                {}};
    }
  }
  if (condition.twin.isExact())
    return result;
  // The other one: as far away as the two are, and as wrong as either.
  Value apart = magnitudeOf(arith::SubFOp::create(builder, loc, asFloat(x.value), asFloat(y.value)));
  Value unsure = isUnsure(condition.twin);
  if (result.isSum()) {
    Value extra = select(unsure, apart, number(0));
    return {add(result.bound, extra), add(result.spread, mul(extra, extra)), result.magnitude, result.count};
  }
  auto other = [&](Value errorX, Value errorY, Value known) {
    Value far = add(apart, larger(errorX, errorY));
    return select(unsure, far, known ? known : number(0));
  };
  return {other(x.twin.bound, y.twin.bound, result.bound), other(x.twin.spread, y.twin.spread, result.spread), {}, {}};
}

/// A comparison may be the other one where the difference is within the errors.
Twin ErrorRules::compared(Operation *op, ArrayRef<Operand> operands) {
  if (operands[0].twin.isExact() && operands[1].twin.isExact())
    return {};
  Value both = add(error(operands[0].twin), error(operands[1].twin));
  Value apart =
      magnitudeOf(arith::SubFOp::create(builder, loc, asFloat(operands[0].value), asFloat(operands[1].value)));
  Value unsure = arith::AndIOp::create(builder, loc, compare(CmpFPredicate::OLE, apart, both),
                                       compare(CmpFPredicate::OGT, both, number(0)));
  return alike(asFloat(unsure));
}

Twin ErrorRules::ofIntegers(Operation *op, ArrayRef<Operand> operands) {
  Value all;
  for (const Operand &operand : operands)
    if (!operand.twin.isExact())
      all = add(all, error(operand.twin));
  if (!all)
    return {};
  Value unsure = compare(CmpFPredicate::OGT, all, number(0));
  bool isTruth = op->getResult(0).getType().isInteger(1);
  if (isTruth)
    return alike(asFloat(unsure));
  if (isa<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
          arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return alike(all);
  if (isa<arith::MulIOp>(op)) {
    Operand x{asFloat(operands[0].value), operands[0].twin}, y{asFloat(operands[1].value), operands[1].twin};
    return alike(error(product(x.value, x, y)));
  }
  return alike(select(unsure, number(INFINITY), number(0)));
}

/// How exact functions are, in units of u of their results (docs/elementary-functions.md; those of chips with
/// instructions for them among them).
static double unitsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<math::SqrtOp>([](auto) { return 2; })
      .Case<math::RsqrtOp, math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::Log10Op>([](auto) { return 4; })
      .Case<math::ExpM1Op, math::Log1pOp, math::ErfOp, math::SinOp, math::CosOp>([](auto) { return 4; })
      .Case<math::TanhOp, math::SinhOp, math::CoshOp>([](auto) { return 6; })
      .Default([](Operation *) { return 8; });
}

Twin ErrorRules::result(Operation *op, ArrayRef<Operand> operands, FloatType type,
                        llvm::function_ref<bool(unsigned)> isShared) {
  loc = op->getLoc();
  Value value = op->getResult(0);
  auto isExact = [](const Operand &operand) { return operand.twin.isExact(); };
  if (isa<arith::CmpFOp, arith::CmpIOp>(op))
    return compared(op, operands);
  if (isa<arith::SelectOp>(op))
    return selected(op, operands);
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return monotone(op, operands[0], true);
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    auto integer = dyn_cast<IntegerType>(operands[0].value.getType());
    bool fits = integer && integer.getWidth() <= type.getFPMantissaWidth();
    return fits ? operands[0].twin : rounded(value, operands[0].twin, type, 1);
  }
  if (!isa<FloatType>(value.getType()) || isa<arith::BitcastOp>(op))
    return ofIntegers(op, operands);
  if (isa<arith::NegFOp, math::AbsFOp>(op))
    return operands[0].twin;
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    bool growsX = operands[0].twin.isSum(), growsY = operands[1].twin.isSum();
    if (growsX || growsY)
      return sum(value, operands[0], operands[1], isShared(growsX ? 1 : 0));
    Twin both{add(operands[0].twin.bound, operands[1].twin.bound),
              add(operands[0].twin.spread, operands[1].twin.spread),
              {},
              {}};
    return rounded(value, both, type, 1);
  }
  if (isa<arith::MulFOp>(op)) {
    double units = type.isF32() && operandSpacing > 0 ? 1 + 2 * operandSpacing / Rounding::of(type).unit : 1;
    return rounded(value, product(value, operands[0], operands[1]), type, units);
  }
  if (isa<arith::DivFOp>(op))
    return rounded(value, quotient(value, operands[0], operands[1]), type, 3);
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
    return {larger(operands[0].twin.bound, operands[1].twin.bound),
            larger(operands[0].twin.spread, operands[1].twin.spread),
            {},
            {}};
  if (isa<math::FmaOp>(op)) {
    Twin factors = product(value, operands[0], operands[1]);
    if (operands[2].twin.isSum()) {
      Value term = mul(operands[0].value, operands[1].value);
      return sum(value, operands[2], {term, factors}, isShared(0) || isShared(1));
    }
    return rounded(value,
                   {add(factors.bound, operands[2].twin.bound), add(factors.spread, operands[2].twin.spread), {}, {}},
                   type, 1);
  }
  if (isa<arith::RemFOp>(op)) {
    if (llvm::all_of(operands, isExact))
      return {};
    return unknownWhere(arith::OrIOp::create(builder, loc, isUnsure(operands[0].twin), isUnsure(operands[1].twin)), {});
  }
  if (isa<math::CopySignOp>(op)) {
    if (operands[1].twin.isExact())
      return operands[0].twin;
    Value unsure = compare(CmpFPredicate::OLE, magnitudeOf(operands[1].value), error(operands[1].twin));
    Value other = select(unsure, mul(number(2), magnitudeOf(value)), number(0));
    return {add(operands[0].twin.bound, other), add(operands[0].twin.spread, other), {}, {}};
  }
  if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(op)) {
    if (operands[0].twin.isExact())
      return {};
    Twin moved = monotone(op, operands[0], true);
    return rounded(value, moved, type, 0);
  }
  if (isa<math::ExpOp, math::Exp2Op>(op)) {
    // The argument may be rounded once more: 2^(x log2(e) c). Beyond 1,100 the result is 0 or infinite, and exact.
    Value size = arith::MinimumFOp::create(builder, loc, magnitudeOf(operands[0].value), number(1100));
    return rounded(value, monotone(op, operands[0], false), type, unitsOf(op), size);
  }
  if (isa<math::SqrtOp, math::RsqrtOp, math::CbrtOp, math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp,
          math::ExpM1Op, math::TanhOp, math::SinhOp, math::ErfOp, math::ErfcOp, math::AsinhOp, math::AcoshOp,
          math::AtanhOp, math::AsinOp, math::AcosOp, math::AtanOp>(op))
    return rounded(value, monotone(op, operands[0], false), type, unitsOf(op));
  if (isa<math::SinOp, math::CosOp, math::CoshOp, math::TanOp, math::FPowIOp, math::PowFOp, math::Atan2Op>(op))
    return rounded(value, smooth(op, operands), type, unitsOf(op));
  // Others: their own error if the operands are exact, else unknown.
  Twin rounding = rounded(value, {}, type, unitsOf(op));
  for (const Operand &operand : operands)
    if (!operand.twin.isExact())
      rounding = unknownWhere(isUnsure(operand.twin), rounding);
  return rounding;
}
