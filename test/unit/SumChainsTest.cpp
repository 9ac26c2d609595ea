//===- SumChainsTest.cpp - Where long sums begin anew ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SumChains.h"
#include "gtest/gtest.h"

namespace sum_chains_test {

using tilewright::SumChains;

namespace {

TEST(SumChains, ShortSumsAreOneChain) {
  for (auto [trips, additions] : {std::pair(0, 4), {1, 4}, {256, 4}, {1024, 1}, {1, 2048}}) {
    SumChains chains = SumChains::of({trips}, additions);
    EXPECT_EQ(chains.count, 1) << trips << " of " << additions;
  }
}

TEST(SumChains, ALongLoopIsCutIntoEqualParts) {
  for (int64_t trips : {257, 260, 400, 512, 513, 768, 1000, 1408, 8192, 100003}) {
    SumChains chains = SumChains::of({trips}, 4);
    ASSERT_EQ(chains.loop, 0u);
    EXPECT_LE(4 * chains.iterations, SumChains::longest) << trips;
    EXPECT_GE(chains.iterations * chains.count, trips);
    EXPECT_LT(chains.iterations * (chains.count - 1), trips);
    EXPECT_LE(chains.count, 2 * llvm::divideCeil(4 * trips, SumChains::longest))
        << "no more than twice as many as needed";
  }
  // 5632 steps, four at once: 11 chains of 128 iterations, without a rest.
  SumChains chains = SumChains::of({1408}, 4);
  EXPECT_EQ(chains.iterations, 128);
  EXPECT_EQ(chains.count, 11);
}

TEST(SumChains, LoopsOverTapsBeginChainsThatAreLongEnough) {
  SumChains ofEachTap = SumChains::of({3, 3, 128}, 4); // 512 channels
  EXPECT_EQ(ofEachTap.loop, 1u);
  EXPECT_EQ(ofEachTap.iterations, 1);
  EXPECT_EQ(ofEachTap.count, 9);
  SumChains ofEachRow = SumChains::of({3, 3, 32}, 4); // 128 channels: 384 additions in a row of taps, 1152 in all
  EXPECT_EQ(ofEachRow.loop, 0u);
  EXPECT_EQ(ofEachRow.count, 3);
  SumChains ofAll = SumChains::of({3, 3, 28}, 4); // 112 channels: 1008 additions in all
  EXPECT_FALSE(ofAll.loop);
}

} // namespace

} // namespace sum_chains_test
