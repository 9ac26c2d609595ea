//===- LaneDimensions.cpp - What a block's tile lies along ----------------===//
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

#include "core/CostModel/Schedules/LaneDimensions.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
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

/// Elements between neighbours along `dim`; where that is dynamic, `far`.
static int64_t stepAlong(const Access &access, unsigned dim, int64_t far) {
  if (!access.dims().test(dim))
    return 0;
  if (std::optional<int64_t> stride = access.stride(dim))
    return *stride;
  return far;
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

std::optional<TiledDimensions> tilewright::tiledDimensions(const Contraction &c) {
  auto extent = [&](unsigned dim) { return c.nest.tripCounts[dim].value_or(assumedExtent); };
  SmallVector<unsigned> shareable;
  for (unsigned dim : c.k)
    if (c.a.access.dims().test(dim) && c.b.access.dims().test(dim))
      shareable.push_back(dim);
  if (shareable.empty())
    return std::nullopt;
  TiledDimensions best;
  auto shorter = [&](unsigned a, unsigned b) { return extent(a) < extent(b); };
  best.k = *llvm::max_element(shareable, shorter);
  if (isa<FloatType>(c.accumulator) && !Settings::of(c.c.op).mayReassociate()) {
    if (!llvm::is_contained(shareable, c.k.back())) // steps along another one would change the order of the sum
      return std::nullopt;
    shareable.assign(1, best.k = c.k.back());
  }
  for (unsigned dim : shareable)
    if ((isContiguousAlong(c.a.access, dim) || isContiguousAlong(c.b.access, dim)) && extent(dim) >= leastContiguous)
      best.k = dim;

  int64_t operandBytes = elementBytes(c.a.element), sumBytes = elementBytes(c.accumulator);
  int64_t depth = std::min(comparedDepth, extent(best.k));
  // Of one multiply-add: a tile is read for each step of k, and its part of C moved once.
  auto sectorsOf = [&](unsigned m, unsigned n) {
    int64_t rows = std::min(comparedTile, extent(m)), cols = std::min(comparedTile, extent(n));
    double products = double(rows) * cols * depth, steps = double(extent(best.k)) / depth;
    double read = double(tileSectors(c.a.access, m, rows, best.k, depth, operandBytes) +
                         tileSectors(c.b.access, best.k, depth, n, cols, operandBytes));
    return (read + tileSectors(c.c, m, rows, n, cols, sumBytes) / steps) / products;
  };
  double least = 0;
  bool first = true;
  for (unsigned m : c.m)
    for (unsigned n : c.n) {
      double sectors = sectorsOf(m, n);
      bool longer = double(extent(m)) * extent(n) > double(extent(best.m)) * extent(best.n);
      if (!first && !(sectors < least || (sectors == least && longer)))
        continue;
      first = false;
      least = sectors;
      best.m = m;
      best.n = n;
    }
  return best;
}

void tilewright::orientToResult(Contraction &c) {
  if (c.m.empty() || c.n.empty() || c.a.element != c.b.element || c.a.isUnsigned != c.b.isUnsigned)
    return;
  std::optional<TiledDimensions> dims = tiledDimensions(c);
  if (!dims || !isContiguousAlong(c.c, dims->m) || isContiguousAlong(c.c, dims->n))
    return;
  std::swap(c.a, c.b);
  std::swap(c.m, c.n);
}
