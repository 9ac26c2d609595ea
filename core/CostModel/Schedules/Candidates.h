//===- Candidates.h - What a decision chose from ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lists of plans for --explain. A plan has `seconds` and `toJSON()`.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CANDIDATES_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CANDIDATES_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <set>
#include <vector>

namespace tilewright {

/// The fastest of `considered`, at most `most`, one for each value of `key`.
template <typename Plan, typename Key>
llvm::json::Array fastestFirst(std::vector<Plan> considered, Key key, size_t most = 12) {
  llvm::stable_sort(considered, [](const Plan &a, const Plan &b) { return a.seconds < b.seconds; });
  std::set<decltype(key(considered.front()))> seen;
  llvm::json::Array best;
  for (const Plan &plan : considered)
    if (best.size() < most && seen.insert(key(plan)).second)
      best.push_back(plan.toJSON());
  return best;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CANDIDATES_H
