//===- OverlapTest.cpp - The time of resources side by side ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Between perfect overlap and none: near the largest time while the others are
/// small, above it where they come near.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/Overlap.h"
#include <gtest/gtest.h>

namespace overlap_test {

using namespace tilewright;

TEST(Overlap, OneResourceAloneTakesItsOwnTime) {
  EXPECT_EQ(overlapped({16}), 16);
  EXPECT_EQ(overlapped({0, 16, 0}), 16);
  EXPECT_EQ(overlapped({0, 0}), 0);
}

TEST(Overlap, EqualTimesTakeTheFourthRootOfTheirNumberMore) {
  EXPECT_NEAR(overlapped({10, 10}), 10 * std::pow(2, 0.25), 1e-9);
  EXPECT_EQ(overlapped({10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}), 20);
}

TEST(Overlap, BetweenTheLargestAndTheSum) {
  EXPECT_NEAR(overlapped({10, 1}), 10.00025, 1e-6);
  for (double other : {0.5, 2.0, 8.0, 9.9}) {
    EXPECT_GT(overlapped({10, other}), 10);
    EXPECT_LT(overlapped({10, other}), 10 + other);
    EXPECT_EQ(overlapped({10, other}), overlapped({other, 10}));
    EXPECT_NEAR(overlapped({3e9 * 10, 3e9 * other}), 3e9 * overlapped({10, other}), 1);
  }
}

} // namespace overlap_test
