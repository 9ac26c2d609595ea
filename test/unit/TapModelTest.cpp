//===- TapModelTest.cpp - How a reduction over a few taps is walked -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/TapModel.h"
#include "tilewright/Target.h"
#include "gtest/gtest.h"

namespace tap_model_test {

using namespace tilewright;

namespace {

MemoryModel model(llvm::StringRef chip) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto description = TargetRegistry::get().describe(chip);
  EXPECT_TRUE(bool(description));
  return MemoryModel(**description);
}

TapQuestion window(std::initializer_list<std::optional<int64_t>> trips) {
  TapQuestion question;
  question.trips.assign(trips);
  question.lanes = 16;
  question.scalar = 3;
  return question;
}

int64_t written(const TapQuestion &question, llvm::StringRef chip) {
  TapAnswer answer = chooseTaps(question, model(chip));
  return answer.choice ? answer.choice->taps : -1;
}

TEST(TapModel, AsManyTapsAsRegistersAreWrittenOut) {
  EXPECT_EQ(written(window({3, 3}), "cpu:sapphire-rapids"), 9);
  EXPECT_EQ(written(window({5, 5}), "cpu:sapphire-rapids"), 25);
  EXPECT_EQ(written(window({7, 7}), "cpu:sapphire-rapids"), 7);
  EXPECT_EQ(written(window({3, 3, 3}), "cpu:x86-64-v3"), 9);
  EXPECT_EQ(written(window({5, 5}), "cpu:x86-64-v3"), 5);
  EXPECT_EQ(written(window({64}), "cpu:sapphire-rapids"), 1);
}

// Windows that reach into each other share what they load, so more of their taps are written out; but what all lanes
// read alike has to be loaded again for each vector then, where registers do not hold it.
TEST(TapModel, MoreTapsOfWindowsThatOverlapAreWrittenOut) {
  TapQuestion question = window({5, 5});
  question.shared = true;
  EXPECT_EQ(written(question, "cpu:x86-64-v3"), 25);
  question.uniform = 1;
  EXPECT_EQ(written(question, "cpu:x86-64-v3"), 5);
  EXPECT_EQ(written(question, "cpu:sapphire-rapids"), 25);
  TapQuestion large = window({9, 9});
  large.shared = true;
  EXPECT_EQ(written(large, "cpu:x86-64-v3"), 9);
  EXPECT_EQ(written(large, "cpu:sapphire-rapids"), 81);
}

TEST(TapModel, LoopsOfUnknownLengthStay) {
  EXPECT_EQ(written(window({std::nullopt, 3}), "cpu:sapphire-rapids"), 3);
  EXPECT_EQ(written(window({3, std::nullopt}), "cpu:sapphire-rapids"), 1);
}

TEST(TapModel, ResultsThatAreWrittenOnceAreNotRead) {
  TapAnswer answer = chooseTaps(window({3, 3}), model("cpu:sapphire-rapids"));
  ASSERT_EQ(answer.along.size(), 3u);
  EXPECT_EQ(answer.along[1].accesses, 9 + 2 * 3);
  EXPECT_EQ(answer.along[2].accesses, 9 + 1);
}

TEST(TapModel, LongRowsKeepLanesOverTheirTaps) {
  // Of a row of `trips` side by side: results are gathered, taps are not.
  auto row = [](int64_t trips) {
    TapQuestion question = window({trips});
    question.loads = 16;
    question.gathers = 1;
    question.row = trips;
    question.over = 1.1 * double((trips + 15) / 16 * 16) / double(trips);
    return question;
  };
  EXPECT_EQ(written(row(256), "cpu:sapphire-rapids"), -1);
  EXPECT_EQ(written(row(16), "cpu:sapphire-rapids"), -1);
  EXPECT_EQ(written(row(8), "cpu:sapphire-rapids"), -1);
  // A row that is no power of two needs a blend in addition.
  EXPECT_EQ(written(row(5), "cpu:sapphire-rapids"), 5);
  EXPECT_EQ(written(row(7), "cpu:sapphire-rapids"), 7);
  // Two channels are loads side by side and a shuffle.
  TapQuestion channels = row(2);
  channels.loads = 4;
  channels.gathers = 0;
  EXPECT_EQ(written(channels, "cpu:sapphire-rapids"), 2);
}

TEST(TapModel, GathersSaveNothingOverScalars) {
  TapQuestion question = window({8});
  question.loads = 48;
  EXPECT_EQ(written(question, "cpu:sapphire-rapids"), -1);
}

} // namespace

} // namespace tap_model_test
