//===- ContractionModel.cpp - How a contraction is tiled and mapped -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan with its names, and the choice: the candidate with the least time.
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/ContractionPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright {

llvm::json::Object ContractionPlan::toJSON() const {
  return llvm::json::Object{{"unit", unit ? unit->name : ""},
                            {"lanes_on", lanesOnM ? "m" : "n"},
                            {"rows", rows},
                            {"vectors", vectors},
                            {"k_block", kBlock},
                            {"row_block", rowBlock},
                            {"lane_block", laneBlock},
                            {"k_unroll", kUnroll},
                            {"pack_vectors", packVectors},
                            {"pack_scalars", packScalars},
                            {"offset_scalars", offsetScalars},
                            {"rows_outside", rowsOutside},
                            {"prefetch_panels", prefetchPanels},
                            {"prefetch_result", prefetchResult},
                            {"threads", threads},
                            {"seconds", seconds}};
}

int64_t interleaveOf(const UnitOperand &operand, bool freeIsColumn) {
  int64_t k = freeIsColumn ? operand.rows : operand.cols;
  if (operand.residence == Residence::BroadcastScalar)
    return k;
  int64_t count = 0;
  for (; count < k && count < operand.layout.numElements(); ++count) {
    Position at = operand.layout.at(0, count);
    if (at != (freeIsColumn ? Position{count, 0} : Position{0, count}))
      break;
  }
  return std::max<int64_t>(count, 1);
}

llvm::Expected<std::vector<std::pair<std::string, int64_t>>> parsePlanOverrides(StringRef text) {
  static constexpr StringLiteral names[] = {
      "rows",         "vectors",      "k_block",      "row_block",       "lane_block",      "k_unroll", "lanes_on_m",
      "pack_vectors", "pack_scalars", "rows_outside", "prefetch_panels", "prefetch_result", "unit_m",   "unit_n",
      "unit_k",       "tile_m",       "tile_n",       "tile_k",          "stages",          "block_m",  "block_n",
      "group",        "cluster",      "workers",      "block_k"};
  std::vector<std::pair<std::string, int64_t>> overrides;
  SmallVector<StringRef> fields;
  text.split(fields, ',', -1, /*KeepEmpty=*/false);
  for (StringRef field : fields) {
    auto [name, value] = field.split('=');
    int64_t number;
    if (!llvm::is_contained(names, name))
      return llvm::createStringError("unknown plan field '" + name +
                                     "' (known: " + llvm::join(ArrayRef<StringLiteral>(names), ", ") + ")");
    if (value.getAsInteger(10, number))
      return llvm::createStringError("plan field '" + name + "' needs an integer, got '" + value + "'");
    overrides.emplace_back(name.str(), number);
  }
  return overrides;
}

int64_t planField(const ContractionPlan &p, StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("rows", p.rows)
      .Case("vectors", p.vectors)
      .Case("k_block", p.kBlock)
      .Case("row_block", p.rowBlock)
      .Case("lane_block", p.laneBlock)
      .Case("k_unroll", p.kUnroll)
      .Case("lanes_on_m", p.lanesOnM)
      .Case("pack_vectors", p.packVectors)
      .Case("pack_scalars", p.packScalars)
      .Case("unit_m", p.unit->m)
      .Case("unit_n", p.unit->n)
      .Case("unit_k", p.unit->k)
      .Default(p.rowsOutside);
}

/// Cores share the dimension whose parts are most even and read least twice.
void Planner::splitOverCores(ContractionPlan &p) const {
  constexpr double launchSeconds = 5e-6; // fork and join of a warm thread team
  int64_t threads = options.threads;
  if (threads <= 1 || p.seconds < 4 * launchSeconds)
    return;
  auto evenness = [&](int64_t parts) { return double(parts) / (llvm::divideCeil(parts, threads) * threads); };
  int64_t panels = trips(*p.laneDim) / (p.unit->n * p.vectors);
  int64_t rows = p.rowDim ? trips(*p.rowDim) / (p.unit->m * p.rows) : 1;
  llvm::SmallBitVector inVectors = p.vectorOperand(c).access.dims();
  int64_t outer = 0;
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n))
    if (dim != p.laneDim && (!p.rowDim || dim != *p.rowDim) && inVectors.test(dim) && !outer)
      outer = trips(dim);
  // What every core reads whole costs its bytes once more for each further core; a packed operand is written as well.
  auto apart = [&](const ContractionOperand &shared, bool packed) {
    double bytes = elementsOf(shared.access) * bytesOf(shared.element);
    double again = (threads - 1) * bytes * (packed ? 3 : 1) / machine.bandwidth(bytes) / machine.clockHz;
    return p.seconds / (p.seconds + again);
  };
  double best = 0;
  auto offer = [&](ContractionPlan::Split split, double score) {
    if (score > best) {
      best = score;
      p.split = split;
      p.threads = threads;
    }
  };
  if (outer >= threads)
    offer(ContractionPlan::Split::Outer, evenness(outer));
  if (panels >= threads)
    offer(ContractionPlan::Split::Panels, evenness(panels) * apart(p.scalarOperand(c), p.packScalars));
  if (rows >= threads)
    offer(ContractionPlan::Split::Rows, evenness(rows) * apart(p.vectorOperand(c), p.packVectors));
}

std::optional<ContractionPlan> Planner::plan(std::string &reason) {
  std::optional<ContractionPlan> best;
  bool anyDims = false;
  for (const MatrixUnit &unit : target.units())
    for (bool lanesOnM : {false, true}) {
      ContractionPlan p;
      p.unit = &unit;
      p.lanesOnM = lanesOnM;
      if (!chooseDims(p))
        continue;
      anyDims = true;
      if (!fitUnit(p))
        continue;
      p.tailUnit = tailUnitFor(p);
      sizes(p, best);
    }
  if (!best) {
    reason = anyDims ? "no unit of the chip takes these element types and shapes"
                     : "no dimension of the result can carry vector lanes";
    return std::nullopt;
  }
  if (!best->isBlock())
    best->note = note;
  splitOverCores(*best);
  return best;
}

std::optional<ContractionPlan> planContraction(const Contraction &contraction, const TargetDescription &target,
                                               const PlanOptions &options, std::string &reason) {
  return Planner(contraction, target, options).plan(reason);
}

} // namespace tilewright
