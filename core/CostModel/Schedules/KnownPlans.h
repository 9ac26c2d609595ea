//===- KnownPlans.h - Plans of products, made once --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Networks repeat products, and several passes plan the same one. Who compiles for one chip in one thread may keep
/// their plans, so that each is made once:
///
///   KnownPlans plans;          while it lives, in this thread
///   runStages(module, ...);    the planners answer a question that they had before with the plan of then
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_KNOWNPLANS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_KNOWNPLANS_H

#include "core/Analysis/Contraction.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace tilewright {

/// All that a planner's answer depends on, as far as types and maps of one context and numbers say it.
class PlanQuestion {
public:
  PlanQuestion(const Contraction &contraction, const TargetDescription &chip);
  PlanQuestion &add(const Access &access);
  PlanQuestion &add(int64_t number);
  PlanQuestion &add(double number);
  PlanQuestion &add(llvm::ArrayRef<std::pair<std::string, int64_t>> overrides);

  bool operator<(const PlanQuestion &other) const { return id < other.id; }
  /// Whether it says all: bounds of loops that are no constants are not in it.
  bool isWhole() const { return isStatic; }

private:
  llvm::FoldingSetNodeID id;
  bool isStatic = true;
};

class KnownPlans {
public:
  KnownPlans();
  ~KnownPlans();
  KnownPlans(const KnownPlans &) = delete;
  KnownPlans &operator=(const KnownPlans &) = delete;

  /// What `plan` answers; where somebody keeps plans in this thread, it is asked once for each question. `reason`: why
  /// there is no plan.
  template <typename Plan>
  static std::optional<Plan> get(const PlanQuestion &question, std::string &reason,
                                 llvm::function_ref<std::optional<Plan>(std::string &reason)> plan) {
    if (!current || !question.isWhole())
      return plan(reason);
    Answers<Plan> &answers = std::get<Answers<Plan>>(current->all);
    auto [known, isNew] = answers.try_emplace(question);
    auto &[answer, why] = known->second;
    if (isNew)
      answer = plan(why);
    if (!answer)
      reason = why;
    return answer;
  }

private:
  template <typename Plan> using Answers = std::map<PlanQuestion, std::pair<std::optional<Plan>, std::string>>;

  static thread_local KnownPlans *current;
  KnownPlans *outer;
  std::tuple<Answers<ContractionPlan>, Answers<LaneContractionPlan>> all;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_KNOWNPLANS_H
