//===- KnownPlans.h - Plans of products, made once --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Networks repeat products, and several passes plan the same one. Who compiles for one chip may keep their plans, so
/// that each is made once:
///
///   KnownPlans plans;          while it lives, in this thread
///   runStages(module, ...);    the planners answer a question that they had before with the plan of then
///
/// Other threads that work for this one share them: `KnownPlans::Shared here(plans)` in each.
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
#include <mutex>

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

  /// Those of another thread, in this one while it lives.
  class Shared {
  public:
    explicit Shared(KnownPlans &plans) : outer(std::exchange(current, &plans)) {}
    ~Shared() { current = outer; }
    Shared(const Shared &) = delete;
    Shared &operator=(const Shared &) = delete;

  private:
    KnownPlans *outer;
  };

  /// What `plan` answers; where somebody keeps plans in this thread, it is asked once for each question, or by each
  /// thread that has the question before another has the answer. `reason`: why there is no plan.
  template <typename Plan>
  static std::optional<Plan> get(const PlanQuestion &question, std::string &reason,
                                 llvm::function_ref<std::optional<Plan>(std::string &reason)> plan) {
    if (!current || !question.isWhole())
      return plan(reason);
    KnownPlans &known = *current;
    Answers<Plan> &answers = std::get<Answers<Plan>>(known.all);
    std::unique_lock lock(known.mutex);
    auto found = answers.find(question);
    if (found == answers.end()) {
      lock.unlock();
      std::string why;
      std::optional<Plan> made = plan(why);
      lock.lock();
      found = answers.try_emplace(question, std::move(made), std::move(why)).first;
    }
    const auto &[answer, why] = found->second;
    if (!answer)
      reason = why;
    return answer;
  }

private:
  template <typename Plan> using Answers = std::map<PlanQuestion, std::pair<std::optional<Plan>, std::string>>;

  static thread_local KnownPlans *current;
  KnownPlans *outer;
  std::mutex mutex;
  std::tuple<Answers<ContractionPlan>, Answers<LaneContractionPlan>> all;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_KNOWNPLANS_H
