//===- LaneTail.cpp - What a kernel does with its sums ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks the nest that the emitter wrote: what it loads and stores once a fragment.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/LaneTail.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/Transforms/Lower/Lanes/LaneExchange.h"
#include "core/Transforms/Lower/Lanes/LaneRings.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// What a lane's elements are finished in parts behind: a sum that a loop gives, not one whose last products stand
/// after it or whose only step stands alone.
static bool isOfLoop(Value value) {
  if (auto join = value.getDefiningOp<tile::JoinOp>())
    return llvm::any_of(join.getParts(), isOfLoop);
  auto loop = value.getDefiningOp<affine::AffineForOp>();
  return loop && affine::getConstantTripCount(loop).value_or(2) > 1;
}

LaneTail tilewright::tailOf(Operation *grid, const LaneContractionPlan &plan, const LaneHierarchy &hierarchy) {
  LaneTail tail;
  int64_t fragments = plan.tilesM * plan.tilesN, smallest = INT64_MAX;
  auto isScratchpad = [&](MemRefType type) {
    auto space = dyn_cast_or_null<StringAttr>(type.getMemorySpace());
    return space && space.getValue() == hierarchy.scratchpad;
  };
  // A subgroup's fragments are loaded and stored by as many ops, or those of several units by one.
  auto unitsOf = [&](tile::FragmentType type) { return type.getCols() / plan.unit->c.cols; };
  llvm::MapVector<std::pair<Value, AffineMap>, int64_t> reads;
  bool inParts = false;
  grid->walk([&](Operation *op) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      auto type = cast<MemRefType>(load.getMemref().getType());
      if (isScratchpad(type))
        return;
      smallest = std::min(smallest, elementBytes(type.getElementType()));
      reads[{load.getMemref(), load.getElements()}] += unitsOf(load.getType());
    } else if (isa<tile::MapOp>(op)) {
      inParts |= llvm::any_of(op->getOperands(), isOfLoop);
    } else if (auto store = dyn_cast<tile::StoreOp>(op); store && !isScratchpad(store.getMemRefType())) {
      int64_t bytes = elementBytes(store.getMemRefType().getElementType());
      smallest = std::min(smallest, bytes);
      tail.writtenBytes += bytes * unitsOf(store.getValue().getType());
      if (storeLine(store, hierarchy.lanes))
        tail.scratchpadBytes += bytes * unitsOf(store.getValue().getType());
    }
  });
  tail.writtenBytes /= fragments;
  tail.scratchpadBytes /= fragments;
  for (const auto &[read, units] : reads) {
    int64_t bytes = elementBytes(elementOf(read.first));
    tail.reads.append(units / fragments, {read.second, bytes});
  }
  if (inParts)
    tail.together = elementsTogether(smallest);
  return tail;
}

/// Elements of which the beginnings of all rows of `type` are known to be a multiple, a power of two.
static int64_t multipleOfRows(MemRefType type) {
  int64_t size = type.getRank() ? type.getShape().back() : 1;
  return ShapedType::isDynamic(size) || size == 0 ? 1 : size & -size;
}

int64_t tilewright::unitsTogether(const ContractionTask &task, const LaneContractionPlan &plan,
                                  const TargetDescription &chip, const LaneHierarchy &hierarchy) {
  const MatrixUnit &unit = *plan.unit;
  unsigned lanes = llvm::Log2_64(hierarchy.lanes);
  SmallVector<Access> stores;
  if (task.keepC)
    stores.push_back(task.contraction.c);
  for (const EpilogueStep &step : task.epilogue)
    for (auto [store, keep] : llvm::zip(step.nest.stores, step.keepStore))
      if (keep)
        stores.push_back(onContraction(store, step, task.contraction));
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
