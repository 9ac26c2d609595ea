//===- PipelineTime.cpp - The time of loops with pipeline stages ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sums over the iterations that differ in what runs beside each other.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/PipelineTime.h"
#include <algorithm>

using namespace tilewright;

/// Clocks for which the core gives the unit no commands, the longest of an iteration: between two groups of these it
/// commands the copies, or takes one iteration for the next one.
static double longestPause(const IterationLoad &load, double commands, const IterationLoad *finish) {
  const double between = load.core - load.issue + (finish ? finish->commands : 0);
  const double work = finish ? finish->core / finish->groups : 0;
  return work + (load.groups > 1 ? std::max(between, commands) : between + commands);
}

/// The clocks of the busiest resource in an iteration. `starts`: copies of a later one are commanded; `arrives`: and
/// under way; `finish`: an iteration that finishes the tile before runs beside it; null: none.
static double busiestOf(const StagedTime &loop, bool starts, bool arrives, const IterationLoad *finish = nullptr) {
  const IterationLoad &load = loop.load;
  double core = load.core, in = load.in, out = load.out, unit = load.unit;
  if (load.unit > 0 && load.queue > 0)
    unit += std::max(0.0, longestPause(load, starts ? load.commands : 0, finish) - load.queue) +
            (load.groups - 1) * std::max(0.0, (finish ? finish->core / finish->groups : 0) - load.queue);
  if (starts)
    core += load.commands;
  // A stage is free when the unit has read it: of two stages the next copy is commanded after commands of the unit.
  if (load.unit > 0 && loop.stages == 2)
    in += load.early;
  if (finish) {
    core += finish->core + finish->commands;
    in += finish->in;
    out += finish->out;
  }
  return std::max({unit, core, arrives ? in : 0, out});
}

/// Clocks until the first iteration has what it reads, while `ahead` copies are commanded.
static double firstCopies(const IterationLoad &load, int64_t ahead) {
  return std::max(load.byCore + load.in, double(ahead) * load.commands);
}

double StagedTime::clocks() const {
  if (iterations < 1)
    return 0;
  const int64_t ahead = std::clamp<int64_t>(stages - 1, 1, iterations);
  const double one = firstCopies(load, ahead) + std::max(load.core, load.unit) + load.out;
  return stages < 2 ? double(iterations) * one : one + double(iterations - 1) * busiestOf(*this, true, true);
}

double StagedTime::clocksWith(const StagedTime &second, int64_t tiles) const {
  const int64_t ahead = std::min(stages - 1, tiles * iterations), beside = std::min(second.iterations, iterations);
  const double finish = second.load.core + second.load.commands;
  auto step = [&](bool starts, bool arrives, bool finishes) {
    return busiestOf(*this, starts, arrives, finishes ? &second.load : nullptr);
  };
  // What the first tile's end reads comes after the first copies, beside the first step and what that copies.
  const double next = tiles * iterations > 1 ? load.in : 0;
  const double late = second.load.in > 0 ? std::max(0.0, next + second.load.in - step(true, true, false)) : 0;
  double all = firstCopies(load, ahead) + late + double(iterations) * step(true, true, false) +
               double(tiles - 1) *
                   (double(beside) * step(true, true, true) + double(iterations - beside) * step(true, true, false));
  // The last steps start no copies, and none arrives after the last one.
  const bool finishes = tiles > 1 && beside == iterations;
  all -= double(ahead - 1) * (step(true, true, finishes) - step(false, true, finishes)) + step(true, true, finishes) -
         step(false, false, finishes);
  // Iterations that are left run beside what the unit still has to do of the last step.
  const double each = std::max({finish, second.load.in, second.load.out});
  double slack = step(true, true, true) - load.core - load.commands - finish;
  if (load.queue > 0) // a full queue keeps the core until then
    slack = std::min(slack, load.queue);
  if (second.iterations > beside)
    all += double(tiles - 1) * std::max(0.0, double(second.iterations - beside) * each - std::max(0.0, slack));
  return all + finish + double(second.iterations - 1) * std::max(finish, second.load.out) + second.load.out;
}
