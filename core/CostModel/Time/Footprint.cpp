//===- Footprint.cpp - What a plan keeps in which memory ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Products of extents, by the loops that an operand depends on.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/Footprint.h"
#include "core/Analysis/ElementType.h"
#include "tilewright/MachineGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

using namespace tilewright;
using llvm::formatv;
namespace json = llvm::json;

/// Iterations of some loops; a size that is not known counts as 1.
static double extent(const Contraction &c, llvm::ArrayRef<unsigned> dims) {
  double product = 1;
  for (unsigned dim : dims)
    product *= static_cast<double>(c.nest.tripCounts[dim].value_or(1));
  return product;
}

/// The largest number of elements that an operand with these loops touches, as an array of theirs.
static double arrayBytes(const Contraction &c) {
  double batch = extent(c, c.batch), m = extent(c, c.m), n = extent(c, c.n), k = extent(c, c.k);
  return batch * (m * k * static_cast<double>(elementBytes(c.a.element)) +
                  k * n * static_cast<double>(elementBytes(c.b.element)) +
                  m * n * static_cast<double>(elementBytes(c.accumulator)));
}

static json::Object summary(const Contraction &c, json::Array footprints, const TargetDescription &chip) {
  if (!chip.memories().empty())
    footprints.push_back(
        json::Object{{"memory", chip.memories().front().name}, {"what", "the arrays"}, {"bytes", arrayBytes(c)}});
  double operations = 2 * extent(c, c.batch) * extent(c, c.m) * extent(c, c.n) * extent(c, c.k);
  return json::Object{
      {"footprints", std::move(footprints)}, {"operations", operations}, {"array_bytes", arrayBytes(c)}};
}

/// The register file of a thread.
static const Memory *registerFile(const TargetDescription &chip) {
  for (const Memory &memory : llvm::reverse(chip.memories()))
    if (memory.kind == MemoryKind::RegisterFile)
      return &memory;
  return nullptr;
}

json::Object tilewright::traffic(const Contraction &c, const ContractionPlan &plan, const TargetDescription &chip) {
  auto vectorBytes = static_cast<double>(elementBytes(plan.vectorOperand(c).element));
  auto scalarBytes = static_cast<double>(elementBytes(plan.scalarOperand(c).element));
  auto sumBytes = static_cast<double>(elementBytes(c.accumulator));
  auto trips = [&](std::optional<unsigned> dim) {
    return dim ? static_cast<double>(c.nest.tripCounts[*dim].value_or(1)) : 1.0;
  };
  auto extents = [&](std::optional<unsigned> dim, llvm::ArrayRef<unsigned> outer) {
    return trips(dim) * extent(c, outer);
  };
  double k = plan.kBlock ? static_cast<double>(plan.kBlock) : trips(plan.kDim);
  auto rows = static_cast<double>(plan.rows * plan.unit->m), columns = static_cast<double>(plan.vectors * plan.unit->n);
  auto step = static_cast<double>(plan.unit->k);
  double allRows = plan.rowBlock ? static_cast<double>(plan.rowBlock) * rows : extents(plan.rowDim, plan.outerRows);
  double allColumns =
      plan.laneBlock ? static_cast<double>(plan.laneBlock) * columns : extents(plan.laneDim, plan.outerLanes);

  json::Array footprints;
  auto add = [&](const Memory *memory, const std::string &what, double bytes) {
    if (memory)
      footprints.push_back(json::Object{{"memory", memory->name}, {"what", what}, {"bytes", bytes}});
  };
  auto whole = [](double value) { return static_cast<int64_t>(value); };
  // Registers of a bank are no part of the file of vectors, unless it has that file's name.
  const Memory *file = registerFile(chip);
  if (const OpaqueRegister *sums = plan.unit->c.opaque.get(); !sums || (file && file->name == sums->bank))
    add(file, formatv("{0} x {1} sums and a step's operands", whole(rows), whole(columns)),
        rows * columns * sumBytes + columns * step * vectorBytes + step * scalarBytes);
  // Each larger tile lies in the nearest cache that holds it; of several in one cache the largest is named.
  double panel = k * columns * vectorBytes, held = 0;
  const std::tuple<std::string, double> tiles[] = {
      {formatv("a panel of {0} x {1}, rows of {2} x {0}", whole(k), whole(columns), whole(rows)),
       panel + rows * k * scalarBytes},
      {formatv("rows of {0} x {1}, a panel", whole(allRows), whole(k)), allRows * k * scalarBytes + panel},
      {formatv("panels of {0} x {1}, rows of {2} x {0}", whole(k), whole(allColumns), whole(allRows)),
       k * allColumns * vectorBytes + allRows * k * scalarBytes}};
  for (const Memory *cache : chip.caches()) {
    const std::tuple<std::string, double> *largest = nullptr;
    for (const auto &tile : tiles)
      if (double bytes = std::get<1>(tile); bytes > held && bytes <= static_cast<double>(cache->bytes))
        largest = !largest || bytes > std::get<1>(*largest) ? &tile : largest;
    if (!largest)
      continue;
    held = std::get<1>(*largest);
    add(cache, std::get<0>(*largest), held);
  }
  return summary(c, std::move(footprints), chip);
}

json::Object tilewright::traffic(const Contraction &c, const LaneContractionPlan &plan, const TargetDescription &chip) {
  json::Array footprints;
  if (const Memory *file = chip.graph().laneRegisters())
    footprints.push_back(
        json::Object{{"memory", file->name},
                     {"what", formatv("{0} x {1} units of a subgroup", plan.tilesM, plan.tilesN).str()},
                     {"bytes", static_cast<double>(plan.registers) * 4}});
  for (const Memory &memory : chip.memories())
    if (memory.kind == MemoryKind::Scratchpad)
      footprints.push_back(
          json::Object{{"memory", memory.name},
                       {"what", formatv("{0} stages of ({1} + {2}) x {3}, {4} blocks at a time", plan.stages,
                                        plan.blockM(), plan.blockN(), plan.depth, plan.blocksAtATime)
                                    .str()},
                       {"bytes", static_cast<double>(plan.sharedBytes * plan.blocksAtATime)}});
  return summary(c, std::move(footprints), chip);
}

json::Object tilewright::traffic(const Contraction &c, const ScratchpadContractionPlan &plan,
                                 const TargetDescription &chip) {
  json::Array footprints;
  for (const Memory &memory : chip.memories()) {
    if (memory.kind == MemoryKind::Accumulator && plan.accumulatorBytes)
      footprints.push_back(json::Object{{"memory", memory.name},
                                        {"what", formatv("two tiles of {0} x {1}", plan.tileM, plan.tileN).str()},
                                        {"bytes", static_cast<double>(plan.accumulatorBytes)}});
    if (memory.kind == MemoryKind::Scratchpad)
      footprints.push_back(json::Object{{"memory", memory.name},
                                        {"what", formatv("{0} stages of ({1} + {2}) x {3}, two slices of the epilogue",
                                                         plan.stages, plan.tileM, plan.tileN, plan.tileK)
                                                     .str()},
                                        {"bytes", static_cast<double>(plan.scratchpadBytes)}});
  }
  return summary(c, std::move(footprints), chip);
}
