//===- PassModelTest.cpp - Seconds of a pass over arrays ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/PassModel.h"
#include "tilewright/Target.h"
#include "gtest/gtest.h"

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
  EXPECT_DOUBLE_EQ(model.seconds({1e9, 1e9, 0, 0}), model.caches().moveSeconds(1e9, 1e9));
  EXPECT_DOUBLE_EQ(model.seconds({0, 0, 1e6, 1e3}), model.caches().issueSeconds(1e6, 1e3));
  EXPECT_DOUBLE_EQ(model.seconds({64, 0, 8, 8}), model.secondsOfMember({64, 0, 8, 8}));
}

} // namespace
