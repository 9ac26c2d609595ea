//===- PipelineTimeTest.cpp - The time of loops with pipeline stages --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The closed form beside a run of the loop that pipeline-tiles writes, command by
/// command.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/PipelineTime.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace pipeline_time_test {

using namespace tilewright;

/// The core, and an engine for each direction, in the order of the loop's commands.
static double run(const StagedTime &loop) {
  const IterationLoad &load = loop.load;
  double core = 0, engineIn = 0, engineOut = 0;
  std::vector<double> arrived, left;
  auto copyIn = [&](int64_t iteration) {
    if (iteration >= loop.iterations)
      return;
    core += load.commands;
    engineIn = std::max(engineIn, core) + load.in;
    arrived.push_back(engineIn);
  };
  for (int64_t ahead = 0; ahead < loop.stages - 1; ++ahead)
    copyIn(ahead);
  for (int64_t i = 0; i < loop.iterations; ++i) {
    copyIn(i + loop.stages - 1);
    core = std::max(core, arrived[i]);
    if (i >= loop.stages)
      core = std::max(core, left[i - loop.stages]);
    core += load.core;
    engineOut = std::max(engineOut, core) + load.out;
    left.push_back(engineOut);
  }
  return std::max(core, engineOut);
}

TEST(PipelineTime, OneLoopTakesWhatItsCommandsTake) {
  for (int64_t stages : {2, 3})
    for (int64_t iterations : {1, 2, 3, 7, 100})
      for (auto [in, core, out] :
           {std::array{100., 40., 10.}, {30., 200., 50.}, {20., 30., 90.}, {60., 60., 60.}, {0., 50., 0.}}) {
        StagedTime loop{{.in = in, .core = core, .out = out}, iterations, stages};
        EXPECT_NEAR(loop.clocks(), run(loop), 1e-9) << in << " " << core << " " << out << " x " << iterations;
        // Commands wait in the queue of an engine, which the form does not follow one by one.
        loop.load.commands = 8;
        EXPECT_NEAR(loop.clocks(), run(loop), 8. * double(stages))
            << in << " " << core << " " << out << " x " << iterations;
      }
}

TEST(PipelineTime, WithoutStagesPartsAddUp) {
  EXPECT_EQ((StagedTime{{.in = 5, .commands = 1, .core = 20, .out = 7}, 3, 1}.clocks()), 96);
  EXPECT_EQ((StagedTime{{.commands = 4, .byCore = 4, .core = 20}, 3, 1}.clocks()), 72);
  EXPECT_EQ((StagedTime{{.in = 5}, 0, 2}.clocks()), 0);
}

TEST(PipelineTime, WhatFinishesATileIsHiddenButForTheLastOne) {
  StagedTime steps{{.in = 50, .core = 10, .unit = 100, .issue = 8}, 4, 3}, finish{{.core = 60, .out = 20}, 2};
  // The first copy, 4 steps of 3 tiles, and two slices with their results.
  EXPECT_EQ(steps.clocksWith(finish, 3), 50 + 12 * 100 + 2 * 60 + 20);
  // Slices that take longer than the unit's steps are seen in as many of them.
  finish.load.core = 140;
  EXPECT_EQ(steps.clocksWith(finish, 3), 50 + 12 * 100 + 4 * 50 + 2 * 140 + 20);
}

TEST(PipelineTime, WhatTheEndReadsComesBesideTheFirstStep) {
  StagedTime steps{{.in = 50, .core = 10, .unit = 100, .issue = 8}, 1, 3}, finish{{.in = 90, .core = 60, .out = 20}, 2};
  EXPECT_EQ(steps.clocksWith(finish, 1), 50 + 100 + 2 * 60 + 20);
  finish.load.in = 130; // longer than the only step
  EXPECT_EQ(steps.clocksWith(finish, 1), 50 + 130 + 2 * 60 + 20);
  // Beside more steps it comes before their copies: 50 + 90 in the first one, and in two of each further tile.
  steps.iterations = 4;
  finish.load.in = 90;
  EXPECT_EQ(steps.clocksWith(finish, 3), 50 + 140 + 3 * 100 + 2 * (2 * 140 + 2 * 100) + 2 * 60 + 20);
}

TEST(PipelineTime, WhatHasTooFewStepsToFinishBesideFollowsThem) {
  StagedTime steps{{.in = 50, .core = 10, .unit = 100, .issue = 8}, 1, 3}, finish{{.core = 60, .out = 20}, 4};
  // One slice of four runs beside the step of the next tile, which leaves the core 30 of its 100 clocks.
  EXPECT_EQ(steps.clocksWith(finish, 3), 50 + 3 * 100 + 2 * (3 * 60 - 30) + 4 * 60 + 20);
}

TEST(PipelineTime, OfTwoStagesTheNextCopyWaitsForTheCommandsOfTheUnit) {
  StagedTime steps{{.in = 100, .core = 10, .unit = 100, .early = 8}, 4, 2}, finish{{.core = 10}, 1};
  EXPECT_EQ(steps.clocksWith(finish, 1), 100 + 3 * 108 + 100 + 10);
  steps.stages = 3;
  EXPECT_EQ(steps.clocksWith(finish, 1), 100 + 4 * 100 + 10);
}

/// The core gives a unit its commands in groups, with a part of other work after each, and waits while its queue is
/// full.
static double step(const IterationLoad &load, double commands, double depth, double pause, int64_t steps) {
  std::vector<double> leaves;
  double core = 0, unit = 0, begun = 0;
  for (int64_t i = 0; i < steps; ++i) {
    if (i == steps / 2)
      begun = unit;
    for (int64_t group = 0; group < int64_t(load.groups); ++group) {
      for (int64_t each = 0; each < int64_t(commands / load.groups); ++each) {
        core += load.issue / commands;
        if (leaves.size() >= size_t(depth))
          core = std::max(core, leaves[leaves.size() - size_t(depth)]);
        leaves.push_back(unit = std::max(unit, core) + load.unit / commands);
      }
      core += pause;
    }
    core += load.core - load.issue;
  }
  return (unit - begun) / double(steps - steps / 2);
}

TEST(PipelineTime, AUnitWorksThroughItsQueueWhileTheCoreDoesSomethingElse) {
  for (double groups : {1., 2., 4., 8.})
    for (double work : {0., 100., 400., 800., 1600.}) {
      const double commands = 32, depth = 8;
      StagedTime steps{{.core = 230, .unit = 1024, .issue = 200, .queue = 32 * depth, .groups = groups}, 100, 3};
      StagedTime finish{{.core = work, .groups = groups}, 100};
      const double each = (steps.clocksWith(finish, 3) - steps.clocksWith(finish, 2)) / 100;
      // A pause between steps may begin before the queue is full: by less than a group's commands.
      EXPECT_NEAR(each, step(steps.load, commands, depth, work / groups, 40), 0.1 * each) << groups << " " << work;
    }
}

} // namespace pipeline_time_test
