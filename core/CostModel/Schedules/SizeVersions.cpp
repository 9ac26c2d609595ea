//===- SizeVersions.cpp - Which plan serves which sizes -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Logarithms of times at points of a grid of sizes; greedy choices.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SizeVersions.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

using namespace tilewright;

/// The smallest dynamic size, but for 1, that is assumed: a side of the blocks that matrix units work on. Fewer
/// elements take the time of one block; of a single row, little but the time of what goes with the other sizes.
static constexpr int64_t smallestExtent = 16;
/// What a version must gain in the mean over the sizes that it serves. Dynamic sizes may cost a twentieth: half of it
/// by tiles that are not the best, which leaves the other half to the instructions that the sizes take.
static constexpr double leastGain = 0.025;
/// What a test must save in the mean over all sizes that come to it.
static constexpr double leastSaving = 0.003;
/// Points of the grid on which versions are compared, and of the one on which all candidates are. Three dynamic
/// dimensions have nine sizes each on the first, and five on the second.
static constexpr unsigned mostPoints = 1024, mostScouts = 128;
/// Candidates that are kept for each point of the second one.
static constexpr unsigned keptAtScout = 3;

using Sizes = llvm::SmallVector<int64_t, 4>;

llvm::json::Value tilewright::toJSON(llvm::ArrayRef<SizeTest> tests, unsigned first) {
  const SizeTest &test = tests[first];
  if (test.isVersion())
    return int64_t(test.version);
  return llvm::json::Object{{"dimension", test.dim},
                            {"at_most", test.atMost},
                            {"yes", toJSON(tests, test.yes)},
                            {"no", toJSON(tests, test.no)}};
}

/// The sizes of one dimension: powers of a factor, and three quarters of each, of which tiles divide less evenly among
/// cores. The factor, a power of two, is the smallest for which there are at most `most` combinations.
static Sizes sizesOfOne(unsigned dimensions, unsigned most) {
  const unsigned doublings = llvm::Log2_64(assumedExtent / smallestExtent);
  for (unsigned step = 1;; step *= 2)
    if (std::pow(2 * (doublings / step) + 1, dimensions) <= most || step * 2 > doublings) {
      Sizes sizes{smallestExtent};
      for (unsigned i = step; i <= doublings; i += step)
        llvm::append_range(sizes, Sizes{3 * (smallestExtent << i) / 4, smallestExtent << i});
      return sizes;
    }
}

/// All combinations of `each`, the last dimension fastest; of more dimensions than `most` allows the others are large.
static std::vector<Sizes> gridOf(unsigned dimensions, unsigned most) {
  const Sizes each = sizesOfOne(dimensions, most);
  std::vector<Sizes> points{Sizes(dimensions, assumedExtent)};
  for (unsigned dim = 0; dim < dimensions && points.size() * each.size() <= most; ++dim) {
    std::vector<Sizes> longer;
    for (const Sizes &point : points)
      for (int64_t size : each) {
        longer.push_back(point);
        longer.back()[dim] = size;
      }
    points = std::move(longer);
  }
  return points;
}

/// A single row, column or term: where that is the only dynamic size it is one point beside the grid. Versions for more
/// dynamic sizes are too few to have some for that, too: others would be slower.
static std::vector<Sizes> singles(unsigned dimensions) {
  return dimensions == 1 ? std::vector<Sizes>{Sizes{1}} : std::vector<Sizes>{};
}

namespace {
/// The choice among candidates whose times are known at all points.
struct VersionChooser {
  VersionChooser(unsigned candidates, unsigned dimensions, PriceAtSizes price)
      : dimensions(dimensions), price(price), points(singles(dimensions)) {
    llvm::append_range(points, gridOf(dimensions, mostPoints)); // the largest sizes last
    keepGood(candidates);
  }

  void keepGood(unsigned candidates);
  void chooseCandidates(int64_t most);
  unsigned grow(std::vector<unsigned> here);
  int64_t border(llvm::ArrayRef<unsigned> here, unsigned dim, int64_t below, int64_t above, unsigned yes,
                 unsigned no) const;

  double logAt(unsigned candidate, llvm::ArrayRef<int64_t> sizes) const { return std::log(price(candidate, sizes)); }
  /// The version with the smallest product of times at `here`, and the logarithm of that.
  std::pair<unsigned, double> bestOf(llvm::ArrayRef<unsigned> here) const {
    std::pair<unsigned, double> best{0, std::numeric_limits<double>::infinity()};
    for (unsigned version = 0; version < versions.size(); ++version) {
      double sum = 0;
      for (unsigned point : here)
        sum += times[versions[version]][point];
      if (sum < best.second)
        best = {version, sum};
    }
    return best;
  }
  double leastAt(unsigned point, llvm::ArrayRef<unsigned> among) const {
    double least = std::numeric_limits<double>::infinity();
    for (unsigned each : among)
      least = std::min(least, times[each][point]);
    return least;
  }

  unsigned dimensions;
  PriceAtSizes price;
  std::vector<Sizes> points;
  llvm::SmallVector<unsigned> kept;       // candidates
  std::vector<std::vector<double>> times; // logarithms of kept candidates' seconds at points
  llvm::SmallVector<unsigned> versions;   // of `kept`
  std::vector<SizeTest> tests;
};
} // namespace

/// Keeps the fastest candidates of some points: of a coarse grid, and of others: equal sizes, a single row.
void VersionChooser::keepGood(unsigned candidates) {
  std::vector<Sizes> scouts = gridOf(dimensions, mostScouts);
  if (dimensions > 1)
    for (int64_t size : sizesOfOne(1, mostScouts))
      scouts.push_back(Sizes(dimensions, size));
  llvm::append_range(scouts, singles(dimensions));
  for (const Sizes &scout : scouts) {
    llvm::SmallVector<std::pair<double, unsigned>> order;
    for (unsigned i = 0; i < candidates; ++i)
      order.push_back({price(i, scout), i});
    const size_t count = std::min<size_t>(keptAtScout, order.size());
    std::partial_sort(order.begin(), order.begin() + count, order.end());
    for (auto [seconds, i] : llvm::ArrayRef(order).take_front(count))
      if (!llvm::is_contained(kept, i) && std::isfinite(seconds))
        kept.push_back(i);
  }
  if (kept.empty())
    kept.push_back(0);
  for (unsigned candidate : kept) {
    std::vector<double> &own = times.emplace_back();
    for (const Sizes &point : points)
      own.push_back(logAt(candidate, point));
  }
}

void VersionChooser::chooseCandidates(int64_t most) {
  llvm::SmallVector<unsigned> all(points.size());
  std::iota(all.begin(), all.end(), 0);
  while (int64_t(versions.size()) < most) {
    // Where another one is the fastest, by how much in all.
    std::optional<unsigned> best;
    double bestGain = 0;
    for (unsigned i = 0; i < kept.size(); ++i) {
      double gain = 0;
      unsigned served = 0;
      for (unsigned point : all) {
        const double better = versions.empty() ? -times[i][point] : leastAt(point, versions) - times[i][point];
        if (versions.empty() || better > 0) {
          gain += better;
          ++served;
        }
      }
      if (served && (versions.empty() || gain >= served * std::log1p(leastGain)) && (!best || gain > bestGain)) {
        best = i;
        bestGain = gain;
      }
    }
    if (!best)
      break;
    versions.push_back(*best);
    // The ones before may be others now.
    for (unsigned &each : llvm::MutableArrayRef(versions).drop_back(versions.size() > 1 ? 0 : 1)) {
      auto product = [&] {
        double sum = 0;
        for (unsigned point : all)
          sum += leastAt(point, versions);
        return sum;
      };
      unsigned better = each;
      double least = product();
      for (unsigned i = 0; i < kept.size(); ++i) {
        each = i;
        if (double sum = product(); sum < least) {
          least = sum;
          better = i;
        }
      }
      each = better;
    }
  }
}

/// The largest size along `dim`, between `below` and `above`, at which `yes` is not slower than `no` for what is there
/// of the other sizes.
int64_t VersionChooser::border(llvm::ArrayRef<unsigned> here, unsigned dim, int64_t below, int64_t above, unsigned yes,
                               unsigned no) const {
  std::vector<Sizes> others;
  for (unsigned point : here)
    if (points[point][dim] == below)
      others.push_back(points[point]);
  while (above - below > std::max<int64_t>(1, below / 4)) {
    const int64_t between = (below + above) / 2;
    double gain = 0;
    for (Sizes &sizes : others) {
      sizes[dim] = between;
      gain += logAt(kept[versions[no]], sizes) - logAt(kept[versions[yes]], sizes);
    }
    (gain >= 0 ? below : above) = between;
  }
  return below;
}

/// Adds the tests of the points `here`; the first one's number.
unsigned VersionChooser::grow(std::vector<unsigned> here) {
  const unsigned number = tests.size();
  auto [version, sum] = bestOf(here);
  tests.push_back({version});
  int64_t bestLimit = 0, above = 0;
  int dim = -1;
  unsigned yes = 0, no = 0;
  double least = sum - leastSaving * double(here.size());
  for (unsigned d = 0; d < dimensions; ++d) {
    Sizes limits;
    for (unsigned point : here)
      limits.push_back(points[point][d]);
    llvm::sort(limits);
    limits.erase(llvm::unique(limits), limits.end());
    for (unsigned i = 0; i + 1 < limits.size(); ++i) {
      std::vector<unsigned> sides[2];
      for (unsigned point : here)
        sides[points[point][d] > limits[i]].push_back(point);
      auto [first, sumFirst] = bestOf(sides[0]);
      auto [second, sumSecond] = bestOf(sides[1]);
      if (sumFirst + sumSecond < least) {
        least = sumFirst + sumSecond;
        dim = d;
        bestLimit = limits[i];
        above = limits[i + 1];
        yes = first;
        no = second;
      }
    }
  }
  if (dim < 0)
    return number;
  std::vector<unsigned> sides[2];
  for (unsigned point : here)
    sides[points[point][dim] > bestLimit].push_back(point);
  const int64_t atMost = border(here, dim, bestLimit, above, yes, no);
  const unsigned first = grow(std::move(sides[0])), second = grow(std::move(sides[1]));
  tests[number] = {0, dim, atMost, first, second};
  return number;
}

SizeVersions tilewright::chooseVersions(unsigned candidates, unsigned dimensions, int64_t mostVersions,
                                        PriceAtSizes price) {
  VersionChooser chooser(candidates, dimensions, price);
  chooser.chooseCandidates(mostVersions);
  SizeVersions chosen;
  // The first one is that of the largest sizes; those that no test leads to are none.
  const unsigned largest = chooser.points.size() - 1;
  llvm::stable_sort(chooser.versions,
                    [&](unsigned a, unsigned b) { return chooser.times[a][largest] < chooser.times[b][largest]; });
  std::vector<unsigned> all(chooser.points.size());
  std::iota(all.begin(), all.end(), 0);
  chooser.grow(std::move(all));
  llvm::SmallVector<int> numbers(chooser.versions.size(), -1);
  for (unsigned version = 0; version < numbers.size(); ++version)
    if (version == 0 || llvm::any_of(chooser.tests, [&](const SizeTest &test) {
          return test.isVersion() && test.version == version;
        })) {
      numbers[version] = int(chosen.candidates.size());
      chosen.candidates.push_back(chooser.kept[chooser.versions[version]]);
    }
  for (SizeTest &test : chooser.tests)
    if (test.isVersion())
      test.version = numbers[test.version];
  chosen.tests = std::move(chooser.tests);
  return chosen;
}
