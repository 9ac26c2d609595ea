//===- TileOrder.cpp - The order in which blocks take tiles ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts rows and columns.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/TileOrder.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace tilewright;

int64_t tilewright::rasterRows(int64_t tilesM, int64_t tilesN, int64_t atATime, int64_t blockM, int64_t blockN) {
  int64_t best = 1;
  double least = 0;
  for (int64_t rows = 1; rows <= std::min(tilesM, atATime); ++rows) {
    if (tilesM % rows)
      continue;
    double columns = std::min<double>(tilesN, std::ceil(double(atATime) / rows));
    double bytes = rows * blockM + columns * blockN;
    if (rows == 1 || bytes < least) {
      best = rows;
      least = bytes;
    }
  }
  return best;
}

double tilewright::fetchedOnce(int64_t m, int64_t n, int64_t k, double outer, const LaneContractionPlan &plan,
                               double active, int64_t elementBytes, const Memory *l2) {
  double tilesM = llvm::divideCeil(m, plan.blockM()), tilesN = llvm::divideCeil(n, plan.blockN());
  double sweeps = std::ceil(active / (plan.rasterRows * tilesN)), rows = plan.rasterRows * sweeps;
  double columns = sweeps > 1 ? tilesN : std::min(tilesN, std::ceil(active / plan.rasterRows));
  double bytes =
      (rows * plan.blockM() + columns * std::ceil(rows / tilesM) * plan.blockN()) * plan.depth * elementBytes;
  double operands = (double(m) * k + double(k) * n) * outer * elementBytes;
  if (l2 && operands <= l2->bytes)
    bytes = std::min(bytes, operands * active / (tilesM * tilesN * outer) / llvm::divideCeil(k, plan.depth));
  return bytes;
}
