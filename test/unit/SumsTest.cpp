//===- SumsTest.cpp - Which rewrites of sums a contract forbids -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Proof/Sums.h"
#include "gtest/gtest.h"

namespace sums_test {

using namespace tilewright::proof;

/// A program with so many additions in a row at one place.
static Sums inARow(int64_t additions, bool isAnyOrder = false) {
  Sums sums;
  sums.places["sum.mlir:3:8"].additions = additions;
  sums.places["sum.mlir:3:8"].isAnyOrder = isAnyOrder;
  return sums;
}

TEST(Sums, ContractsOfOneOrderForbidParts) {
  for (const char *contract : {"strict", "reproducible"}) {
    EXPECT_FALSE(compareSums(inARow(100), inARow(25), contract).holds()) << contract;
    EXPECT_FALSE(compareSums(inARow(100), inARow(100, /*isAnyOrder=*/true), contract).holds()) << contract;
    EXPECT_TRUE(compareSums(inARow(100), inARow(100), contract).holds()) << contract;
    // Zeros that fill the last step of a unit.
    EXPECT_TRUE(compareSums(inARow(100), inARow(112), contract).holds()) << contract;
  }
  SumLog log = compareSums(inARow(100), inARow(25), "default");
  EXPECT_TRUE(log.holds());
  EXPECT_EQ(log.reassociated(), 1u);
}

TEST(Sums, WhatStandsElsewhereIsNotCounted) {
  SumLog log = compareSums(inARow(100), Sums(), "strict");
  EXPECT_EQ(log.reassociated(), 0u);
  EXPECT_EQ(log.gaps.size(), 1u);
}

} // namespace sums_test
