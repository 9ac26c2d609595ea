//===- ScratchpadContractionPlan.cpp - What follows from the numbers of a plan ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which units there are, groups of a step's commands, a plan's JSON, and what plans ask of arrays.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Machine/CoreCommand.h"
#include "core/Machine/UnitOperands.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tilewright;

bool tilewright::computesFromScratchpad(const MatrixUnit &unit, const Contraction &c, const CoreHierarchy &cores,
                                        const NumericFreedom &freedom, std::string &lacks) {
  if (!takesElements(unit, c, freedom))
    return false;
  auto refuse = [&](const std::string &why) {
    lacks = "unit \"" + unit.name + "\" takes these types, but " + why;
    return false;
  };
  if (!liesIn(unit.a, cores.scratchpad->name) || !liesIn(unit.b, cores.scratchpad->name))
    return refuse("its fields 'a' and 'b' do not both lie in the scratchpad of a core");
  if (!(cores.accumulator && liesIn(unit.c, cores.accumulator->name, Residence::Accumulator)) &&
      !liesIn(unit.c, cores.scratchpad->name))
    return refuse("its field 'c' lies neither in the accumulators nor in the scratchpad of a core");
  for (const auto &[field, operand] : {std::pair("a", &unit.a), std::pair("b", &unit.b), std::pair("c", &unit.c)})
    if (operand->residence == Residence::Scratchpad && !readsPlainRows(*operand))
      return refuse("its field '" + std::string(field) + "' does not accept plain rows, which cores keep tiles as");
  if (unit.init == UnitInit::NoAccumulate)
    return refuse("its field 'init' is NoAccumulate: sums over several steps of k need a C that is added to");
  if (unit.completion == Completion::Barrier)
    return refuse("its field 'completion' is Barrier; engines of cores complete AtOnce or by WaitGroup");
  if (!unit.states.empty())
    return refuse("its field 'states' asks for a state, which programs of cores do not enter");
  return true;
}

/// How an operand comes in, for people.
static const char *nameOf(CopyWay way) {
  static constexpr const char *names[] = {"rows", "transposed", "elements", "core", "none"};
  return names[static_cast<int>(way)];
}

llvm::json::Object ScratchpadContractionPlan::toJSON() const {
  llvm::json::Object object{{"unit", unit->name},
                            {"tile", llvm::json::Array{tileM, tileN, tileK}},
                            {"stages", stages},
                            {"slices", slices},
                            {"scratchpad_bytes", scratchpadBytes},
                            {"accumulator_bytes", accumulatorBytes},
                            {"copy_a", nameOf(copyA)},
                            {"copy_b", nameOf(copyB)},
                            {"unit_clocks", unitClocks},
                            {"copy_clocks", copyClocks},
                            {"core_clocks", coreClocks},
                            {"clocks", clocks},
                            {"busy", busy},
                            {"seconds", seconds}};
  if (groups() > 1)
    object["group"] = llvm::json::Array{groupM, groupN, groupK};
  if (pitchA != tileK || pitchB != tileN)
    object["row_pitches"] = llvm::json::Array{pitchA, pitchB};
  if (!others.empty()) {
    llvm::json::Array versions;
    for (const ScratchpadContractionPlan &other : others)
      versions.push_back(other.toJSON());
    object["other_versions"] = std::move(versions);
    object["version"] = tilewright::toJSON(tests);
  }
  return object;
}

int64_t ScratchpadContractionPlan::copiesAfter() const {
  // Nothing of the step before is left in the queue, and its last results are there.
  const int64_t commands = (groupM / unit->m) * (groupN / unit->n) * (groupK / unit->k);
  const double before = double(unit->queueDepth) + unit->latency / std::max(1.0, double(unit->issue));
  return std::min(groups(), int64_t(std::ceil(before / double(commands)))) - 1;
}

/// Parts of `count` that a queue of `depth` places holds: the most that divide it or, where that is less than half of
/// the queue, the fewest that it does not hold.
static int64_t inQueue(int64_t count, int64_t depth) {
  auto divides = [&](int64_t part) { return count % part == 0; };
  int64_t most = std::clamp<int64_t>(depth, 1, count);
  while (!divides(most))
    --most;
  if (2 * most >= depth || most == count)
    return most;
  int64_t more = depth + 1;
  while (more < count && !divides(more))
    ++more;
  return std::min(more, count);
}

void ScratchpadContractionPlan::takeOneGroup() {
  groupM = tileM;
  groupN = tileN;
  groupK = tileK;
}

void ScratchpadContractionPlan::chooseGroups() {
  takeOneGroup();
  if (!unit->queueDepth)
    return;
  struct {
    int64_t *group, unit;
  } loops[] = {{&groupM, unit->m}, {&groupN, unit->n}, {&groupK, unit->k}};
  if (unit->stationary == 'A')
    std::swap(loops[0], loops[1]);
  int64_t depth = unit->queueDepth;
  for (auto [group, size] : loops) {
    const int64_t count = *group / size, held = inQueue(count, depth);
    *group = held * size;
    depth = held < count ? 1 : depth / held;
  }
}

int64_t tilewright::pitchBitsOf(const Access &access, const Nest &nest, int64_t elementBytes) {
  int64_t bits = 0;
  for (unsigned dim = 0; dim < nest.depth(); ++dim)
    if (auto stride = access.stride(dim); stride && *stride != 1 && nest.tripCounts[dim] != 1)
      bits |= std::abs(*stride) * elementBytes;
  return bits;
}

bool tilewright::isNear(Value memref, const CoreHierarchy &cores) {
  auto space = dyn_cast_or_null<StringAttr>(cast<MemRefType>(memref.getType()).getMemorySpace());
  return space && space.getValue() == cores.scratchpad->name;
}

int64_t tilewright::scratchpadAlignment(const CoreHierarchy &cores) {
  int64_t align = std::max<int64_t>(64, cores.scratchpad->banks * cores.scratchpad->bankBytes);
  for (const CopyEngine *engine : {cores.in, cores.out})
    if (engine)
      align = std::max(align, engine->alignBytes);
  return llvm::PowerOf2Ceil(align);
}

bool tilewright::isTileForced(const PlanOptions &options) {
  return llvm::any_of(options.overrides, [](auto &field) {
    return llvm::is_contained({"tile_m", "tile_n", "tile_k", "stages"}, StringRef(field.first));
  });
}
