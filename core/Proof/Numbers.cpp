//===- Numbers.cpp - Integers and truth values of a program ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arithmetic on indices becomes sums of variables. An index has 64 bits and is taken
/// never to wrap; integers of other widths are data.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Reader.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::proof;

/// Whether values of `type` are read as numbers: those of 32 bits where they are indices that fit.
static bool isNumber(Type type) { return type.isIndex() || type.isInteger(64) || type.isInteger(32); }

Linear Reader::numberOf(Value value) {
  auto found = numbers.find(value);
  if (found != numbers.end())
    return found->second;
  if (IntegerAttr constant; matchPattern(value, m_Constant(&constant)) && constant.getType().isIntOrIndex())
    return constant.getValue().isSignedIntN(64) ? Linear(constant.getValue().getSExtValue()) : Linear();
  Linear result = fresh("value", isa<BlockArgument>(value) ? "a value that a loop carries" : "a value of data");
  numbers[value] = result;
  return result;
}

Linear Reader::numberOf(OpFoldResult value) {
  if (auto attribute = dyn_cast<Attribute>(value))
    return cast<IntegerAttr>(attribute).getInt();
  return numberOf(cast<Value>(value));
}

SmallVector<Linear> Reader::numbersOf(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return numberOf(value); });
}

//===-- Affine expressions ------------------------------------------------===//

Linear Reader::evaluate(AffineExpr expr, ArrayRef<Linear> dims, ArrayRef<Linear> symbols) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Linear left = evaluate(binary.getLHS(), dims, symbols), right = evaluate(binary.getRHS(), dims, symbols);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return space.product(left, right);
  default:
    break;
  }
  if (right.isConstant() && right.constant() <= 0)
    return fresh("quotient", "a division by a number that is not positive");
  if (!right.isConstant()) {
    if (binary.getKind() == AffineExprKind::CeilDiv)
      return space.quotient(left * -1, right) * -1;
    Linear quotient = space.quotient(left, right);
    return binary.getKind() == AffineExprKind::Mod ? left - space.product(quotient, right) : quotient;
  }
  if (binary.getKind() == AffineExprKind::Mod)
    return space.modulo(left, right.constant());
  if (binary.getKind() == AffineExprKind::CeilDiv)
    left += right.constant() - 1;
  return space.floorDiv(left, right.constant());
}

SmallVector<Linear> Reader::evaluate(AffineMap map, ArrayRef<Linear> operands) {
  ArrayRef<Linear> dims = operands.take_front(map.getNumDims()), symbols = operands.drop_front(map.getNumDims());
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr each) { return evaluate(each, dims, symbols); });
}

Conjunction Reader::conditionsOf(IntegerSet set, ArrayRef<Linear> operands) {
  Conjunction result;
  for (auto [expr, isEqual] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
    Linear value = evaluate(expr, operands.take_front(set.getNumDims()), operands.drop_front(set.getNumDims()));
    result.push_back(value);
    if (isEqual)
      result.push_back(value * -1);
  }
  return result;
}

//===-- Truth values ------------------------------------------------------===//

Truth Reader::compare(Operation *op) {
  auto comparison = cast<arith::CmpIOp>(op);
  if (!isNumber(comparison.getLhs().getType()))
    return {{}, false};
  Linear a = numberOf(comparison.getLhs()), b = numberOf(comparison.getRhs());
  using Predicate = arith::CmpIPredicate;
  auto less = [](const Linear &x, const Linear &y) { return Truth{{{y - x + -1}}, true}; };
  Predicate predicate = comparison.getPredicate();
  switch (predicate) {
  case Predicate::eq:
    return {{{a - b, b - a}}, true};
  case Predicate::ne:
    return {{{a - b + -1}, {b - a + -1}}, true};
  case Predicate::slt:
    return less(a, b);
  case Predicate::sgt:
    return less(b, a);
  case Predicate::sge:
    return !less(a, b);
  case Predicate::sle:
    return !less(b, a);
  default:
    break;
  }
  // Unsigned ones: as signed where neither is negative; a negative one is greater than any other.
  bool isSwapped = predicate == Predicate::ugt || predicate == Predicate::ule;
  if (isSwapped)
    std::swap(a, b);
  if (!space.isNonNegative(conditions, b))
    return {{}, false};
  Truth result = less(a, b);
  if (!space.isNonNegative(conditions, a))
    result = result && Truth{{{a}}, true};
  return predicate == Predicate::ult || predicate == Predicate::ugt ? result : !result;
}

Truth Reader::truthOf(Value value) {
  if (APInt constant; matchPattern(value, m_ConstantInt(&constant)))
    return constant.isZero() ? Truth{{}, true} : Truth{{Conjunction()}, true};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {{}, false};
  return llvm::TypeSwitch<Operation *, Truth>(op)
      .Case([&](arith::CmpIOp) { return compare(op); })
      .Case([&](arith::AndIOp both) { return truthOf(both.getLhs()) && truthOf(both.getRhs()); })
      .Case([&](arith::OrIOp either) { return truthOf(either.getLhs()) || truthOf(either.getRhs()); })
      .Case([&](arith::XOrIOp either) {
        Truth a = truthOf(either.getLhs()), b = truthOf(either.getRhs());
        return (a && !b) || (!a && b);
      })
      .Default([](Operation *) { return Truth{{}, false}; });
}

//===-- Arithmetic --------------------------------------------------------===//

Linear Reader::divide(const Linear &value, const Linear &divisor, bool isSigned, bool isRemainder) {
  if (!divisor.isConstant()) {
    bool isKnown = space.isNonNegative(conditions, value) && space.isNonNegative(conditions, divisor);
    if (!isKnown)
      return fresh("quotient", "a division of values that may be negative");
    Linear quotient = space.quotient(value, divisor);
    return isRemainder ? value - space.product(quotient, divisor) : quotient;
  }
  if (divisor.constant() <= 0)
    return fresh("quotient", "a division by a number that is not positive");
  int64_t by = divisor.constant();
  if (space.isNonNegative(conditions, value))
    return isRemainder ? space.modulo(value, by) : space.floorDiv(value, by);
  if (!isSigned) {
    Linear result = space.opaque(isRemainder ? "unsigned remainder" : "unsigned quotient", {value, divisor},
                                 "an unsigned division of a value that may be negative");
    if (isRemainder) {
      Variable variable = result.terms().front().first;
      space.know(variable, result);
      space.know(variable, result * -1 + (by - 1));
    }
    return result;
  }
  // Towards zero.
  Linear quotient = space.select({{{value}}, true}, space.floorDiv(value, by), space.floorDiv(value * -1, by) * -1);
  return isRemainder ? value - quotient * by : quotient;
}

void Reader::readNumber(Operation *op) {
  if (op->getNumResults() != 1 || !isNumber(op->getResult(0).getType()))
    return;
  Type type = op->getResult(0).getType();
  bool isNarrow = type.isInteger(32);
  if (isNarrow && !isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) && // data, unless it is computed of indices
      !llvm::all_of(op->getOperands(), [&](Value value) {
        return numbers.contains(value) || matchPattern(value, m_Constant()) || value.getType().isInteger(1);
      }))
    return;
  auto two = [&](auto each) { return std::pair(numberOf(each.getLhs()), numberOf(each.getRhs())); };
  auto least = [&](auto each, bool isLeast, bool isSigned) -> std::optional<Linear> {
    auto [a, b] = two(each);
    bool isA = isSigned || space.isNonNegative(conditions, a), isB = isSigned || space.isNonNegative(conditions, b);
    if (isA && isB)
      return space.extreme({a, b}, isLeast);
    if (!isLeast || (!isA && !isB))
      return std::nullopt;
    // The least as unsigned numbers, of which one is no negative one: from 0 to that.
    Linear result = fresh("unsigned least", "an unsigned minimum of a value that may be negative");
    space.know(result.terms().front().first, result);
    space.know(result.terms().front().first, (isA ? a : b) - result);
    return result;
  };
  std::optional<Linear> result =
      llvm::TypeSwitch<Operation *, std::optional<Linear>>(op)
          .Case([&](arith::AddIOp each) {
            auto [a, b] = two(each);
            return a + b;
          })
          .Case([&](arith::SubIOp each) {
            auto [a, b] = two(each);
            return a - b;
          })
          .Case([&](arith::MulIOp each) {
            auto [a, b] = two(each);
            return space.product(a, b);
          })
          .Case([&](arith::DivSIOp each) { return divide(two(each).first, two(each).second, true, false); })
          .Case([&](arith::DivUIOp each) { return divide(two(each).first, two(each).second, false, false); })
          .Case([&](arith::RemSIOp each) { return divide(two(each).first, two(each).second, true, true); })
          .Case([&](arith::RemUIOp each) { return divide(two(each).first, two(each).second, false, true); })
          .Case([&](arith::FloorDivSIOp each) -> std::optional<Linear> {
            auto [a, b] = two(each);
            return b.isConstant() && b.constant() > 0 ? std::optional(space.floorDiv(a, b.constant())) : std::nullopt;
          })
          .Case([&](arith::CeilDivSIOp each) -> std::optional<Linear> {
            auto [a, b] = two(each);
            if (!b.isConstant() || b.constant() <= 0)
              return std::nullopt;
            return space.floorDiv(a + (b.constant() - 1), b.constant());
          })
          .Case([&](arith::ShRSIOp each) -> std::optional<Linear> {
            auto [a, b] = two(each);
            bool isShift = b.isConstant() && b.constant() >= 0 && b.constant() < 63;
            return isShift ? std::optional(space.floorDiv(a, int64_t(1) << b.constant())) : std::nullopt;
          })
          .Case([&](arith::ShLIOp each) -> std::optional<Linear> {
            auto [a, b] = two(each);
            bool isShift = b.isConstant() && b.constant() >= 0 && b.constant() < 63;
            return isShift ? std::optional(a * (int64_t(1) << b.constant())) : std::nullopt;
          })
          .Case([&](arith::AndIOp each) -> std::optional<Linear> {
            auto [a, b] = two(each);
            bool isMask = b.isConstant() && b.constant() > 0 && ((b.constant() + 1) & b.constant()) == 0;
            return isMask ? std::optional(space.modulo(a, b.constant() + 1)) : std::nullopt;
          })
          .Case([&](arith::MinSIOp each) { return least(each, true, true); })
          .Case([&](arith::MaxSIOp each) { return least(each, false, true); })
          .Case([&](arith::MinUIOp each) { return least(each, true, false); })
          .Case([&](arith::MaxUIOp each) { return least(each, false, false); })
          .Case([&](arith::SelectOp each) {
            return space.select(truthOf(each.getCondition()), numberOf(each.getTrueValue()),
                                numberOf(each.getFalseValue()));
          })
          .Case<arith::IndexCastOp, arith::IndexCastUIOp>([&](auto each) -> std::optional<Linear> {
            Type from = each.getIn().getType();
            if (from.isInteger(1) && isa<arith::IndexCastUIOp>(op))
              return space.select(truthOf(each.getIn()), 1, 0);
            return isNumber(from) ? std::optional(numberOf(each.getIn())) : std::nullopt;
          })
          .Case([&](affine::AffineApplyOp each) {
            return evaluate(each.getAffineMap(), numbersOf(each.getMapOperands())).front();
          })
          .Case([&](affine::AffineMinOp each) {
            return space.extreme(evaluate(each.getAffineMap(), numbersOf(each.getOperands())), true);
          })
          .Case([&](affine::AffineMaxOp each) {
            return space.extreme(evaluate(each.getAffineMap(), numbersOf(each.getOperands())), false);
          })
          .Case([&](memref::DimOp each) -> std::optional<Linear> {
            View view = viewOf(each.getSource());
            std::optional<int64_t> index = each.getConstantIndex();
            bool isKnown = view.unknown.empty() && index && *index < static_cast<int64_t>(view.shape.size());
            return isKnown ? std::optional(view.shape[*index]) : std::nullopt;
          })
          .Default([](Operation *) { return std::nullopt; });
  if (!result)
    return;
  bool fits = !isNarrow || (space.isNonNegative(conditions, *result) &&
                            space.isNonNegative(conditions, *result * -1 + std::numeric_limits<int32_t>::max()));
  numbers[op->getResult(0)] = fits ? *result : fresh("value", "a value that 32 bits may not hold");
}
