//===- OperandChoice.h - Ways to give a product its operands -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A product may read operands where they are, or from buffers that launches before
/// it fill: padded (PaddedOperands.h) or transposed (TurnOperands.h). Each way has a
/// plan of its own, and what is compared is the time of all its launches.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_OPERANDCHOICE_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_OPERANDCHOICE_H

#include "core/CostModel/Schedules/ForcedFields.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include <limits>

namespace tilewright {

/// One way.
struct OperandChoice {
  int64_t buffered = 0;                                     // operands that are read from buffers: turnsA, turnsB
  double seconds = std::numeric_limits<double>::infinity(); // of the product and the launches before it
  std::optional<LaneContractionPlan> plan;                  // none: no unit computes it so

  /// "seconds", and `buffered` under the name `field`.
  llvm::json::Object toJSON(llvm::StringRef field) const;
};

/// Plans `question`, the product that reads the operands `buffered` from buffers, which takes `before` seconds of
/// launches.
OperandChoice planChoice(const LaneContractionQuestion &question, const TargetDescription &chip,
                         const LaneHierarchy &hierarchy, int64_t buffered, double before);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_OPERANDCHOICE_H
