//===- OperandChoice.cpp - Ways to give a product its operands ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What one way takes: the product's plan, and what launches do before.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/OperandChoice.h"

using namespace mlir;
using namespace tilewright;

llvm::json::Object OperandChoice::toJSON(StringRef field) const {
  return llvm::json::Object{{field, buffered}, {"seconds", seconds}};
}

OperandChoice tilewright::planChoice(const LaneContractionQuestion &question, const TargetDescription &chip,
                                     const LaneHierarchy &hierarchy, int64_t buffered, double before) {
  OperandChoice choice;
  choice.buffered = buffered;
  std::string reason;
  choice.plan = planLaneContraction(question, chip, hierarchy, reason);
  if (choice.plan)
    choice.seconds = choice.plan->seconds + before;
  return choice;
}
