//===- UnitMatch.cpp - Whether a unit computes a contraction --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares types, widths and signs.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/UnitMatch.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"

using namespace mlir;
using namespace tilewright;

NumericFreedom NumericFreedom::of(const Settings &settings) {
  return {settings.mayRoundOperands(), settings.mayReassociate()};
}

OperandForm tilewright::formIn(const UnitOperand &slot, const ContractionOperand &given, Type accumulator) {
  const Type type = elementType(slot.element, accumulator.getContext());
  if (type == given.element) {
    if (slot.element == ElementKind::TF32)
      return OperandForm::Rounded;
    // Integers of the accumulator's width are not widened, so that their sign does not matter.
    if (isFloat(slot.element) || type == accumulator || isSigned(slot.element) != given.isUnsigned)
      return OperandForm::AsItIs;
    return given.isUnsigned ? OperandForm::None : OperandForm::Offset;
  }
  // A wider one of the same kind holds every value.
  const bool widens = given.element.isIntOrFloat() && isSigned(slot.element) &&
                      isa<FloatType>(type) == isa<FloatType>(given.element) &&
                      type.getIntOrFloatBitWidth() > given.element.getIntOrFloatBitWidth() &&
                      given.element.getIntOrFloatBitWidth() >= 8;
  return widens ? OperandForm::Widened : OperandForm::None;
}

bool tilewright::takesAccumulator(const MatrixUnit &unit, const Contraction &c) {
  return elementType(unit.c.element, c.accumulator.getContext()) == c.accumulator;
}

bool tilewright::reassociates(const MatrixUnit &unit) { return unit.k > 1 && isFloat(unit.c.element); }

/// Whether `unit` takes the scales of `c`, all of them, and no others. All blocks of an issue may have one scale.
static bool takesScales(const MatrixUnit &unit, const Contraction &c) {
  auto takes = [&](const UnitOperand &slot, bool isTaken, const ContractionOperand &given) {
    if (!isTaken || !given.scale)
      return !isTaken && !given.scale;
    return elementType(slot.element, c.accumulator.getContext()) == given.scale->element &&
           (given.scale->block == unit.scales->block || given.scale->block % unit.k == 0);
  };
  return unit.scales
             ? takes(unit.scales->a, unit.scales->hasA(), c.a) && takes(unit.scales->b, unit.scales->hasB(), c.b)
             : !c.a.scale && !c.b.scale;
}

/// Whether A of `unit` is sparse like that of `c`, or neither is. No unit has a sparse B.
static bool takesIndex(const MatrixUnit &unit, const Contraction &c) {
  if (!unit.sparsity || !c.a.index)
    return !unit.sparsity && !c.a.index && !c.b.index;
  return unit.sparsity->kept == c.a.index->kept && unit.sparsity->group == c.a.index->group && !c.b.index;
}

bool tilewright::takesElements(const MatrixUnit &unit, const Contraction &c, const NumericFreedom &freedom) {
  auto takes = [&](const UnitOperand &slot, const ContractionOperand &given) {
    const OperandForm form = formIn(slot, given, c.accumulator);
    return form == OperandForm::AsItIs || (form == OperandForm::Rounded && freedom.fast);
  };
  return takesScales(unit, c) && takesIndex(unit, c) && takesAccumulator(unit, c) && takes(unit.a, c.a) &&
         takes(unit.b, c.b) && (freedom.mayReassociate || !reassociates(unit));
}

int64_t tilewright::overwrittenRegisters(const MatrixUnit &unit) {
  if (unit.emit.kind != EmissionKind::InlineAsm)
    return 0;
  int64_t count = 0;
  for (StringRef constraints : unit.emit.arguments)
    for (StringRef each : llvm::split(constraints, ','))
      count += each.consume_front("~{") && each != "memory}" && each != "flags}";
  return count;
}
