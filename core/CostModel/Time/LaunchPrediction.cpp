//===- LaunchPrediction.cpp - What a contraction's kernel will do -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The closed forms of LaunchPrediction.h.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/LaunchPrediction.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Padding.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace tilewright;

int64_t tilewright::requestedElements(const UnitOperand &c, const TailRead &read, int64_t together, int64_t rows,
                                      int64_t cols) {
  int64_t count = c.layout.numElements(), each = together > 0 && count % together == 0 ? together : count, requests = 0;
  auto check = [&](Position p) { return std::pair(rows ? p.row / rows : 0, cols ? p.col / cols : 0); };
  for (int64_t lane = 0; lane < c.layout.numLanes(); ++lane) {
    std::set<SmallVector<int64_t, 4>> asked;
    std::pair<int64_t, int64_t> shared;
    for (int64_t e = 0; e < count; ++e) {
      Position p = c.layout.at(lane, e);
      if (e % each == 0 || check(p) != shared) {
        requests += asked.size();
        asked.clear();
        shared = check(p);
      }
      asked.insert(read.elements.compose({p.row, p.col}));
    }
    requests += asked.size();
  }
  return requests;
}

/// `elements` of an operand as its copies read them: the last vector of a row as a whole, where vectors are unaligned
/// and rows end inside of them.
static int64_t inVectors(int64_t elements, const StagedTile &tile, int64_t elementBytes) {
  if (!tile.row || tile.begin > elementBytes)
    return elements;
  return elements / tile.row * llvm::alignTo(tile.row, tile.looseElements(elementBytes));
}

std::optional<LaunchPrediction> tilewright::predictLaunch(const LaneContractionPlan &plan, const Contraction &c,
                                                          bool engine, const LaneTail &tail) {
  for (std::optional<int64_t> trips : c.nest.tripCounts)
    if (!trips)
      return std::nullopt;
  const auto [m, n, k, outer, otherK] = ContractionExtents(c, plan);
  int64_t clusters = llvm::divideCeil(m, plan.blockM() * plan.cluster), columns = llvm::divideCeil(n, plan.blockN());
  int64_t steps = otherK * llvm::divideCeil(k, plan.depth), subgroups = plan.subgroupsM * plan.subgroupsN;
  int64_t tiles = outer * clusters * plan.cluster * columns;
  int64_t bytesA = elementBytes(c.a.element), bytesB = elementBytes(c.b.element);

  LaunchPrediction result;
  result.unit = plan.unit->name;
  result.blocks = plan.workers ? plan.workers * plan.cluster : tiles;
  result.unitIssues = tiles * subgroups * plan.tilesM * plan.tilesN * steps * (plan.depth / plan.unit->k);
  result.unitCycles = double(result.unitIssues) * plan.unit->issue;
  // All rows of A once for each column of tiles, all columns of B once for each row of clusters.
  std::optional<InsidePoints> insideA = pointsInside(c.a, c.nest.tripCounts),
                              insideB = pointsInside(c.b, c.nest.tripCounts);
  if (!insideA || !insideB)
    return std::nullopt;
  int64_t readsA = inVectors(outer * otherK * k * m / insideA->all * insideA->inside, plan.a, bytesA),
          readsB = inVectors(outer * otherK * k * n / insideB->all * insideB->inside, plan.b, bytesB);
  result.globalBytesRead = readsA * columns * bytesA + readsB * clusters * bytesB;
  auto together = [](int64_t extent, int64_t block) { return extent % block == 0 ? 0 : extent & -extent; };
  UnitOperand results = plan.unit->c;
  results.layout = sideBySide(results.layout, results.cols, plan.together);
  results.cols *= plan.together;
  for (const TailRead &read : tail.reads)
    result.globalBytesRead += outer * m * n * read.bytes *
                              requestedElements(results, read, tail.together, together(m, plan.blockM() * plan.cluster),
                                                together(n, plan.blockN())) /
                              (results.rows * results.cols);
  result.globalBytesWritten = outer * m * n * tail.writtenBytes;
  // Copies into a multi-stage buffer that lanes fill run ahead of the steps, those beyond the end write zeros:
  // asynchronous ones all stages but one, those staged in registers one, but where the last step is multiplied after
  // the loop.
  bool asynchronous = engine && !(plan.a.held && plan.b.held);
  bool runsAhead = plan.stages > 1 && plan.engine.empty() && (asynchronous || !plan.lastApart);
  auto copies = [&](const StagedTile &tile) {
    return steps + otherK * (!runsAhead ? 0 : tile.held || !asynchronous ? 1 : plan.stages - 1);
  };
  int64_t sums = tiles * plan.blockM() * plan.blockN();
  int64_t leaving = sums * (tail.scratchpadBytes + (plan.subgroupsK - 1) * elementBytes(c.accumulator));
  result.scratchpadBytesWritten =
      tiles * plan.depth * (copies(plan.a) * plan.blockM() * bytesA + copies(plan.b) * plan.blockN() * bytesB) +
      leaving;
  // Units that read the scratchpad themselves read both operands each time; fragments are read once a step.
  const MatrixUnit &unit = *plan.unit;
  bool byLanes = plan.engine.empty();
  auto ofLanes = [](const UnitOperand &own) { return own.layout.numLanes() * own.layout.numElements(); };
  int64_t readA = byLanes ? ofLanes(unit.a) : plan.tilesN * unit.m * unit.k,
          readB = byLanes ? ofLanes(unit.b) : plan.tilesM * unit.n * unit.k;
  result.scratchpadBytesRead = tiles * subgroups * steps * (plan.depth / unit.k) *
                                   (readA * plan.tilesM * bytesA + readB * plan.tilesN * bytesB) +
                               leaving;
  result.seconds = plan.seconds;
  return result;
}

std::optional<LaunchPrediction> tilewright::predictLaunch(const ScratchpadContractionPlan &plan, const Contraction &c,
                                                          const TailShape &tail, const CoreShare &share) {
  if (llvm::is_contained(c.nest.tripCounts, std::nullopt))
    return std::nullopt;
  // Vectors of the core reach over the edge of a tile that is not whole.
  bool isWhole = plan.wholeTiles && *c.nest.tripCounts[plan.kDim] % plan.tileK == 0;
  for (CopyWay way : {plan.copyA, plan.copyB})
    if (way == CopyWay::None || (way == CopyWay::Core && !isWhole))
      return std::nullopt;
  auto product = [&](ArrayRef<unsigned> dims) {
    int64_t all = 1;
    for (unsigned dim : dims)
      all *= *c.nest.tripCounts[dim];
    return all;
  };
  int64_t m = product(plan.mDim), n = product(plan.nDim), k = product(plan.kDim), outer = product(plan.outer),
          otherK = product(plan.otherK);
  int64_t tilesM = llvm::divideCeil(m, plan.tileM), tilesN = llvm::divideCeil(n, plan.tileN);
  int64_t tiles = outer * tilesM * tilesN, steps = otherK * llvm::divideCeil(k, plan.tileK);
  const MatrixUnit &unit = *plan.unit;
  LaunchPrediction result;
  result.unit = unit.name;
  result.blocks = std::min(share.cores, tiles);
  result.unitIssues = tiles * steps * (plan.tileM / unit.m) * (plan.tileN / unit.n) * (plan.tileK / unit.k);
  result.unitCycles = double(result.unitIssues) * unit.issue;
  result.globalBytesRead =
      outer * otherK * k * (m * tilesN * elementBytes(c.a.element) + n * tilesM * elementBytes(c.b.element));
  for (const TailShape::Operand &each : tail.loads) {
    int64_t rows = each.rows ? m : tilesM * plan.slices, cols = each.cols ? n : tilesN;
    result.globalBytesRead += outer * rows * cols * each.bytes;
  }
  for (const TailShape::Operand &each : tail.stores)
    result.globalBytesWritten += outer * m * n * each.bytes;
  result.seconds = plan.seconds;
  return result;
}

DictionaryAttr tilewright::toAttribute(const LaunchPrediction &p, MLIRContext *context) {
  Builder b(context);
  NamedAttrList list;
  auto integer = [&](StringRef name, std::optional<int64_t> value) {
    if (value)
      list.set(name, b.getI64IntegerAttr(*value));
  };
  integer("blocks", p.blocks);
  integer("global_read_bytes", p.globalBytesRead);
  integer("global_written_bytes", p.globalBytesWritten);
  integer("scratchpad_read_bytes", p.scratchpadBytesRead);
  integer("scratchpad_written_bytes", p.scratchpadBytesWritten);
  integer("unit_issues", p.unitIssues);
  list.set("seconds", b.getF64FloatAttr(p.seconds));
  list.set("unit", b.getStringAttr(p.unit));
  list.set("unit_issue_cycles", b.getF64FloatAttr(p.unitCycles));
  return list.getDictionary(context);
}

llvm::json::Object tilewright::predictionToJson(DictionaryAttr attribute) {
  llvm::json::Object object;
  for (NamedAttribute each : attribute) {
    if (auto number = dyn_cast<IntegerAttr>(each.getValue()))
      object[each.getName().str()] = number.getInt();
    else if (auto number = dyn_cast<FloatAttr>(each.getValue()))
      object[each.getName().str()] = number.getValueAsDouble();
    else if (auto text = dyn_cast<StringAttr>(each.getValue()))
      object[each.getName().str()] = text.getValue().str();
  }
  return object;
}
