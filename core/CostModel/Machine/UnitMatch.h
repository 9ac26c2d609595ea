//===- UnitMatch.h - Whether a unit computes a contraction ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The elements of a contraction beside those of a unit's record, for every kind of chip:
///
///   the contraction multiplies   the unit's operand   what has to happen
///   i8, signed                   i8                   nothing
///   f32                          tf32                 the unit rounds it
///   f16                          f32                  a copy widens it: every value has a place there
///   i8, signed                   u8                   a copy adds half of the range, which the sums pay back
///   u8                           i8                   no copy helps
///   f8, scaled in blocks of 32   f8 and its scales    nothing; units with scales take no operands without
///
/// Where operands lie is asked elsewhere: it differs with what a chip computes on.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_UNITMATCH_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_UNITMATCH_H

#include "core/Analysis/Contraction.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

struct Settings;

/// What a plan may change of the results.
struct NumericFreedom {
  bool fast = false;          // units that round their operands (tf32) may be used
  bool mayReassociate = true; // else floats are added along k in their order, one by one
  static NumericFreedom of(const Settings &settings);
};

/// What has to happen to an operand before or while a unit reads it.
enum class OperandForm { AsItIs, Rounded, Widened, Offset, None };

/// How `slot` takes the elements of `given`, which are multiplied into an `accumulator`.
OperandForm formIn(const UnitOperand &slot, const ContractionOperand &given, mlir::Type accumulator);

/// Whether the accumulator of `contraction` is that of `unit`.
bool takesAccumulator(const MatrixUnit &unit, const Contraction &contraction);

/// Whether `unit` adds several products to a float at once, in an order of its own.
bool reassociates(const MatrixUnit &unit);

/// Whether `unit` takes A, B, their scales and the accumulator without a copy that changes elements, and may round and
/// add them as it does.
bool takesElements(const MatrixUnit &unit, const Contraction &contraction, const NumericFreedom &freedom);

/// Registers of the file of vectors that the instructions of `unit` overwrite beside C: those that inline assembly
/// names as clobbered. What a product is kept in until it is added is one.
int64_t overwrittenRegisters(const MatrixUnit &unit);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_UNITMATCH_H
