//===- HaloModelTest.cpp - Stencils computed where they are read ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/HaloModel.h"
#include "tilewright/Target.h"
#include "gtest/gtest.h"
#include <cmath>

namespace halo_model_test {

using namespace tilewright;

namespace {

PassModel model() {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto chip = TargetRegistry::get().describe("cpu:sapphire-rapids");
  EXPECT_TRUE(bool(chip));
  return PassModel(**chip);
}

/// Two passes of five taps over `elements` floats; `again`: elements of the first for one of the second.
HaloQuestion blur(double elements, double again) {
  HaloQuestion question;
  question.bytesIn = question.bytesBetween = question.bytesOut = 4 * elements;
  question.elements = question.between = elements;
  question.recompute = again;
  question.reads = 5;
  question.lanes = 16;
  question.first = {5, 9};
  question.second = {5, 0};
  return question;
}

TEST(HaloModel, MemoryIsSavedWhereRowsAreShared) {
  HaloAnswer answer = compareHalo(blur(1 << 28, 2), model());
  EXPECT_LT(answer.fused, answer.apart);
  // One pass over memory instead of two.
  EXPECT_NEAR(answer.fused / answer.apart, 0.5, 0.1);
}

TEST(HaloModel, WorkThatGrowsBeyondMemoryTimeStaysApart) {
  HaloQuestion question = blur(1 << 28, 5);
  question.first.arithmetic = 400;
  HaloAnswer answer = compareHalo(question, model());
  EXPECT_GT(answer.fused, answer.apart);
}

TEST(HaloModel, NothingIsSavedNextToTheCore) {
  HaloAnswer answer = compareHalo(blur(1 << 10, 5), model());
  EXPECT_GT(answer.fused, answer.apart);
}

TEST(HaloModel, ARingComputesNothingAgain) {
  HaloQuestion question = blur(1 << 28, 5);
  EXPECT_EQ(compareHalo(question, model()).slid, HUGE_VAL);
  question.first.arithmetic = 40;
  question.ringBytes = 8 * 2048 * 4;
  HaloAnswer answer = compareHalo(question, model());
  EXPECT_LT(answer.slid, answer.fused);
  EXPECT_LT(answer.slid, answer.apart);
  // Where the window's rows themselves lie in memory, nothing is saved.
  question.first.arithmetic = 5;
  question.ringBytes = 1e9;
  answer = compareHalo(question, model());
  EXPECT_GT(answer.slid, answer.apart);
}

TEST(HaloModel, MoreMemoryTakesLonger) {
  MemoryModel chip = model().caches();
  double last = 0;
  for (double bytes = 1024; bytes < 1e10; bytes *= 4) {
    double seconds = chip.moveSeconds(bytes, bytes);
    EXPECT_GT(seconds, last);
    last = seconds;
  }
}

} // namespace

} // namespace halo_model_test
