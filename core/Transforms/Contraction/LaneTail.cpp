//===- LaneTail.cpp - Results that leave together -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prices of stores with as many units together as there may be.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/LaneTail.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/Transforms/Lower/Lanes/LaneExchange.h"
#include "core/Transforms/Lower/Lanes/LaneRings.h"
#include "dialects/Tile/TileDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// Elements of which the beginnings of all rows of `type` are known to be a multiple, a power of two.
static int64_t multipleOfRows(MemRefType type) {
  int64_t size = type.getRank() ? type.getShape().back() : 1;
  return ShapedType::isDynamic(size) || size == 0 ? 1 : size & -size;
}

int64_t tilewright::unitsTogether(const ContractionTask &task, const LaneContractionPlan &plan,
                                  const TargetDescription &chip, const LaneHierarchy &hierarchy) {
  const MatrixUnit &unit = *plan.unit;
  unsigned lanes = llvm::Log2_64(hierarchy.lanes);
  const SmallVector<Access> stores = resultsOf(task);
  // Results that an engine takes leave in lines of its own.
  if (!plan.engine.empty() || unit.c.layout.numLanes() != hierarchy.lanes)
    return 1;
  ExchangePrices prices = exchangePrices(chip, hierarchy);
  // Clocks for the results of one unit where `count` leave together; nullopt: not known.
  auto clocksOf = [&](int64_t count) -> std::optional<double> {
    Layout layout = sideBySide(unit.c.layout, unit.n, count);
    SharedPoints points = pointsOf(layout);
    double clocks = 0;
    for (const Access &store : stores) {
      auto type = cast<MemRefType>(store.memref.getType());
      if (type.getRank() == 0)
        return std::nullopt;
      SmallVector<AffineExpr> results;
      MLIRContext *context = store.map.getContext();
      for (AffineExpr result : store.map.getResults()) {
        std::optional<int64_t> m = linearCoefficient(result, plan.mDim), n = linearCoefficient(result, plan.nDim);
        if (!m || !n)
          return std::nullopt;
        results.push_back(getAffineDimExpr(0, context) * *m + getAffineDimExpr(1, context) * *n);
      }
      std::optional<SharedPoints> places = placesOf(points, AffineMap::get(2, 0, results, context));
      if (!places || llvm::any_of(places->bits, standsStill)) // lanes that hold the same
        return std::nullopt;
      int64_t bytes = elementBytes(type.getElementType()), multiple = multipleOfRows(type);
      clocks += planExchange(*places, bytes, lanes, prices, [&](const LaneExchange &exchange) {
                  return runsOfRows(exchanged(*places, exchange), bytes, multiple, mostAccessBytes);
                }).clocks;
    }
    return clocks / double(count);
  };
  std::optional<double> least = clocksOf(1);
  int64_t best = 1;
  int64_t most = plan.subgroupsK > 1 ? std::min(plan.tilesN, plan.unitsExchanged) : plan.tilesN;
  for (int64_t count = 2; least && most % count == 0 && count * unit.n <= hierarchy.sectorBytes; count *= 2)
    if (std::optional<double> clocks = clocksOf(count); clocks && *clocks < *least) {
      least = clocks;
      best = count;
    }
  return best;
}
