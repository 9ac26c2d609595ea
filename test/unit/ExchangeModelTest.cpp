//===- ExchangeModelTest.cpp - Elements that lanes exchange ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Results of units with 8 columns: lane 4 r + q holds neighbours 2 q and 2 q + 1 of
/// rows r and r + 8, of one unit or of several side by side.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/ExchangeModel.h"
#include "gtest/gtest.h"
#include <set>

namespace exchange_model_test {

using namespace tilewright;

namespace {

/// Two instructions a clock beside one access and one exchange; a sector takes `sector` clocks.
ExchangePrices prices(double sector = 1) { return {sector, 1, 1, 0.25, 32}; }

SharedPoints results(int64_t units) {
  SharedPoints places;
  places.bits = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
  for (int64_t unit = 0; unit < units; ++unit)
    for (int64_t row : {0, 8})
      for (int64_t column : {0, 1})
        places.elements.push_back({row, 8 * unit + column});
  return places;
}

/// The exchange for stores to rows whose beginnings are multiples of `multiple` elements of `bytes`.
LaneExchange plan(const SharedPoints &places, int64_t bytes, int64_t multiple, const ExchangePrices &own = prices()) {
  return planExchange(places, bytes, 5, own, [&](const LaneExchange &each) {
    return runsOfRows(exchanged(places, each), bytes, multiple, 16);
  });
}

/// Every position that the lanes hold; it must be held once.
std::set<Point> heldBy(const SharedPoints &points) {
  std::set<Point> held;
  for (size_t lane = 0; lane < size_t(1) << points.bits.size(); ++lane)
    for (Point place : points.elements) {
      for (size_t bit = 0; bit < points.bits.size(); ++bit)
        for (size_t d = 0; (lane >> bit & 1) && d < place.size(); ++d)
          place[d] += points.bits[bit][d];
      EXPECT_TRUE(held.insert(place).second);
    }
  return held;
}

TEST(ExchangeModel, TwoUnitsOfHalvesFillSectorsAfterOneSwap) {
  SharedPoints places = results(2);
  LaneExchange exchange = plan(places, 2, 64);
  ASSERT_EQ(exchange.swaps.size(), 1u);
  EXPECT_EQ(exchange.swaps.front(), (LaneSwap{2, 0})); // the unit's bit, and the lane's that moves 2 columns
  EXPECT_EQ(exchange.sectors, 16u);                    // rows of 16 columns
  SharedPoints after = exchanged(places, exchange);
  EXPECT_EQ(heldBy(after), heldBy(places));
  // Four neighbours of each row, in order.
  for (size_t e = 0; e < 8; ++e)
    EXPECT_EQ(after.elements[e], (Point{e < 4 ? 0 : 8, int64_t(e % 4)}));
  std::vector<unsigned> counts;
  for (LaneRun run : runsOfRows(after, 2, 64, 16))
    counts.push_back(run.count);
  EXPECT_EQ(counts, (std::vector<unsigned>{4, 4}));
}

TEST(ExchangeModel, FourUnitsOfBytesFillSectorsAfterTwoSwaps) {
  SharedPoints places = results(4);
  LaneExchange exchange = plan(places, 1, 64);
  EXPECT_EQ(exchange.swaps.size(), 2u);
  EXPECT_EQ(exchange.sectors, 16u); // rows of 32 columns
  SharedPoints after = exchanged(places, exchange);
  EXPECT_EQ(heldBy(after), heldBy(places));
  for (LaneRun run : runsOfRows(after, 1, 64, 16))
    EXPECT_EQ(run.count, 8u);
}

TEST(ExchangeModel, WholeSectorsStayAsTheyAre) {
  EXPECT_TRUE(plan(results(1), 4, 64).swaps.empty()); // 8 columns of 4 bytes
  // What no exchange of one unit's elements mends: it has 8 columns.
  LaneExchange alone = plan(results(1), 2, 64);
  EXPECT_TRUE(alone.swaps.empty());
  EXPECT_EQ(alone.sectors, 16u);
}

TEST(ExchangeModel, RowsThatBeginAnywhereTakeSingleElements) {
  // Of 4 bytes, 8 lanes fill a sector; of 2 bytes, 16.
  LaneExchange words = plan(results(1), 4, 1), halves = plan(results(2), 2, 1);
  EXPECT_EQ(words.swaps.size(), 1u);
  EXPECT_EQ(words.sectors, 16u);
  EXPECT_EQ(halves.swaps.size(), 2u);
  EXPECT_EQ(halves.sectors, 16u);
  EXPECT_EQ(heldBy(exchanged(results(2), halves)), heldBy(results(2)));
}

TEST(ExchangeModel, DearExchangesAreLeft) {
  // Two units of halves: 16 sectors less; 2 words sent, 4 choices each.
  EXPECT_EQ(plan(results(2), 2, 64, {0.1, 0, 1, 0.25, 32}).swaps.size(), 0u); // 1.6 clocks for 4
  EXPECT_EQ(plan(results(2), 2, 64, {0.3, 0, 1, 0.25, 32}).swaps.size(), 1u); // 4.8 clocks for 4
}

TEST(ExchangeModel, OnlyLanesOfASubgroupExchange) {
  SharedPoints places = results(2);
  LaneExchange none = planExchange(
      places, 2, 0, prices(), [&](const LaneExchange &each) { return runsOfRows(exchanged(places, each), 2, 64, 16); });
  EXPECT_TRUE(none.swaps.empty());
}

} // namespace

} // namespace exchange_model_test
