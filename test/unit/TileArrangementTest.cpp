//===- TileArrangementTest.cpp - Sectors of lanes that turn tiles ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each of 32 lanes loads 4 bytes that follow each other in the array, which become
/// 4 rows of the tile; `near` lanes lie along the array before the next ones take
/// another of its rows.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/TileArrangement.h"
#include "gtest/gtest.h"

namespace tile_arrangement_test {

using namespace tilewright;

namespace {

TileUse turnedBytes(int64_t rows) {
  TileUse use;
  use.rows = rows;
  use.rowBytes = 512;
  use.along = 4;
  use.transposed = true;
  use.sectorBytes = 32;
  return use;
}

double touched(const TileUse &use, int64_t near) {
  StagedTile tile;
  tile.near = near;
  tile.beside = 32;
  return sectorsTouched(tile, use);
}

TEST(SectorsTouched, OnceWhereLanesFillThem) {
  EXPECT_EQ(touched(turnedBytes(128), 8), 1);
  EXPECT_EQ(touched(turnedBytes(128), 16), 1);
  EXPECT_EQ(touched(turnedBytes(128), 32), 1);
}

TEST(SectorsTouched, OftenWhereLanesFillParts) {
  EXPECT_EQ(touched(turnedBytes(128), 4), 2);
  EXPECT_EQ(touched(turnedBytes(128), 2), 4);
  EXPECT_EQ(touched(turnedBytes(128), 1), 8);
}

/// A tile that has half of a sector of each row of the array cannot do better.
TEST(SectorsTouched, OncePerRowOfShortTiles) {
  EXPECT_EQ(touched(turnedBytes(16), 4), 1);
  EXPECT_EQ(touched(turnedBytes(16), 2), 2);
}

/// More lanes along the array than the tile has blocks there lie along its rows.
TEST(SectorsTouched, NoMoreLanesThanBlocks) { EXPECT_EQ(touched(turnedBytes(16), 32), 1); }

TEST(SectorsTouched, OnceWhereNothingTurns) {
  TileUse use = turnedBytes(128);
  use.transposed = false;
  EXPECT_EQ(touched(use, 1), 1);
}

} // namespace

} // namespace tile_arrangement_test
