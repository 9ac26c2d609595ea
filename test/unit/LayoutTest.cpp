//===- LayoutTest.cpp - The layout algebra --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cover, inverse, conversion and composition of layouts, on small shapes that can be checked by eye.
//
//===----------------------------------------------------------------------===//

#include "tilewright/Layout.h"
#include <gtest/gtest.h>
#include <string>

namespace layout_test {

using namespace tilewright;

namespace {

/// 4 lanes hold the rows of a 4 x 6 matrix, each 2 x 3 elements along its row.
Layout rowsOverLanes() { return {{{1, 0}, {2, 0}}, {{0, 1}}, {{3, 0, 2}}}; }

std::string message(llvm::Error error) { return llvm::toString(std::move(error)); }

} // namespace

TEST(Layout, CountsLanesAndElements) {
  EXPECT_EQ(rowsOverLanes().numLanes(), 4);
  EXPECT_EQ(rowsOverLanes().numElements(), 6);
  EXPECT_EQ(Layout{}.numLanes(), 1);
  EXPECT_EQ(Layout{}.numElements(), 1);
}

TEST(Layout, PlacesElements) {
  Layout layout = rowsOverLanes();
  EXPECT_EQ(layout.at(0, 0), (Position{0, 0}));
  EXPECT_EQ(layout.at(3, 1), (Position{3, 1}));
  EXPECT_EQ(layout.at(2, 5), (Position{2, 5}));
}

TEST(Layout, CoversEvenly) {
  llvm::Expected<int64_t> copies = checkCover(rowsOverLanes(), 4, 6);
  ASSERT_TRUE(static_cast<bool>(copies)) << message(copies.takeError());
  EXPECT_EQ(*copies, 1);
}

TEST(Layout, ReportsAPositionThatIsMissing) {
  llvm::Expected<int64_t> copies = checkCover(rowsOverLanes(), 4, 8);
  ASSERT_FALSE(static_cast<bool>(copies));
  EXPECT_NE(message(copies.takeError()).find("6"), std::string::npos);
}

TEST(Layout, ReportsAPositionOutside) {
  llvm::Expected<int64_t> copies = checkCover(rowsOverLanes(), 3, 6);
  ASSERT_FALSE(static_cast<bool>(copies));
  EXPECT_NE(message(copies.takeError()).find("3"), std::string::npos);
}

TEST(Layout, InverseFindsEachSlot) {
  Layout layout = rowsOverLanes();
  std::vector<std::vector<Slot>> slots = invert(layout, 4, 6);
  ASSERT_EQ(slots.size(), 24u);
  for (int64_t position = 0; position < 24; ++position) {
    ASSERT_EQ(slots[position].size(), 1u) << position;
    Position at = layout.at(slots[position][0].lane, slots[position][0].element);
    EXPECT_EQ(at, (Position{position / 6, position % 6}));
  }
}

TEST(Layout, ConversionReadsTheSamePosition) {
  Layout from{{{1, 0}, {2, 0}}, {{0, 1}, {0, 2}}, {}}, to{{{0, 1}, {0, 2}}, {{1, 0}, {2, 0}}, {}};
  llvm::Expected<std::vector<Slot>> slots = conversion(from, to, 4, 4);
  ASSERT_TRUE(static_cast<bool>(slots)) << message(slots.takeError());
  ASSERT_EQ(slots->size(), 16u);
  for (int64_t lane = 0; lane < 4; ++lane)
    for (int64_t element = 0; element < 4; ++element) {
      Slot source = (*slots)[lane * 4 + element];
      EXPECT_EQ(from.at(source.lane, source.element), to.at(lane, element));
    }
}

TEST(Layout, CompositionPlacesInnerPositions) {
  Layout outer{{{1, 0}, {2, 0}}, {{0, 1}, {0, 2}}, {}};
  Layout swap{{{0, 1}, {0, 2}}, {{1, 0}, {2, 0}}, {}};
  std::optional<Layout> both = compose(outer, swap);
  ASSERT_TRUE(both.has_value());
  for (int64_t lane = 0; lane < 4; ++lane)
    for (int64_t element = 0; element < 4; ++element) {
      Position inner = swap.at(lane, element);
      EXPECT_EQ(both->at(lane, element), outer.at(inner.row, inner.col));
    }
}

} // namespace layout_test
