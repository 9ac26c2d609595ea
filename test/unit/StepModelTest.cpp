//===- StepModelTest.cpp - Clocks of one step ---------------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What bounds a step: a resource, the latency of a copy, or the wait for a resource
/// that is asked for all it gives.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/StepModel.h"
#include <gtest/gtest.h>

namespace step_model_test {

using namespace tilewright;

TEST(StepModel, TheBusiestResourceWhereTheChainIsShort) {
  StepLoad load;
  load.units = 1024;
  load.scratchpad = 512;
  load.l2 = 300;
  StepChain chain;
  chain.products = 512;
  chain.scratchpadRead = 64;
  chain.scratchpadLatency = 64;
  chain.l2 = 64;
  chain.memoryLatency = 300;
  EXPECT_EQ(stepClocks(load, chain), 1024);
}

TEST(StepModel, OneSubgroupAloneWaitsForItsOwnCopies) {
  StepLoad load;
  load.units = 64;
  StepChain chain;
  chain.products = 64;
  chain.memoryLatency = 800;
  EXPECT_NEAR(stepClocks(load, chain), 800, 1e-6);
  chain.ahead = 4; // a copy has the time of four steps
  EXPECT_NEAR(stepClocks(load, chain), 200, 1e-6);
  chain.meets = true;
  chain.scratchpadLatency = 30; // reads first, and writes that the others wait for
  EXPECT_NEAR(stepClocks(load, chain), 230, 1e-6);
}

TEST(StepModel, FragmentsAcrossStepsHideBehindProducts) {
  StepLoad load;
  load.units = 1024;
  StepChain chain;
  chain.products = 1024;
  chain.scratchpadRead = 64;
  chain.scratchpadWrite = 32;
  chain.scratchpadLatency = 30;
  chain.meets = true;
  EXPECT_NEAR(stepClocks(load, chain), 1024 + 64 + 30 + 32 + 30, 1e-6);
  chain.across = true; // only the meeting shows
  EXPECT_NEAR(stepClocks(load, chain), 1024 + 30, 1e-6);
  chain.product = 16; // which the unit does meanwhile
  EXPECT_NEAR(stepClocks(load, chain), 1024 + 14, 1e-6);
}

/// The mean wait of a queue with constant service times, s rho / (2 (1 - rho)), ends no step below its load, and a
/// resource that is asked for all that it gives costs more than one that has some to spare.
TEST(StepModel, AFullResourceMakesOthersWait) {
  StepChain chain;
  chain.products = 256;
  chain.scratchpadRead = 32;
  chain.scratchpadLatency = 64;
  auto clocks = [&](double scratchpad) {
    StepLoad load;
    load.units = 512;
    load.scratchpad = scratchpad;
    return stepClocks(load, chain);
  };
  EXPECT_EQ(clocks(256), 512);
  EXPECT_GT(clocks(512), 520);
  double before = 0;
  for (double load : {0.0, 400.0, 500.0, 512.0, 600.0, 1000.0}) {
    double now = clocks(load);
    EXPECT_GE(now, std::max(before, load));
    before = now;
  }
}

} // namespace step_model_test
