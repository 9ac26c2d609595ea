//===- SumNumbers.cpp - Integers of one iteration ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an integer is made of decides which elements are the same; its value decides how often loops run.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/SumCounter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright::proof;

unsigned SumCounter::atomOf(Value value) {
  auto [found, isNew] = atomByValue.try_emplace(value, atoms.size());
  if (isNew)
    atoms.push_back({value, {}});
  return found->second;
}

Form SumCounter::opaque(const void *kind, ArrayRef<Form> operands) {
  std::vector<int64_t> key{static_cast<int64_t>(reinterpret_cast<intptr_t>(kind))};
  std::vector<unsigned> inner;
  for (const Form &each : operands) {
    key.push_back(each.constant);
    key.push_back(static_cast<int64_t>(each.terms.size()));
    for (auto [atom, factor] : each.terms) {
      key.push_back(atom);
      key.push_back(factor);
      inner.push_back(atom);
    }
  }
  auto [found, isNew] = atomByOperands.try_emplace(std::move(key), atoms.size());
  if (isNew)
    atoms.push_back({Value(), std::move(inner)});
  Form result;
  result.terms[found->second] = 1;
  return result;
}

bool SumCounter::isMadeOf(unsigned atom, llvm::function_ref<bool(Value)> is) const {
  const Atom &each = atoms[atom];
  if (each.value)
    return is(each.value);
  return llvm::any_of(each.inner, [&](unsigned inner) { return isMadeOf(inner, is); });
}

const SumCounter::Number &SumCounter::numberOf(Value value) {
  auto [found, isNew] = numbers.try_emplace(value);
  if (isNew) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      found->second.value = constant.getSExtValue();
      found->second.form.constant = constant.getSExtValue();
    } else // a value of data
      found->second.form.terms[atomOf(value)] = 1;
  }
  return found->second;
}

SumCounter::Number SumCounter::numberOf(OpFoldResult value) {
  if (auto known = dyn_cast<Value>(value))
    return numberOf(known);
  int64_t constant = cast<IntegerAttr>(cast<Attribute>(value)).getInt();
  return {{{}, constant}, constant, 0};
}

std::vector<SumCounter::Number> SumCounter::numbersOf(ValueRange values) {
  std::vector<Number> result;
  for (Value each : values)
    result.push_back(numberOf(each));
  return result;
}

SumCounter::Number SumCounter::evaluate(AffineExpr expr, ArrayRef<Number> operands, unsigned numDims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {{{}, constant.getValue()}, constant.getValue(), 0};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Number a = evaluate(binary.getLHS(), operands, numDims), b = evaluate(binary.getRHS(), operands, numDims), result;
  result.loops = a.loops | b.loops;
  AffineExprKind kind = expr.getKind();
  if (a.value && b.value && (*b.value > 0 || kind == AffineExprKind::Add || kind == AffineExprKind::Mul)) {
    switch (kind) {
    case AffineExprKind::Add:
      result.value = *a.value + *b.value;
      break;
    case AffineExprKind::Mul:
      result.value = *a.value * *b.value;
      break;
    case AffineExprKind::FloorDiv:
      result.value = llvm::divideFloorSigned(*a.value, *b.value);
      break;
    case AffineExprKind::CeilDiv:
      result.value = llvm::divideCeilSigned(*a.value, *b.value);
      break;
    default:
      result.value = *a.value - *b.value * llvm::divideFloorSigned(*a.value, *b.value);
    }
  }
  if (kind == AffineExprKind::Add)
    result.form = a.form.add(b.form);
  else if (kind == AffineExprKind::Mul && (a.form.isConstant() || b.form.isConstant()))
    result.form.add(a.form.isConstant() ? b.form : a.form, a.form.isConstant() ? a.form.constant : b.form.constant);
  else if (a.form.isConstant() && b.form.isConstant() && result.value)
    result.form.constant = *result.value;
  else // quotients of the same operands are the same number
    result.form = opaque(reinterpret_cast<const void *>(static_cast<intptr_t>(kind) + 1), {a.form, b.form});
  return result;
}

std::vector<SumCounter::Number> SumCounter::evaluate(AffineMap map, ValueRange operands) {
  std::vector<Number> given = numbersOf(operands), results;
  for (AffineExpr expr : map.getResults())
    results.push_back(evaluate(expr, given, map.getNumDims()));
  return results;
}

SumCounter::Number SumCounter::extreme(ArrayRef<Number> values, bool isLeast) {
  Number result = values.front();
  for (const Number &each : values.drop_front()) {
    result.loops |= each.loops;
    if (!result.value || !each.value)
      result.value = std::nullopt;
    else if (isLeast ? *each.value < *result.value : *each.value > *result.value)
      result.value = each.value, result.form = each.form;
  }
  return result;
}

std::optional<int64_t> SumCounter::tripsOf(const Number &first, const Number &end, int64_t step) {
  usedLoops |= first.loops | end.loops;
  if (!first.value || !end.value || step <= 0)
    return std::nullopt;
  return std::max<int64_t>(0, llvm::divideCeilSigned(*end.value - *first.value, step));
}

/// Integers, indices and truth values that `op` computes.
void SumCounter::computeNumbers(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex() || op->getNumRegions())
    return;
  Value result = op->getResult(0);
  Number number;
  SmallVector<Number> operands;
  for (Value each : op->getOperands()) {
    if (!each.getType().isIntOrIndex()) { // of data
      number.form.terms[atomOf(result)] = 1;
      for (Value other : op->getOperands())
        if (other.getType().isIntOrIndex())
          number.loops |= numberOf(other).loops;
      numbers[result] = number;
      return;
    }
    operands.push_back(numberOf(each));
  }
  for (const Number &each : operands)
    number.loops |= each.loops;
  bool isKnown = true;
  SmallVector<Attribute> constants;
  for (auto [each, value] : llvm::zip_equal(operands, op->getOperands())) {
    isKnown &= each.value.has_value();
    constants.push_back(each.value ? Attribute(IntegerAttr::get(value.getType(), *each.value)) : Attribute());
  }
  SmallVector<OpFoldResult> folded;
  APInt constant;
  if (matchPattern(result, m_ConstantInt(&constant))) {
    number.value = constant.getSExtValue();
  } else if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    numbers[result] = evaluate(apply.getAffineMap(), apply.getMapOperands()).front();
    return;
  } else if (auto least = dyn_cast<affine::AffineMinOp>(op)) {
    number.value = extreme(evaluate(least.getMap(), least.getOperands()), true).value;
  } else if (auto greatest = dyn_cast<affine::AffineMaxOp>(op)) {
    number.value = extreme(evaluate(greatest.getMap(), greatest.getOperands()), false).value;
  } else if (isKnown && succeeded(op->fold(constants, folded)) && folded.size() == 1) {
    Attribute attribute = dyn_cast<Attribute>(folded.front());
    if (!attribute)
      number.value = numberOf(cast<Value>(folded.front())).value;
    else if (auto integer = dyn_cast<IntegerAttr>(attribute))
      number.value = integer.getValue().getSExtValue();
  }
  if (number.value && result.getType().isInteger(1))
    number.value = *number.value & 1;
  auto isConstant = [&](unsigned i) { return operands[i].form.isConstant(); };
  if (llvm::all_of(operands, [](const Number &each) { return each.form.isConstant(); }) && number.value)
    number.form.constant = *number.value;
  else if (isa<arith::AddIOp>(op))
    number.form = operands[0].form, number.form.add(operands[1].form);
  else if (isa<arith::SubIOp>(op))
    number.form = operands[0].form, number.form.add(operands[1].form, -1);
  else if (isa<arith::MulIOp>(op) && (isConstant(0) || isConstant(1)))
    number.form.add(operands[isConstant(0)].form, operands[!isConstant(0)].form.constant);
  else if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    number.form = operands[0].form;
  else if (isPure(op) && !operands.empty())
    number.form = opaque(op->getName().getAsOpaquePointer(),
                         llvm::map_to_vector(operands, [](const Number &each) { return each.form; }));
  else
    number.form.terms[atomOf(result)] = 1;
  numbers[result] = number;
}
