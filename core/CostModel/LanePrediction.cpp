//===- LanePrediction.cpp - What a contraction's kernel will do -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The closed forms of LanePrediction.h.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/LanePrediction.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

std::optional<LanePrediction> tilewright::predictLaunch(const LaneContractionPlan &plan, const Contraction &c,
                                                        bool engine, int64_t resultBytes) {
  for (std::optional<int64_t> trips : c.nest.tripCounts)
    if (!trips)
      return std::nullopt;
  auto extent = [&](unsigned dim) { return *c.nest.tripCounts[dim]; };
  int64_t m = extent(plan.mDim), n = extent(plan.nDim), k = extent(plan.kDim), outer = 1, otherK = 1;
  for (unsigned dim : plan.outer)
    outer *= extent(dim);
  for (unsigned dim : plan.otherK)
    otherK *= extent(dim);
  int64_t clusters = llvm::divideCeil(m, plan.blockM() * plan.cluster), columns = llvm::divideCeil(n, plan.blockN());
  int64_t steps = otherK * llvm::divideCeil(k, plan.depth), subgroups = plan.subgroupsM * plan.subgroupsN;
  int64_t tiles = outer * clusters * plan.cluster * columns;
  int64_t bytesA = std::max(1u, c.a.element.getIntOrFloatBitWidth() / 8),
          bytesB = std::max(1u, c.b.element.getIntOrFloatBitWidth() / 8);

  LanePrediction result;
  result.unit = plan.unit->name;
  result.blocks = plan.workers ? plan.workers * plan.cluster : tiles;
  result.unitIssues = tiles * subgroups * plan.tilesM * plan.tilesN * steps * (plan.depth / plan.unit->k);
  result.unitCycles = double(result.unitIssues) * plan.unit->issue;
  // All rows of A once for each column of tiles, all columns of B once for each row of clusters.
  result.globalBytesRead = outer * otherK * k * (m * columns * bytesA + n * clusters * bytesB);
  // Asynchronous copies of lanes into a ring run ahead of the steps: those beyond the end write zeros.
  bool runsAhead = engine && plan.stages > 1 && plan.engine.empty() && !(plan.a.held && plan.b.held);
  auto copies = [&](const StagedTile &tile) { return steps + (!runsAhead ? 0 : tile.held ? 1 : plan.stages - 1); };
  int64_t results = tiles * plan.blockM() * plan.blockN() * resultBytes;
  result.scratchpadBytesWritten =
      tiles * plan.depth * (copies(plan.a) * plan.blockM() * bytesA + copies(plan.b) * plan.blockN() * bytesB) +
      results;
  // Units that read the scratchpad themselves read both operands each time; fragments are read once a step.
  const MatrixUnit &unit = *plan.unit;
  bool byLanes = plan.engine.empty();
  int64_t readA = byLanes ? loadedElements(unit.a) : plan.tilesN * unit.m * unit.k,
          readB = byLanes ? loadedElements(unit.b) : plan.tilesM * unit.n * unit.k;
  result.scratchpadBytesRead = tiles * subgroups * steps * (plan.depth / unit.k) *
                                   (readA * plan.tilesM * bytesA + readB * plan.tilesN * bytesB) +
                               results;
  result.seconds = plan.seconds;
  return result;
}

DictionaryAttr tilewright::toAttribute(const LanePrediction &p, MLIRContext *context) {
  Builder b(context);
  return b.getDictionaryAttr({b.getNamedAttr("blocks", b.getI64IntegerAttr(p.blocks)),
                              b.getNamedAttr("global_read_bytes", b.getI64IntegerAttr(p.globalBytesRead)),
                              b.getNamedAttr("scratchpad_read_bytes", b.getI64IntegerAttr(p.scratchpadBytesRead)),
                              b.getNamedAttr("scratchpad_written_bytes", b.getI64IntegerAttr(p.scratchpadBytesWritten)),
                              b.getNamedAttr("seconds", b.getF64FloatAttr(p.seconds)),
                              b.getNamedAttr("unit", b.getStringAttr(p.unit)),
                              b.getNamedAttr("unit_issue_cycles", b.getF64FloatAttr(p.unitCycles)),
                              b.getNamedAttr("unit_issues", b.getI64IntegerAttr(p.unitIssues))});
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
