//===- PassModelTest.cpp - Seconds of a pass over arrays ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/PassModel.h"
#include "tilewright/Target.h"
#include "gtest/gtest.h"

namespace pass_model_test {

using namespace tilewright;

namespace {

std::shared_ptr<const TargetDescription> chipOf(const char *name) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto chip = TargetRegistry::get().describe(name);
  EXPECT_TRUE(bool(chip));
  return *chip;
}

TEST(PassModel, EachPassOfLanesIsALaunch) {
  auto chip = chipOf("nvidia:H200");
  PassModel model(*chip);
  EXPECT_TRUE(model.onLanes());
  EXPECT_FALSE(model.onCaches());
  double launch = model.seconds({}), whole = model.seconds({1e8, 0, 0, 0}), half = model.seconds({5e7, 0, 0, 0});
  EXPECT_DOUBLE_EQ(launch, *chip->number(Number::Launch) / (chip->clockMHz() * 1e6));
  EXPECT_NEAR(2 * half, whole + launch, 1e-12);
  // Memory and instructions overlap; the longer of them counts.
  EXPECT_DOUBLE_EQ(model.seconds({1e8, 0, 1, 1}), whole);
  EXPECT_GT(model.seconds({1e8, 0, 1e9, 0}), whole);
}

TEST(PassModel, CachesTakeTheLongerOfMemoryAndPorts) {
  auto chip = chipOf("cpu:zen4");
  PassModel model(*chip);
  EXPECT_TRUE(model.onCaches());
  const double moves = model.caches().moveSeconds(1e9, 1e9), issue = model.caches().issueSeconds(1e6, 1e3);
  EXPECT_NEAR(model.seconds({1e9, 1e9, 0, 0}), moves, 0.01 * moves);
  EXPECT_NEAR(model.seconds({0, 0, 1e6, 1e3}), issue, 0.01 * issue);
  EXPECT_DOUBLE_EQ(model.seconds({64, 0, 8, 8}), model.secondsOfMember({64, 0, 8, 8}));
}

TEST(PassModel, WhatFillsTheSecondCacheIsLostInPart) {
  auto chip = chipOf("cpu:zen4");
  const MemoryModel memory(*chip);
  const double second = double(chip->caches()[1]->bytes);
  EXPECT_LT(memory.moveTime(second / 4, 0, second / 4).beyond, 1e-2 * memory.moveTime(second / 4, 0, second / 4).near);
  const auto whole = memory.moveTime(second, 0, second), beyond = memory.moveTime(4 * second, 0, 4 * second);
  EXPECT_GT(whole.beyond, 0.3 * beyond.beyond / 4);
  EXPECT_LT(whole.beyond, 0.7 * beyond.beyond / 4);
}

TEST(PassModel, LoopsOfOneCoreRunOneAfterTheOther) {
  auto chip = chipOf("cpu:zen4");
  const PassModel model(*chip);
  PassWork products{0, 0, 1e6, 0}, divisions;
  divisions.divisions = 1e5;
  PassWork both = products;
  both.core = model.coreSeconds(divisions);
  EXPECT_NEAR(model.seconds(both), model.coreSeconds(products) + model.coreSeconds(divisions), 1e-12);
}

} // namespace

} // namespace pass_model_test
