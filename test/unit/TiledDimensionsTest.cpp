//===- TiledDimensionsTest.cpp - Sectors of tiles, counted and computed ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `distinctSectors` agrees with a set of all sectors.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/TiledDimensions.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

namespace tiled_dimensions_test {

using namespace tilewright;

TEST(TiledDimensions, SectorsAreThoseOfASet) {
  std::mt19937 random(7);
  auto draw = [&](int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random); };
  for (int round = 0; round < 20000; ++round) {
    int64_t rows = draw(0, 20), cols = draw(0, 20), sector = 32;
    int64_t most = int64_t(1) << draw(1, 10);
    int64_t rowBytes = draw(-most / 8, most), colBytes = draw(-most / 8, most);
    std::set<int64_t> sectors;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        sectors.insert((row * rowBytes + col * colBytes) / sector);
    ASSERT_EQ(distinctSectors(rows, rowBytes, cols, colBytes, sector), int64_t(sectors.size()))
        << rows << " x " << rowBytes << ", " << cols << " x " << colBytes;
  }
}

} // namespace tiled_dimensions_test
