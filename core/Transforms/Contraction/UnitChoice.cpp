//===- UnitChoice.cpp - A contraction on a unit, or on vectors ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asks both models.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/UnitChoice.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/Transforms/Utils/NestStatement.h"

using namespace mlir;
using namespace tilewright;

llvm::json::Array UnitChoice::toJSON() const {
  llvm::json::Array candidates = fastestFirst(considered);
  if (vectorSeconds)
    candidates.insert(takesUnit() ? candidates.end() : candidates.begin(),
                      llvm::json::Object{{"runs_on", "vectors"}, {"seconds", *vectorSeconds}});
  return candidates;
}

UnitChoice tilewright::chooseUnit(const ContractionTask &task, ArrayRef<Operation *> group,
                                  const TargetDescription &chip, const CoreHierarchy &cores, const CoreShare &share,
                                  const PlanOptions &options, bool lists, ArrayRef<Value> placed) {
  UnitChoice choice;
  choice.isForced = isTileForced(options);
  choice.unit = planScratchpadContraction(task.contraction, chip, cores, share, tailShapeOf(task, chip), options,
                                          choice.reason, lists ? &choice.considered : nullptr);
  if (!choice.isForced)
    choice.vectorSeconds = secondsOfNests(group, cores, chip, placed);
  return choice;
}
