//===- NestModelTest.cpp - Iterations that a lane takes -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/NestModel.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "gtest/gtest.h"

namespace nest_model_test {

using namespace tilewright;

namespace {

const char *const chips[] = {"nvidia:A100", "nvidia:H100", "nvidia:T4", "amd:MI300X", "amd:RX7900"};

/// c = a + b of `bytes` an element, all of which is one run whose accesses have `run` elements at most.
NestTask addition(int64_t length, int64_t bytes, int64_t run = mostIterations) {
  NestTask task;
  task.length = length;
  for (bool writes : {false, false, true})
    task.accesses.push_back({bytes, run, bytes, writes});
  task.operations = 1;
  task.registerBytes = 2 * bytes + 8;
  task.most = run;
  task.partial = true;
  return task;
}

NestPlan plan(const NestTask &task, llvm::StringRef name, std::vector<NestPlan> *considered = nullptr) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto chip = TargetRegistry::get().describe(name);
  EXPECT_TRUE(bool(chip));
  return planNest(task, **chip, LaneHierarchy::of((*chip)->graph()), considered);
}

/// The plan of `iterations` for the same task; it has to be among those that the model looks at.
NestPlan with(int64_t iterations, const NestTask &task, llvm::StringRef name) {
  std::vector<NestPlan> considered;
  plan(task, name, &considered);
  for (const NestPlan &each : considered)
    if (each.iterations == iterations)
      return each;
  ADD_FAILURE() << iterations << " iterations are not considered";
  return {};
}

TEST(NestModel, LargeAdditionsMove16BytesAtATime) {
  for (const char *chip : chips)
    for (int64_t bytes : {1, 2, 4, 8}) {
      NestPlan chosen = plan(addition(1 << 24, bytes), chip);
      EXPECT_EQ(chosen.iterations, mostIterations / bytes) << chip << ", " << bytes;
      EXPECT_EQ(chosen.requests, 3) << chip << ", " << bytes;
    }
}

TEST(NestModel, AFewIterationsKeepALaneEach) {
  for (const char *chip : chips)
    EXPECT_EQ(plan(addition(2048, 2), chip).iterations, 1) << chip;
}

TEST(NestModel, EveryMultiprocessorHasABlockBeforeLanesTakeMore) {
  for (const char *chip : chips)
    for (int64_t length = 1 << 10; length <= 1 << 22; length *= 2) {
      NestPlan chosen = plan(addition(length, 2), chip), alone = with(1, addition(length, 2), chip);
      if (!chosen.fills && alone.fills) {
        EXPECT_LT(chosen.clocks, alone.clocks) << chip << ", " << length;
      }
    }
}

TEST(NestModel, NoLaneTakesMoreThanAnyAccessIsWide) {
  for (int64_t run : {1, 2, 4})
    EXPECT_EQ(plan(addition(1 << 24, 2, run), "nvidia:H100").iterations, run);
}

TEST(NestModel, WritesBesideAWideReadAreNotScattered) {
  // Of b in c[i, j] = a[i, j] + b[j] 8 may be read at once, rows of a and c begin anywhere.
  for (const char *chip : chips) {
    NestTask task = addition(1031, 2, 1);
    task.rows = 16384;
    task.accesses[1].run = task.most = 8;
    EXPECT_EQ(plan(task, chip).iterations, 1) << chip;
  }
}

TEST(NestModel, OneAccessWritesWhatALaneHasOfAResult) {
  // f16 to f32: four results are 16 bytes.
  NestTask task = addition(1 << 24, 2);
  task.accesses[2].bytes = task.accesses[2].step = 4;
  for (const char *chip : chips)
    EXPECT_EQ(plan(task, chip).iterations, 4) << chip;
}

TEST(NestModel, NarrowReadsTakeMoreRequests) {
  NestTask task = addition(1 << 22, 2);
  task.accesses[0].run = 1;
  for (const char *chip : chips) {
    NestPlan eight = with(8, task, chip);
    EXPECT_EQ(eight.requests, 10);
    EXPECT_GT(eight.busyClocks, with(8, addition(1 << 22, 2), chip).busyClocks) << chip;
  }
}

TEST(NestModel, WhatAllIterationsShareIsReadOnce) {
  NestTask task = addition(1 << 20, 4);
  task.accesses[1].step = 0;
  NestPlan four = with(4, task, "nvidia:H100");
  EXPECT_EQ(four.requests, 3);
  EXPECT_LT(four.clocks, with(4, addition(1 << 20, 4), "nvidia:H100").clocks);
}

TEST(NestModel, RowsThatAreNoMultipleAreLeftOutWhereNoLaneMayTakeFewer) {
  NestTask task = addition(1 << 20, 2);
  task.length = 1020;
  task.rows = 1024;
  task.partial = false;
  std::vector<NestPlan> considered;
  plan(task, "nvidia:H100", &considered);
  ASSERT_FALSE(considered.empty());
  EXPECT_EQ(considered.back().iterations, 4);
}

TEST(NestModel, RegistersBoundTheLanesThatWaitForMemory) {
  // 64 bytes of values an iteration: 16 iterations do not fit the registers of one lane.
  NestTask task = addition(1 << 24, 1);
  task.registerBytes = 64;
  std::vector<NestPlan> considered;
  plan(task, "nvidia:H100", &considered);
  ASSERT_FALSE(considered.empty());
  EXPECT_LT(considered.back().iterations, mostIterations);
  for (const NestPlan &each : considered)
    EXPECT_LE(each.registers, 255);
}

TEST(NestModel, ArithmeticBoundNestsGainNothing) {
  NestTask task = addition(1 << 24, 4);
  task.operations = 4000;
  NestPlan one = with(1, task, "nvidia:H100"), four = with(4, task, "nvidia:H100");
  EXPECT_NEAR(four.clocks / one.clocks, 1, 0.02);
}

TEST(NestModel, NothingToDoIsNoPlan) {
  EXPECT_EQ(plan(addition(0, 4), "nvidia:H100").iterations, 1);
  EXPECT_EQ(plan(addition(1, 4), "nvidia:H100").iterations, 1);
}

} // namespace

} // namespace nest_model_test
