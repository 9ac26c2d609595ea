//===- ExchangeModel.cpp - Elements that lanes shuffle --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts the sectors of all accesses, swap by swap.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/ExchangeModel.h"
#include "core/CostModel/Machine/Sectors.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>
#include <optional>

using namespace tilewright;

/// Choices of a lane for every 4 bytes that it sends: what it keeps, what it sends, and where both belong.
static constexpr double choicesOfExchange = 4;

ExchangePrices tilewright::exchangePrices(const TargetDescription &chip, const LaneHierarchy &hierarchy) {
  const Memory *far = chip.graph().lastSharedCache();
  if (!far)
    far = chip.graph().backing();
  auto clocksOf = [&](Number number) { return 1 / chip.number(number).value_or(1); };
  ExchangePrices prices;
  prices.sectorBytes = hierarchy.sectorBytes;
  if (far && far->bytesPerClock > 0)
    prices.sector = double(hierarchy.sectorBytes) * double(hierarchy.blocks) / far->bytesPerClock;
  prices.access = clocksOf(Number::Store);
  prices.exchange = clocksOf(Number::Shuffle);
  prices.choice = clocksOf(Number::Issue);
  return prices;
}

static Point sumOf(Point a, const Point &b) {
  for (auto [x, y] : llvm::zip(a, b))
    x += y;
  return a;
}

static Point distance(Point to, const Point &from) {
  for (auto [x, y] : llvm::zip(to, from))
    x -= y;
  return to;
}

/// By how much bit `bit` of an element's number moves it; nullopt: not all by the same.
static std::optional<Point> stepOf(llvm::ArrayRef<Point> elements, unsigned bit) {
  std::optional<Point> step;
  for (size_t e = 0; e < elements.size(); ++e) {
    if (!(e >> bit & 1))
      continue;
    Point own = distance(elements[e], elements[e ^ size_t(1) << bit]);
    if (step && *step != own)
      return std::nullopt;
    step = own;
  }
  return step;
}

SharedPoints tilewright::exchanged(SharedPoints points, const LaneExchange &exchange) {
  for (LaneSwap swap : exchange.swaps) {
    Point step = *stepOf(points.elements, swap.element), bit = points.bits[swap.lane];
    for (auto [e, element] : llvm::enumerate(points.elements))
      if (e >> swap.element & 1)
        element = sumOf(distance(element, step), bit);
    points.bits[swap.lane] = step;
  }
  if (exchange.order.empty())
    return points;
  llvm::SmallVector<Point> elements;
  for (int64_t e : exchange.order)
    elements.push_back(points.elements[e]);
  points.elements = std::move(elements);
  return points;
}

SharedPoints tilewright::pointsOf(const Layout &layout) {
  SharedPoints points;
  for (const Position &base : layout.lanes)
    points.bits.push_back({base.row, base.col});
  for (int64_t e = 0; e < layout.numElements(); ++e) {
    Position p = layout.at(0, e);
    points.elements.push_back({p.row, p.col});
  }
  return points;
}

llvm::SmallVector<LaneRun> tilewright::longestRuns(unsigned count, llvm::function_ref<bool(LaneRun run)> fits) {
  llvm::SmallVector<LaneRun> runs;
  for (unsigned e = 0; e < count; e += runs.back().count) {
    LaneRun run{e, 16};
    while (run.count > 1 && !(e + run.count <= count && fits(run)))
      run.count /= 2;
    runs.push_back(run);
  }
  return runs;
}

llvm::SmallVector<LaneRun> tilewright::runsOfRows(const SharedPoints &places, int64_t elementBytes, int64_t multiple,
                                                  int64_t maxBytes) {
  return longestRuns(places.elements.size(), [&](LaneRun run) {
    const Point &first = places.elements[run.first];
    if (run.count > multiple || run.count * elementBytes > maxBytes || first.back() % run.count != 0 ||
        llvm::any_of(places.bits, [&](const Point &bit) { return bit.back() % run.count != 0; }))
      return false;
    for (unsigned i = 0; i < run.count; ++i) {
      Point expected = first;
      expected.back() += i;
      if (places.elements[run.first + i] != expected)
        return false;
    }
    return true;
  });
}

/// Distinct sectors of these elements of all workers.
static size_t sectorsOf(const SharedPoints &places, llvm::ArrayRef<Point> elements, int64_t elementBytes,
                        int64_t sectorBytes) {
  llvm::SmallVector<Point> sectors;
  for (const Point &element : elements)
    for (size_t worker = 0; worker < size_t(1) << places.bits.size(); ++worker) {
      Point place = element;
      for (auto [b, bit] : llvm::enumerate(places.bits))
        if (worker >> b & 1)
          place = sumOf(std::move(place), bit);
      place.back() = place.back() * elementBytes / sectorBytes;
      sectors.push_back(std::move(place));
    }
  llvm::sort(sectors);
  return std::unique(sectors.begin(), sectors.end()) - sectors.begin();
}

/// The order in which neighbours of a row follow each other.
static llvm::SmallVector<int64_t> inRows(llvm::ArrayRef<Point> elements) {
  llvm::SmallVector<int64_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return elements[a] < elements[b]; });
  return order;
}

LaneExchange tilewright::planExchange(const SharedPoints &places, int64_t elementBytes, unsigned laneBits,
                                      const ExchangePrices &prices,
                                      llvm::function_ref<llvm::SmallVector<LaneRun>(const LaneExchange &)> runsAfter) {
  size_t count = places.elements.size();
  double words = double(llvm::divideCeil(count * elementBytes, 8)); // half of what a lane has
  auto price = [&](LaneExchange &exchange) {
    SharedPoints own = exchanged(places, exchange);
    exchange.sectors = 0;
    llvm::SmallVector<Point> seen; // elements at one place are accessed once
    for (LaneRun run : runsAfter(exchange)) {
      llvm::ArrayRef<Point> elements = llvm::ArrayRef(own.elements).slice(run.first, run.count);
      if (llvm::is_contained(seen, elements.front()))
        continue;
      seen.push_back(elements.front());
      exchange.sectors += sectorsOf(own, elements, elementBytes, prices.sectorBytes);
    }
    exchange.clocks = double(exchange.sectors) * prices.sector + double(seen.size()) * prices.access +
                      double(exchange.swaps.size()) * words * (prices.exchange + choicesOfExchange * prices.choice);
  };
  LaneExchange best;
  price(best);
  if (count < 2 || !llvm::isPowerOf2_64(count))
    return best;
  size_t least = sectorsOf(places, places.elements, elementBytes, prices.sectorBytes);
  for (bool improves = true; improves && best.sectors > least;) {
    improves = false;
    const LaneExchange from = best;
    SharedPoints before = exchanged(places, {from.swaps, {}});
    for (unsigned element = 0; size_t(1) << element < count; ++element) {
      if (!stepOf(before.elements, element))
        continue;
      for (unsigned lane = 0; lane < std::min<size_t>(laneBits, places.bits.size()); ++lane) {
        LaneExchange next{from.swaps, {}};
        next.swaps.push_back({element, lane});
        next.order = inRows(exchanged(places, next).elements);
        price(next);
        if (next.clocks < best.clocks && next.sectors < from.sectors) {
          best = next;
          improves = true;
        }
      }
    }
  }
  return best;
}
