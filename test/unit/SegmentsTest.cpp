//===- SegmentsTest.cpp - Contiguous bytes that a walk touches ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lines of boxes, counted one by one beside the formula.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/Segments.h"
#include <gtest/gtest.h>
#include <set>

namespace segments_test {

using namespace tilewright;

/// Rows of `x` elements of 4 bytes, `apart` bytes from the first of one to the first of the next.
static llvm::SmallVector<Walk> rowsOf(double x, double apart) { return {{4, x}, {apart, 100}}; }

/// Lines of 64 bytes that the first `positions` of rows of `x` elements touch, counted.
static size_t linesOf(int64_t positions, int64_t x, int64_t apart) {
  std::set<int64_t> lines;
  for (int64_t i = 0; i < positions; ++i)
    lines.insert((i % x * 4 + i / x * apart) / 64);
  return lines.size();
}

TEST(Segments, PositionsFillTheInnermostDimensionFirst) {
  auto counts = [](llvm::SmallVector<Walk> dims, double positions) {
    llvm::SmallVector<double> result;
    for (const Walk &walk : firstPositions(std::move(dims), positions))
      result.push_back(walk.count);
    return result;
  };
  EXPECT_EQ(counts({{4, 14}}, 200), (llvm::SmallVector<double>{200})); // of one dimension all lie in it
  EXPECT_EQ(counts({{4, 14}, {64, 14}}, 6), (llvm::SmallVector<double>{6, 1}));
  EXPECT_EQ(counts({{4, 14}, {64, 14}}, 28), (llvm::SmallVector<double>{14, 2}));
  EXPECT_EQ(counts({{4, 14}, {64, 14}}, 35), (llvm::SmallVector<double>{14, 2.5}));
  EXPECT_EQ(counts({{4, 2}, {64, 3}, {4096, 5}}, 24), (llvm::SmallVector<double>{2, 3, 4}));
  EXPECT_TRUE(firstPositions({}, 8).empty());
}

TEST(Segments, RowsWithGapsAreSegmentsOfTheirOwn) {
  const Segments segments = segmentsOf(firstPositions(rowsOf(48, 320), 4 * 48), 4, 64);
  EXPECT_EQ(segments.count, 4);
  EXPECT_EQ(segments.extent, 48 * 4);
  EXPECT_EQ(segments.unitsOf(64), 12);
}

TEST(Segments, RowsWithoutGapsAreOne) {
  const Segments segments = segmentsOf(firstPositions(rowsOf(48, 192), 4 * 48), 4, 64);
  EXPECT_EQ(segments.count, 1);
  EXPECT_EQ(segments.extent, 4 * 192);
  // What lies in the same line is one segment, too.
  EXPECT_EQ(segmentsOf(firstPositions(rowsOf(2, 32), 20), 4, 64).count, 1);
}

TEST(Segments, LinesAreThoseThatAreCounted) {
  for (int64_t x : {16, 32, 64})
    for (int64_t gap : {0, 64, 128, 4096})
      for (int64_t rows : {1, 2, 5}) {
        const int64_t positions = x * rows, apart = x * 4 + gap;
        EXPECT_EQ(segmentsOf(firstPositions(rowsOf(double(x), double(apart)), double(positions)), 4, 64).unitsOf(64),
                  double(linesOf(positions, x, apart)))
            << x << " elements, " << apart << " bytes apart, " << rows << " rows";
      }
  // Rows that are shorter than a line: each has one of its own.
  EXPECT_EQ(segmentsOf(firstPositions(rowsOf(2, 4096), 14), 4, 64).unitsOf(64), double(linesOf(14, 2, 4096)));
}

} // namespace segments_test
