//===- Candidates.h - What a decision chose from ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The search for a plan, and lists of plans for --explain. A plan has `seconds` and, in a list, `toJSON()` and a
/// `key()` of what is told apart there.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CANDIDATES_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CANDIDATES_H

#include "core/CostModel/Explain/WorkCounter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <optional>
#include <set>
#include <vector>

namespace tilewright {

/// Looks at priced plans and keeps the fastest one, of equal ones the first. `time`: what they are compared by.
template <typename Plan, auto time = &Plan::seconds> class PlanSearch {
public:
  /// `considered` receives all plans, and may be null. A plan replaces another one if it takes less than `part` of its
  /// time.
  explicit PlanSearch(std::vector<Plan> *considered = nullptr, double part = 1) : considered(considered), part(part) {}

  /// The time that a plan has to stay below; infinite where all of them are listed, with their whole time.
  double most() const { return considered ? std::numeric_limits<double>::infinity() : limit(); }
  void offer(Plan plan) {
    countWork("candidates", 1);
    if (considered)
      considered->push_back(plan);
    keep(std::move(plan));
  }
  /// Offers what another search has found.
  void keep(Plan plan) {
    if (!best || plan.*time < limit())
      best = std::move(plan);
  }

  std::optional<Plan> best;

private:
  double limit() const { return best ? *best.*time * part : std::numeric_limits<double>::infinity(); }

  std::vector<Plan> *considered;
  double part;
};

/// The fastest of `considered`, at most `most`, one for each `key()`.
template <typename Plan> llvm::json::Array fastestFirst(std::vector<Plan> considered, size_t most = 12) {
  llvm::stable_sort(considered, [](const Plan &a, const Plan &b) { return a.seconds < b.seconds; });
  std::set<decltype(considered.front().key())> seen;
  llvm::json::Array best;
  for (const Plan &plan : considered)
    if (best.size() < most && seen.insert(plan.key()).second)
      best.push_back(plan.toJSON());
  return best;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CANDIDATES_H
