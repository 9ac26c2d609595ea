//===- TapModel.cpp - How a reduction over a few taps is walked -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/TapModel.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace tilewright {

/// The sum of the lanes of one result: a tree of shuffles and sums, and a blend where lanes are off.
static double sumOfRow(const TapQuestion &q, const MemoryModel &model) {
  const auto lanes = std::min<int64_t>(static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(q.row))), q.lanes);
  return std::log2(static_cast<double>(lanes)) * (model.shuffleLoads() + 1) + (q.row % lanes ? 2 : 0);
}

TapAnswer chooseTaps(const TapQuestion &q, const MemoryModel &model) {
  int64_t taps = 1;
  for (std::optional<int64_t> trips : q.trips)
    taps *= std::max<int64_t>(trips.value_or(assumedTaps), 1);
  const double all = static_cast<double>(taps), lanes = static_cast<double>(q.lanes);

  TapAnswer answer;
  answer.scalar = all * q.scalar * lanes;
  if (q.over)
    answer.over = all * *q.over + lanes * sumOfRow(q, model);
  const double gathered = 0.5 * lanes * static_cast<double>(q.gathers);
  int64_t written = 1;
  for (unsigned count = 0;; ++count) {
    // Where nothing is written out, the vectors of results are read and written once for some steps of the last loop.
    int64_t together =
        count == 0 ? std::min(model.outerReductionSteps(), q.trips.back().value_or(assumedTaps)) : written;
    double visits =
        together == taps && count == q.trips.size() ? 1 : 2 * all / static_cast<double>(std::max<int64_t>(together, 1));
    // Taps that stay have the whole row of results between them.
    double missed = count < q.trips.size() ? lanes * static_cast<double>(q.returns) * model.missedLoads() : 0;
    // What all lanes read alike stays in registers from vector to vector, while there are as many.
    const bool stays =
        static_cast<double>(written) * static_cast<double>(q.uniform) <= static_cast<double>(model.registers());
    const double reloaded = stays ? 0 : static_cast<double>(q.uniform) * (1 - MemoryModel::uniformLoads);
    answer.along.push_back(
        {count, written, q.idle * (all * (q.loads + gathered + missed + reloaded) + q.results * visits)});
    if (count == q.trips.size())
      break;
    std::optional<int64_t> trips = q.trips[q.trips.size() - 1 - count];
    if (!trips || *trips < 1 || written * *trips > model.registers() * (q.shared ? model.rowsAtOnce() : 1))
      break;
    written *= *trips;
  }
  const double others = std::min(answer.over.value_or(answer.scalar), answer.scalar);
  for (const TapCandidate &candidate : answer.along)
    if (candidate.accesses < others && (!answer.choice || candidate.accesses <= answer.choice->accesses))
      answer.choice = candidate;
  return answer;
}

} // namespace tilewright
