//===- Tilings.cpp - Tiles of a range that are considered ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes for caches, scratchpads and blocks; steps and parts of what the nests sum over.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/Tilings.h"
#include "core/CostModel/Schedules/ContractionPlanner.h"
#include <cmath>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Rows of a block, and iterations of a step of its sums.
static constexpr int64_t fewestRows = 16, mostRows = 256, shortestStep = 16, longestStep = 128;
/// Columns of a block that does not compute all of them.
static constexpr int64_t fewestColumns = 64, mostColumns = 256;
/// Parts of a sum, all of which each element of a result reads.
static constexpr int64_t mostParts = 32;

/// How many tiles each loop has that is cut.
SmallVector<int64_t> tilewright::tilesOf(const NestRange &range, const Tiling &tiling) {
  const Nest &last = range.analysed.back();
  SmallVector<int64_t> counts;
  for (unsigned d = 0; d <= tiling.loop; ++d)
    counts.push_back(llvm::divideCeil(*last.tripCounts[range.cuts[d]], d < tiling.loop ? 1 : tiling.tile));
  if (tiling.columns)
    counts.push_back(llvm::divideCeil(*last.tripCounts[*range.columns], tiling.columns));
  return counts;
}

/// Tiles of parts of what the nests sum over, where all rows fit one unit, so that smaller tiles cannot give the blocks
/// of the chip something to do.
static std::vector<Tiling> tilingsInParts(const NestRange &range, const NestTimes &times, ArrayRef<Tiling> whole) {
  std::vector<Tiling> result;
  const int64_t longest = longestSum(range.analysed);
  const int64_t rows = range.hasRows ? *range.analysed.back().tripCounts[range.cuts.back()] : 1;
  if (rows > fewestRows)
    return result;
  for (const Tiling &tiling : whole) {
    if (tiling.columns)
      continue;
    int64_t tiles = 1;
    for (int64_t count : tilesOf(range, tiling))
      tiles *= count;
    for (int64_t parts = 2; parts <= mostParts && tiles * parts < 2 * times.blocks->blocks; parts *= 2)
      if (longest % parts == 0 && longest / parts >= std::max(2 * shortestStep, tiling.step)) {
        result.push_back(tiling);
        result.back().parts = parts;
      }
  }
  return result;
}

/// Tiles of rows for blocks, each with steps along what the nests sum over: powers of two, the last loop of more than
/// one iteration before that of the columns. Where some divide the sizes only those: others compute more than there is.
static std::vector<Tiling> tilingsOfBlocks(const NestRange &range, const NestTimes &times, bool isAssumed) {
  std::vector<Tiling> result;
  const Nest &last = range.analysed.back();
  if (range.cuts.empty() || !times.options.mayReassociate) // steps add up in another order
    return result;
  int64_t longest = longestSum(range.analysed), rows = range.hasRows ? *last.tripCounts[range.cuts.back()] : 1;
  const bool rowsDivide = rows % fewestRows == 0 || rows == 1, stepsDivide = longest % shortestStep == 0;
  // Columns are cut where they have to be, or where blocks of some columns compute nothing but products twice.
  SmallVector<int64_t> columns{0};
  if (const int64_t all = range.columns ? *last.tripCounts[*range.columns] : 0; range.sharesRows || all > mostColumns)
    for (int64_t tile = fewestColumns; tile <= mostColumns && tile < all; tile *= 2)
      if (all % fewestColumns != 0 || all % tile == 0)
        columns.push_back(tile);
  for (int64_t tile = rows == 1 ? 1 : fewestRows; tile <= mostRows && (tile == fewestRows || tile < 2 * rows);
       tile *= 2)
    for (int64_t step = shortestStep; step <= longestStep && step < longest; step *= 2)
      if ((!rowsDivide || rows % tile == 0) && (!stepsDivide || longest % step == 0))
        for (int64_t each : columns)
          result.push_back({unsigned(range.cuts.size() - 1), tile, each, step, 1, 1, 0, 0, {}});
  if (isAssumed)
    return result;
  std::vector<Tiling> inParts = tilingsInParts(range, times, result);
  result.insert(result.end(), inParts.begin(), inParts.end());
  return result;
}

/// Rows, and steps of their sums, whose part of what lies between fits the second half of a cache. Steps cost
/// corrections, so there are none where all of a row stays near and none is left out.
static std::vector<Tiling> tilingsInSteps(const NestRange &range, const NestTimes &times, const Memory *near) {
  std::vector<Tiling> result;
  const Nest &last = range.analysed.back();
  int64_t longest = longestSum(range.analysed);
  if (times.cores || !times.options.mayReassociate || range.cuts.empty())
    return result;
  double iterations = 1;
  for (unsigned d : range.cuts)
    iterations *= double(*last.tripCounts[d]);
  double ofRow = double(range.bytes) / iterations;
  if (!range.hasMasks && ofRow * fewestRows <= double(near->bytes) / 2)
    return result;
  const int64_t rows = *last.tripCounts[range.cuts.back()];
  for (int64_t tile : {std::min(rows, mostRows / 4), std::min(rows, mostRows / 2)})
    for (int64_t step = longestStep / 2; step <= 2 * longestStep && step < longest; step *= 2) {
      double bytes = ofRow * double(tile) * double(step) / double(longest);
      if (bytes <= double(near->bytes) / 2 && (result.empty() || result.back().tile <= tile))
        result.push_back({unsigned(range.cuts.size() - 1), tile, 0, step, 1, 1, int64_t(bytes), 0, {}});
    }
  return result;
}

/// Loops of the last nest that index what lies between, outermost first, with tiles whose part of it is about half as
/// large as the cache, or leaves room in the scratchpad.
std::vector<Tiling> tilewright::tilingsOf(const NestRange &range, const NestTimes &times, const Memory *near,
                                          bool isAssumed) {
  if (times.blocks)
    return tilingsOfBlocks(range, times, isAssumed);
  std::vector<Tiling> result;
  const Nest &last = range.analysed.back();
  // The other half of a cache is for what all tiles read. Of a scratchpad the stages of contractions take their share.
  const double middle = double(near->bytes) * (times.cores ? 0.25 : 0.5);
  const double least = times.cores ? 0 : middle / 8, most = times.cores ? 3 * middle : 8 * middle;
  double iterations = 1;
  for (auto [i, d] : llvm::enumerate(range.cuts)) {
    int64_t trips = *last.tripCounts[d];
    for (int64_t tile = 1; tile < trips || (tile == trips && i > 0); tile *= 2) {
      double bytes = double(range.bytes) / iterations * double(tile) / double(trips);
      if (bytes >= least && bytes <= most)
        result.push_back({unsigned(i), tile, 0, 0, 1, 1, int64_t(bytes), 0, {}});
    }
    iterations *= double(trips);
  }
  // Of tiles that take as long, that whose part leaves most of what replacement loses to the others.
  const double share = times.cores ? middle : CoreNumbers::cacheShare * double(near->bytes);
  auto distance = [&](const Tiling &tiling) { return std::abs(std::log(double(tiling.bytes) / share)); };
  llvm::stable_sort(result, [&](const Tiling &a, const Tiling &b) { return distance(a) < distance(b); });
  std::vector<Tiling> inSteps = tilingsInSteps(range, times, near);
  result.insert(result.end(), inSteps.begin(), inSteps.end());
  return result;
}
