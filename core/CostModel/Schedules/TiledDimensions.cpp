//===- TiledDimensions.cpp - What tiles of a contraction lie along --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts sectors of tiles of all pairs of dimensions.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/Sectors.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <vector>

using namespace mlir;
using namespace tilewright;

/// Rows and columns of the tile of C by which dimensions are compared, and its elements of k: of the sizes that the
/// planner looks at one in the middle. Only which of two pairs touches fewer sectors matters.
static constexpr int64_t comparedTile = 64, comparedDepth = 16, comparedSector = 32;

/// Shortest contiguous dimension of k that fills a sector with elements of two bytes.
static constexpr int64_t leastContiguous = 16;

static int64_t extent(const Contraction &c, unsigned dim) { return c.nest.tripCounts[dim].value_or(assumedExtent); }

/// Elements between neighbours along `dim`; where that is dynamic, `far`.
static int64_t stepAlong(const Access &access, unsigned dim, int64_t far) {
  if (!access.dims().test(dim))
    return 0;
  if (std::optional<int64_t> stride = access.stride(dim))
    return *stride;
  return far;
}

bool tilewright::isLinearIn(const Access &access, unsigned dim) {
  return llvm::all_of(access.map.getResults(),
                      [&](AffineExpr index) { return linearCoefficient(index, dim).has_value(); });
}

bool tilewright::isContiguousAlong(const Access &access, unsigned dim) {
  // The dimension inside is the last one of more than one element.
  auto type = cast<MemRefType>(access.memref.getType());
  ArrayRef<AffineExpr> results = access.map.getResults();
  while (results.size() > 1 && type.getDimSize(results.size() - 1) == 1)
    results = results.drop_back();
  if (results.empty() || linearCoefficient(results.back(), dim) != 1)
    return false;
  return llvm::none_of(results.drop_back(), [&](AffineExpr result) { return result.isFunctionOfDim(dim); });
}

int64_t tilewright::distinctSectors(int64_t rows, int64_t rowBytes, int64_t cols, int64_t colBytes, int64_t sector) {
  if (colBytes > rowBytes) {
    std::swap(rows, cols);
    std::swap(rowBytes, colBytes);
  }
  if (rows <= 0 || cols <= 0)
    return 0;
  const int64_t length = (cols - 1) * colBytes; // to the last column of a row
  if (colBytes >= 0 && colBytes <= sector) {    // a row leaves no sector out
    int64_t count = 0, counted = -1;            // all up to that one
    for (int64_t row = 0; row < rows; ++row) {
      int64_t last = (row * rowBytes + length) / sector;
      count += std::max<int64_t>(0, last - std::max(row * rowBytes / sector, counted + 1) + 1);
      counted = std::max(counted, last);
    }
    return count;
  }
  if (colBytes >= sector && rowBytes >= length + sector) // each has its own
    return rows * cols;
  std::vector<int64_t> sectors;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      sectors.push_back((row * rowBytes + col * colBytes) / sector);
  llvm::sort(sectors);
  return std::distance(sectors.begin(), llvm::unique(sectors));
}

int64_t tilewright::tileSectors(const Access &access, unsigned rowDim, int64_t rows, unsigned colDim, int64_t cols,
                                int64_t elementBytes) {
  int64_t rowStep = stepAlong(access, rowDim, assumedExtent), colStep = stepAlong(access, colDim, assumedExtent);
  return distinctSectors(rows, rowStep * elementBytes, cols, colStep * elementBytes, comparedSector);
}

/// The dimension of the sum; nullopt: none is in both operands, or sums are in an order that it would change.
static std::optional<unsigned> sumDimension(const Contraction &c) {
  SmallVector<unsigned> shareable;
  for (unsigned dim : c.k)
    if (c.a.access.dims().test(dim) && c.b.access.dims().test(dim))
      shareable.push_back(dim);
  if (shareable.empty())
    return std::nullopt;
  if (isa<FloatType>(c.accumulator) && !Settings::of(c.c.op).mayReassociate())
    return llvm::is_contained(shareable, c.k.back()) ? std::optional(c.k.back()) : std::nullopt;
  unsigned best = *llvm::max_element(shareable, [&](unsigned a, unsigned b) { return extent(c, a) < extent(c, b); });
  for (unsigned dim : shareable)
    if ((isContiguousAlong(c.a.access, dim) || isContiguousAlong(c.b.access, dim)) && extent(c, dim) >= leastContiguous)
      best = dim;
  return best;
}

static TiledDimensions dimensionsOf(const Contraction &c, unsigned m, unsigned n, unsigned k) {
  TiledDimensions dims{m, n, k, {}, {}};
  for (unsigned dim = 0; dim < c.nest.depth(); ++dim) {
    if (dim == m || dim == n || dim == k)
      continue;
    // A single tap is no loop: the steps of k follow each other.
    bool isLoop = llvm::is_contained(c.k, dim) && c.nest.tripCounts[dim] != 1;
    (isLoop ? dims.otherK : dims.outer).push_back(dim);
  }
  return dims;
}

std::optional<TiledDimensions> tilewright::tiledDimensions(const Contraction &c) {
  std::optional<unsigned> k = sumDimension(c);
  if (!k)
    return std::nullopt;
  int64_t operandBytes = elementBytes(c.a.element), sumBytes = elementBytes(c.accumulator);
  int64_t depth = std::min(comparedDepth, extent(c, *k));
  // Of one multiply-add: a tile is read for each step of k, and its part of C moved once.
  auto sectorsOf = [&](unsigned m, unsigned n) {
    int64_t rows = std::min(comparedTile, extent(c, m)), cols = std::min(comparedTile, extent(c, n));
    double products = double(rows) * cols * depth, steps = double(extent(c, *k)) / depth;
    double read = double(tileSectors(c.a.access, m, rows, *k, depth, operandBytes) +
                         tileSectors(c.b.access, *k, depth, n, cols, operandBytes));
    return (read + tileSectors(c.c, m, rows, n, cols, sumBytes) / steps) / products;
  };
  unsigned bestM = 0, bestN = 0;
  double least = 0;
  bool first = true;
  for (unsigned m : c.m)
    for (unsigned n : c.n) {
      double sectors = sectorsOf(m, n);
      bool longer = double(extent(c, m)) * extent(c, n) > double(extent(c, bestM)) * extent(c, bestN);
      if (!first && !(sectors < least || (sectors == least && longer)))
        continue;
      first = false;
      least = sectors;
      bestM = m;
      bestN = n;
    }
  return dimensionsOf(c, bestM, bestN, *k);
}

SmallVector<TiledDimensions> tilewright::possibleDimensions(const Contraction &c, std::string &reason) {
  std::optional<unsigned> k;
  SmallVector<TiledDimensions> possible;
  if (c.m.empty() || c.n.empty())
    reason = "it has no two free dimensions";
  else if (!(k = sumDimension(c)))
    reason = "no dimension of the sum is in both operands";
  else
    reason = "an operand is not linear in the tiled dimensions";
  for (unsigned m : k ? ArrayRef(c.m) : ArrayRef<unsigned>())
    for (unsigned n : c.n)
      if (isLinearIn(c.a.access, m) && isLinearIn(c.a.access, *k) && isLinearIn(c.b.access, *k) &&
          isLinearIn(c.b.access, n) && isLinearIn(c.c, m) && isLinearIn(c.c, n))
        possible.push_back(dimensionsOf(c, m, n, *k));
  return possible;
}

std::optional<TiledDimensions> tilewright::tiledDimensions(const Contraction &c, std::string &reason) {
  const SmallVector<TiledDimensions> possible = possibleDimensions(c, reason);
  std::optional<TiledDimensions> dims = possible.empty() ? std::nullopt : tiledDimensions(c);
  return dims && llvm::is_contained(possible, *dims) ? dims : std::nullopt;
}

void tilewright::orientToResult(Contraction &c) {
  if (c.m.empty() || c.n.empty() || c.a.element != c.b.element || c.a.isUnsigned != c.b.isUnsigned)
    return;
  std::optional<TiledDimensions> dims = tiledDimensions(c);
  if (!dims || !isContiguousAlong(c.c, dims->mDim) || isContiguousAlong(c.c, dims->nDim))
    return;
  std::swap(c.a, c.b);
  std::swap(c.m, c.n);
}
