//===- SizeVersionsTest.cpp - Which plan serves which sizes ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Versions and tests of sizes of models with known borders.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SizeVersions.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

namespace size_versions_test {

using namespace tilewright;

/// The candidate that the tests lead to.
static unsigned chosen(const SizeVersions &versions, llvm::ArrayRef<int64_t> sizes) {
  unsigned at = 0;
  while (!versions.tests[at].isVersion())
    at = sizes[versions.tests[at].dim] <= versions.tests[at].atMost ? versions.tests[at].yes : versions.tests[at].no;
  return versions.candidates[versions.tests[at].version];
}

TEST(SizeVersions, TestsWhereTimesCross) {
  // Candidate 1 has less to begin with, candidate 0 less for each element: equal at 450.
  auto price = [](unsigned candidate, llvm::ArrayRef<int64_t> sizes) {
    return candidate == 0 ? 500.0 + double(sizes[0]) : 50.0 + 2 * double(sizes[0]);
  };
  SizeVersions versions = chooseVersions(2, 1, 4, price);
  ASSERT_EQ(versions.candidates.size(), 2u);
  EXPECT_EQ(versions.candidates.front(), 0u); // that of large sizes
  ASSERT_EQ(versions.tests.size(), 3u);
  EXPECT_LE(versions.tests.front().atMost, 450);
  EXPECT_GT(versions.tests.front().atMost * 1.25, 450);
  EXPECT_EQ(chosen(versions, {1}), 1u);
  EXPECT_EQ(chosen(versions, {100000}), 0u);
}

TEST(SizeVersions, OneRowHasItsOwn) {
  // Candidate 1 is the faster one of a single row only, by a twentieth; of many rows candidate 2 is.
  auto price = [](unsigned candidate, llvm::ArrayRef<int64_t> sizes) {
    const double blocks = double(llvm::divideCeil(sizes[0], 16));
    if (candidate == 1)
      return sizes[0] == 1 ? 950 : 1200 + 2 * blocks;
    return candidate == 0 ? 1000 + 2 * blocks : 1100 + blocks;
  };
  SizeVersions versions = chooseVersions(3, 1, 4, price);
  EXPECT_EQ(chosen(versions, {1}), 1u);
  EXPECT_EQ(chosen(versions, {2}), 0u);
  EXPECT_EQ(chosen(versions, {4096}), 2u);
}

TEST(SizeVersions, OneVersionWhereAnotherGainsLittle) {
  auto price = [](unsigned candidate, llvm::ArrayRef<int64_t> sizes) {
    return double(sizes[0]) * (candidate == 0 ? 1.0 : sizes[0] < 100 ? 0.98 : 1.2);
  };
  SizeVersions versions = chooseVersions(2, 1, 4, price);
  EXPECT_EQ(versions.candidates, (llvm::SmallVector<unsigned>{0}));
  ASSERT_EQ(versions.tests.size(), 1u);
  EXPECT_TRUE(versions.tests.front().isVersion());
}

/// Tiles of several sides shared by four cores, with clocks around each: no one side is good for all sizes.
static double tiles(unsigned candidate, llvm::ArrayRef<int64_t> sizes) {
  const int64_t rows = 16 << (candidate % 4), cols = 16 << (candidate / 4);
  const int64_t count = llvm::divideCeil(sizes[0], rows) * llvm::divideCeil(sizes[1], cols);
  return double(llvm::divideCeil(count, 4)) * (500.0 + double(rows * cols) + 20.0 * double(rows + cols));
}

TEST(SizeVersions, LosesLittleWithFewVersions) {
  SizeVersions versions = chooseVersions(16, 2, 4, tiles);
  SizeVersions one = chooseVersions(16, 2, 1, tiles);
  EXPECT_GT(versions.candidates.size(), 1u);
  EXPECT_LE(versions.candidates.size(), 4u);
  EXPECT_EQ(one.candidates.size(), 1u);
  double lost = 0, lostByOne = 0;
  int points = 0;
  for (int64_t m : {1, 24, 50, 100, 200, 400, 1000, 4000})
    for (int64_t n : {1, 24, 50, 100, 200, 400, 1000, 4000}) {
      double best = std::numeric_limits<double>::infinity();
      for (unsigned i = 0; i < 16; ++i)
        best = std::min(best, tiles(i, {m, n}));
      lost += std::log(tiles(chosen(versions, {m, n}), {m, n}) / best);
      lostByOne += std::log(tiles(chosen(one, {m, n}), {m, n}) / best);
      ++points;
    }
  EXPECT_LT(lost / points, 0.25);
  EXPECT_LT(lost, 0.5 * lostByOne);
}

TEST(SizeVersions, LeavesOutWhatCannotBe) {
  auto price = [](unsigned candidate, llvm::ArrayRef<int64_t> sizes) {
    return candidate == 0 ? std::numeric_limits<double>::infinity() : double(sizes[0] + sizes[1] + sizes[2]);
  };
  SizeVersions versions = chooseVersions(2, 3, 4, price);
  EXPECT_EQ(versions.candidates, (llvm::SmallVector<unsigned>{1}));
}

TEST(SizeVersions, PrintsTests) {
  std::vector<SizeTest> tests{{0, 1, 96, 1, 2}, {1}, {0}};
  EXPECT_EQ(toJSON(tests),
            llvm::json::Value(llvm::json::Object{{"dimension", 1}, {"at_most", 96}, {"yes", 1}, {"no", 0}}));
}

} // namespace size_versions_test
