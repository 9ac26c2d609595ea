//===- LaneContractionModel.cpp - Tiles of contractions on lanes ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Candidates, their resources, their time.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/CostModel/Copies/StagedTiles.h"
#include "core/CostModel/Copies/TileOrder.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/KnownPlans.h"
#include "core/CostModel/Schedules/LaneRegisters.h"
#include "core/CostModel/Schedules/PlanRanking.h"
#include "core/CostModel/Schedules/PlanShortage.h"
#include "core/CostModel/Schedules/SliceModel.h"
#include "core/CostModel/Time/StepModel.h"
#include "core/Machine/UnitOperands.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tilewright;

llvm::json::Object LaneContractionPlan::toJSON() const {
  llvm::json::Object object{{"unit", unit->name},
                            {"block", llvm::json::Array{blockM(), blockN(), depth}},
                            {"subgroups", llvm::json::Array{subgroupsM, subgroupsN}},
                            {"subgroups_k", subgroupsK},
                            {"units_per_subgroup", llvm::json::Array{tilesM, tilesN}},
                            {"stages", stages},
                            {"registers", registers},
                            {"scratchpad_bytes", sharedBytes},
                            {"blocks_at_a_time", blocksAtATime},
                            {"step_clocks", stepClocks},
                            {"pipeline_unroll", round},
                            {"step_instructions", llvm::json::Object{{"mma", instructions.products},
                                                                     {"fragment_loads", instructions.fragmentLoads},
                                                                     {"global_loads", instructions.globalLoads},
                                                                     {"writes", instructions.writes},
                                                                     {"permutes", instructions.permutes},
                                                                     {"loop", instructions.loop}}},
                            {"engine", engine},
                            {"persistent_blocks", workers},
                            {"rasterisation_rows", rasterRows},
                            {"cluster", cluster},
                            {"transpose_before", turnedBefore},
                            {"results_together", together},
                            {"seconds", seconds}};
  if (scaleEntries)
    object["scale_entries"] = scaleEntries;
  return object;
}

//===-- Operands ----------------------------------------------------------===//

bool tilewright::computesOnLanes(const MatrixUnit &unit, const Contraction &c, const LaneHierarchy &hierarchy,
                                 const NumericFreedom &freedom) {
  for (const UnitOperand *operand : {&unit.a, &unit.b, &unit.c})
    if (operand->residence != Residence::LaneRegisters || operand->layout.numLanes() != hierarchy.lanes)
      return false;
  if (unit.scopeLevel != hierarchy.subgroup || unit.scopeCount != 1 || unit.completion != Completion::AtOnce ||
      unit.init == UnitInit::NoAccumulate || !unit.states.empty())
    return false;
  return takesElements(unit, c, freedom);
}

int64_t tilewright::loadedElements(const UnitOperand &operand) {
  if (operand.rows == 1 || operand.cols == 1) // products of single lanes: the same few words for all of them
    return operand.rows * operand.cols;
  return std::max<int64_t>(operand.rows * operand.cols, operand.layout.numLanes() * operand.layout.numElements());
}

//===-- Scratchpad --------------------------------------------------------===//

/// The first engine from the backing memory into the scratchpad of a block that `fits`.
static const CopyEngine *engineIn(const TargetDescription &chip, llvm::function_ref<bool(const CopyEngine &)> fits) {
  const MachineGraph &graph = chip.graph();
  const Memory *from = graph.backing(), *to = graph.blockMemory();
  if (!from || !to)
    return nullptr;
  for (const MachineEdge *way : graph.ways(*from, *to))
    if (way->way == Way::Engine && way->engine->asynchronous && fits(*way->engine))
      return way->engine;
  return nullptr;
}

static const CopyEngine *lanesEngine(const TargetDescription &chip, bool bySubgroup) {
  return engineIn(chip, [&](const CopyEngine &copy) {
    return copy.completion == Completion::WaitGroup && llvm::is_contained(copy.arrangements, "subgroup") == bySubgroup;
  });
}

bool tilewright::hasCopyEngine(const TargetDescription &chip) {
  return lanesEngine(chip, /*bySubgroup=*/false) != nullptr;
}

const CopyEngine *tilewright::subgroupEngine(const TargetDescription &chip) {
  return lanesEngine(chip, /*bySubgroup=*/true);
}

const CopyEngine *tilewright::tileEngine(const TargetDescription &chip) {
  return engineIn(chip, [](const CopyEngine &copy) {
    return copy.completion == Completion::Barrier && copy.maxRank > 1 && copy.zeroFill;
  });
}

//===-- Candidates --------------------------------------------------------===//

/// Whether a group of so many subgroups holds a fragment of the unit.
static bool isHeldBy(const MatrixUnit &unit, int64_t subgroups) {
  return accumulatesInBlock(unit) ? subgroups > 1 : unit.scopeCount == subgroups;
}

bool tilewright::agrees(const LaneContractionPlan &plan, LanePlanOverrides overrides) {
  return llvm::all_of(overrides, [&](const auto &field) {
    return (field.first != "block_m" || plan.blockM() == field.second) &&
           (field.first != "block_n" || plan.blockN() == field.second) &&
           (field.first != "block_k" || plan.depth == field.second) &&
           (field.first != "subgroups_m" || plan.subgroupsM == field.second) &&
           (field.first != "subgroups_n" || plan.subgroupsN == field.second) &&
           (field.first != "subgroups_k" || plan.subgroupsK == field.second) &&
           (field.first != "group" || isHeldBy(*plan.unit, field.second)) &&
           (field.first != "cluster" || plan.cluster == field.second);
  });
}

/// Registers of an address in global memory.
static constexpr int64_t addressRegisters = 2;
/// Bytes of k in the shortest step.
static constexpr int64_t shortestDepth = 32;
/// Stages of a ring: more of them hide no more latency.
static constexpr int64_t mostStages = 4;

/// `considered` may be null.
static std::optional<LaneContractionPlan> fastestPlan(const LaneContractionQuestion &question,
                                                      const TargetDescription &chip, const LaneHierarchy &hierarchy,
                                                      std::string &reason,
                                                      std::vector<LaneContractionPlan> *considered) {
  const auto &[c, freedom, overrides, unknownPitches, given, parts] = question;
  const Memory *shared = hierarchy.scratchpad.empty() ? nullptr : chip.memory(hierarchy.scratchpad);
  const Memory *file = chip.graph().registerPool(), *own = chip.graph().laneRegisters(),
               *l2 = chip.graph().lastSharedCache(), *global = chip.graph().backing();
  if (!shared || !file || !own || !global) {
    SmallVector<StringRef> lacks;
    for (auto [there, what] : {std::pair(shared, "a scratchpad of blocks"),
                               std::pair(file, "a file of registers that lanes share out (RegisterPool)"),
                               std::pair(own, "a file of a lane's registers"), std::pair(global, "a backing memory")})
      if (!there)
        lacks.push_back(what);
    reason = "the chip's description lacks " + llvm::join(lacks, ", ");
    return std::nullopt;
  }
  std::optional<TiledDimensions> dims = tiledDimensions(c, reason);
  if (!dims)
    return std::nullopt;
  LaneContractionPlan base;
  static_cast<TiledDimensions &>(base) = *dims;
  // Blocks for the outer dimensions: one index, all but the first extent constant.
  for (unsigned i = 1; i < base.outer.size(); ++i)
    if (!c.nest.tripCounts[base.outer[i]]) {
      reason = "more than the outermost batch dimension has a dynamic size";
      return std::nullopt;
    }

  const SmallVector<StoredResult> results = question.written();
  StagedTiles tiles(c, chip, hierarchy);
  int64_t elementBytes = tiles.elementBytes();
  double issueSlots = chip.number(Number::Issue).value_or(1);
  const int64_t threadsAtATime = int64_t(chip.number(Number::ResidentThreads).value_or(double(file->entries)));
  const auto [m, n, k, outer, otherK] = ContractionExtents(c, base, parts);
  const double outerCount = double(outer), otherKCount = double(otherK);

  // Bytes of k in a step, and the most stages: as many as fit, but where a subgroup copies past its registers each
  // number is looked at, since more stages may leave room for fewer blocks.
  SmallVector<std::tuple<int64_t, int64_t, int64_t>> sizes; // and slices of a stage's k
  bool bySubgroup = subgroupEngine(chip) && !tiles.engine();
  for (int64_t depthBytes : {shortestDepth, int64_t(64), int64_t(128)})
    for (int64_t most = bySubgroup ? 2 : mostStages; most <= mostStages; ++most)
      for (int64_t slices : {1, 2, 4})
        sizes.emplace_back(depthBytes, most, slices);

  auto isInFree = [&](const ContractionOperand &operand, unsigned freeDim) {
    return isContiguousAlong(operand.access, freeDim) && !isContiguousAlong(operand.access, base.kDim);
  };
  const bool inFreeA = isInFree(c.a, base.mDim), inFreeB = isInFree(c.b, base.nDim);

  PlanRanking ranking;
  const std::optional<int64_t> sweep = forcedValue(overrides, "rasterisation_rows"); // rows of tiles of one
  PlanShortage shortage;
  for (const MatrixUnit &unit : chip.units()) {
    if (!computesOnLanes(unit, c, hierarchy, freedom)) {
      if (shortage.together.empty() && computesOnLanes(unit, c, hierarchy, {freedom.fast, /*mayReassociate=*/true}))
        shortage.together = unit.name;
      continue;
    }
    shortage.unit = true;
    const bool isSliced = maySlice(unit, c, freedom);
    int64_t accumulators = std::max<int64_t>(1, unit.c.layout.numElements() * bitWidth(unit.c.element) / 32);
    int64_t fragmentA = std::max<int64_t>(1, unit.a.layout.numElements() * bitWidth(unit.a.element) / 32);
    int64_t fragmentB = std::max<int64_t>(1, unit.b.layout.numElements() * bitWidth(unit.b.element) / 32);
    auto registersOf = [](const UnitOperand &scale) { // one at least
      return int64_t(llvm::divideCeil(scale.layout.numElements() * bitWidth(scale.element), 32));
    };
    if (unit.scales && unit.scales->hasA())
      fragmentA += registersOf(unit.scales->a);
    if (unit.scales && unit.scales->hasB())
      fragmentB += registersOf(unit.scales->b);
    if (unit.sparsity)
      fragmentA += registersOf(unit.sparsity->index);
    for (int64_t sm : {1, 2, 4})
      for (int64_t sn : {1, 2, 4})
        for (int64_t tm : {1, 2, 4, 8})
          for (int64_t tn : {1, 2, 4, 8})
            for (auto [depthBytes, most, slices] : sizes) {
              LaneContractionPlan plan = base;
              plan.unit = &unit;
              plan.subgroupsM = sm;
              plan.subgroupsN = sn;
              plan.tilesM = tm;
              plan.tilesN = tn;
              plan.subgroupsK = slices;
              plan.depth = depthBytes / elementBytes;
              plan.loadsAhead = chip.number(Number::FragmentWaits).has_value() && unit.k > 1;
              int64_t subgroups = plan.subgroups(), threads = subgroups * hierarchy.lanes;
              if (plan.sliceDepth() < unit.k || plan.sliceDepth() % unit.k != 0 || subgroups > hierarchy.subgroups ||
                  !llvm::isPowerOf2_64(plan.blockM()) || !llvm::isPowerOf2_64(plan.blockN()) ||
                  (slices > 1 && !isSliced))
                continue;
              if (!agrees(plan, overrides))
                continue;
              shortage.tile = true;
              // No tile of which more than half is beyond the array, unless it is the smallest.
              if ((plan.blockM() >= 2 * m && plan.blockM() > unit.m) ||
                  (plan.blockN() >= 2 * n && plan.blockN() > unit.n) ||
                  (plan.depth >= 2 * k && depthBytes > shortestDepth && plan.depth > unit.k))
                continue;
              // Rows of a tile fill sectors of global memory, unless the array's own are shorter.
              auto fills = [&](bool inFree, int64_t rows, int64_t extent) {
                return !inFree || rows * elementBytes >= std::min(hierarchy.sectorBytes, extent * elementBytes);
              };
              if (!fills(inFreeA, plan.blockM(), m) || !fills(inFreeB, plan.blockN(), n))
                continue;
              const int64_t units = plan.sliceDepth() / unit.k; // along k, of one subgroup in a step
              int64_t stageBytes = (plan.blockM() * c.a.along(plan.depth) + plan.blockN() * plan.depth) * elementBytes;
              // Products of one lane each would move from behind the loop into the branches that check stores of C, and
              // all fragments would live until then.
              auto whole = [&](unsigned dim, int64_t block) {
                return c.nest.tripCounts[dim] && *c.nest.tripCounts[dim] % block == 0;
              };
              plan.lastApart = unit.k > 1 || (whole(plan.mDim, plan.blockM()) && whole(plan.nDim, plan.blockN()));
              StagedOperand tileA = tiles.operand(plan, true), tileB = tiles.operand(plan, false);
              // Operands that pass through registers run ahead by one step, and need no more stages.
              bool heldA = tiles.held(tileA), heldB = tiles.held(tileB), engine = tiles.engine() && !(heldA && heldB);
              int64_t staged = tiles.heldRegisters(tileA) + tiles.heldRegisters(tileB);
              int64_t eachK = tm * fragmentA + tn * fragmentB;
              plan.registers = tm * tn * accumulators + 2 * eachK + staged + otherRegisters +
                               widenedRegisters(unit, chip, units, eachK, accumulators);
              int64_t limit = registersOfLane(chip, tm * tn * accumulators, threads);
              // Where sums fill a half of their own, compilers cannot move anything there.
              bool isWhole = c.nest.tripCounts[plan.kDim] && k % plan.depth == 0;
              bool isFilled = limit > own->entries;
              int64_t atEnd =
                  tiles.endRegisters(tileA, isWhole, isFilled) + tiles.endRegisters(tileB, isWhole, isFilled);
              if (plan.registers + atEnd > limit) {
                shortage.lacksRegisters(plan.registers + atEnd, limit);
                continue;
              }
              int64_t behind = tm * tn * accumulators + otherRegisters;
              if (unknownPitches > 1 && tn > 1)
                behind += 2 * (unknownPitches - 1) * tm * rowsOfLane(unit.c.layout);
              if (behind > limit) {
                shortage.lacksRegisters(behind, limit);
                continue;
              }
              // Compilers load ahead as far as a barrier lets them.
              plan.keepsOrder = !plan.loadsAhead && plan.registers + (units - 2) * eachK > limit;
              int64_t steps = llvm::divideCeil(k, plan.depth);
              if (!plan.lastApart && plan.keepsOrder && steps == 1 && c.nest.tripCounts[plan.kDim]) {
                shortage.lacksRegisters(plan.registers + (units - 2) * eachK, limit); // there is no loop
                continue;
              }
              plan.across = plan.loadsAhead && !engine && plan.otherK.empty() && c.nest.tripCounts[plan.kDim];
              bool longer = plan.across && tileA.direct && tileB.direct && most <= steps;
              if (bySubgroup && most > 2 && !longer)
                continue;
              plan.stages = !plan.otherK.empty() ? 1
                            : engine             ? std::min(most, std::max<int64_t>(2, steps))
                            : longer             ? most
                                                 : 2;
              while (plan.stages > (bySubgroup ? most : 1) && plan.stages * stageBytes > shared->bytes)
                --plan.stages;
              plan.sharedBytes = plan.stages * stageBytes;
              if (plan.sharedBytes > shared->bytes || (plan.stages < 2 && plan.otherK.empty())) {
                shortage.lacksBytes((plan.otherK.empty() ? 2 : 1) * stageBytes);
                continue;
              }

              const SliceExchange exchange = planSliceExchange(plan);
              plan.unitsExchanged = exchange.units;
              plan.sharedBytes = std::max(plan.sharedBytes, exchange.bytes);
              if (plan.sharedBytes > shared->bytes) {
                shortage.lacksBytes(exchange.bytes);
                continue;
              }
              plan.blocksAtATime =
                  std::max<int64_t>(1, std::min({shared->bytes / std::max<int64_t>(plan.sharedBytes, 1),
                                                 blocksInRegisters(chip, plan.registers, hierarchy.lanes, subgroups),
                                                 threadsAtATime / threads}));
              double blocks = outerCount * llvm::divideCeil(m, plan.blockM()) * llvm::divideCeil(n, plan.blockN());
              double atATime = double(hierarchy.blocks) * plan.blocksAtATime;
              double active = std::min(blocks, atATime);
              double perUnit = std::max(1.0, std::ceil(active / hierarchy.blocks)); // blocks of the fullest one
              bool sized = c.nest.tripCounts[plan.mDim] && c.nest.tripCounts[plan.nDim];
              int64_t tilesM = llvm::divideCeil(m, plan.blockM()), tilesN = llvm::divideCeil(n, plan.blockN());
              if (sweep || (sized && active < double(tilesM) * tilesN))
                plan.rasterRows =
                    sweep.value_or(rasterRows(tilesM, tilesN, int64_t(active), plan.blockM(), plan.blockN()));
              if (plan.rasterRows < 1 || (plan.rasterRows > 1 && (!sized || tilesM % plan.rasterRows))) {
                shortage.sweeps = true;
                continue;
              }
              countWork("candidates", 1);
              // Writes of turned blocks, and reads of what they wrote, may have bank conflicts.
              double bytesA = double(plan.blockM()) * c.a.along(plan.depth) * elementBytes,
                     bytesB = stageBytes - bytesA;
              double meetA = tiles.arrange(tileA, plan.a), meetB = tiles.arrange(tileB, plan.b);
              // An iteration once round the ring may hold the copies of all its steps, and addresses of those of one;
              // not where the order of loads and products is kept, and addresses are an offset each.
              plan.instructions = tiles.instructions(plan, tileA, tileB);
              double held = plan.registers;
              if (!plan.loadsAhead)
                held += plan.stages * staged + addressRegisters * plan.instructions.globalLoads;
              if (!engine && plan.stages > 1 && plan.lastApart && c.nest.tripCounts[plan.kDim] && held <= limit) {
                plan.round = plan.stages;
                plan.instructions = tiles.instructions(plan, tileA, tileB);
              }
              double issued = subgroups * plan.instructions.sum() / issueSlots;
              double reads = double(subgroups) * units * elementBytes *
                             (tm * loadedElements(unit.a) * meetA + tn * loadedElements(unit.b) * meetB);
              double written = bytesA * meetA + bytesB * meetB;
              double fetched = fetchedOnce(m, n, k, outerCount, plan, active, elementBytes, l2);
              StepLoad load;
              load.units = double(tm * tn) * units * unit.issue * subgroups / issueSlots * perUnit;
              load.issue = issued * perUnit;
              load.scratchpad = (reads + written) / shared->bytesPerClock * perUnit;
              load.l2 = l2 ? stageBytes * active / l2->bytesPerClock : 0;
              load.global = fetched / global->bytesPerClock;
              StepChain chain;
              // Fragments that are loaded ahead hide behind the products of those before: all but the first; where they
              // are loaded across steps that too. Then a block's subgroups stop for nothing but each other, so those
              // that share an issue slot have to be done in turn between two meetings.
              chain.products = double(tm * tn) * units * unit.issue;
              if (plan.across)
                chain.products *= std::max(1.0, subgroups / issueSlots);
              chain.across = plan.across;
              chain.product = unit.issue;
              chain.scratchpadRead = reads / subgroups / shared->bytesPerClock / (plan.loadsAhead ? units : 1);
              double byLanes = !engine ? written : heldA ? bytesA * meetA : heldB ? bytesB * meetB : 0;
              chain.scratchpadWrite = byLanes / subgroups / shared->bytesPerClock;
              chain.scratchpadLatency = shared->latency;
              chain.meets = byLanes > 0 && subgroups > 1;
              double missing = std::min(1.0, fetched / (stageBytes * active));
              chain.l2 = l2 ? double(stageBytes) / subgroups * hierarchy.blocks / l2->bytesPerClock : 0;
              chain.global = missing * stageBytes / subgroups * hierarchy.blocks / global->bytesPerClock;
              chain.memoryLatency = l2 ? l2->latency + missing * (global->latency - l2->latency) : global->latency;
              chain.ahead = byLanes > 0 ? plan.ahead() : std::max<int64_t>(1, plan.stages - 1);
              double waves = std::max(1.0, std::ceil(blocks / atATime));
              double stored = double(plan.blockM()) * plan.blockN() *
                              bytesTouched(results, tm * unit.m, tn * unit.n, hierarchy.sectorBytes);
              double epilogue = drainClocks(chip) + stored * active / (l2 ? l2 : global)->bytesPerClock +
                                exchange.clocks(*shared, issueSlots, perUnit);
              double hbm = clocksOfArrays(c, double(m) * n * outerCount, double(elementBytes), *global);
              auto secondsOf = [&](double clocksOfStep) {
                double clocks =
                    std::max(waves * (steps * otherKCount * clocksOfStep + epilogue), hbm) + launchClocks(chip);
                return clocks / (chip.clockMHz() * 1e6);
              };
              // Those that touch sectors once before others, then those that meet in no bank, then those whose
              // addresses of rows stay in registers.
              int rank = 4 * (tileA.fillsSectors() && tileB.fillsSectors()) + 2 * (meetA == 1 && meetB == 1) +
                         tiles.keepsRows(plan, plan.round * (tiles.shortLoads(tileA) + tiles.shortLoads(tileB)));
              if (!considered && ranking.isBeyond(secondsOf(load.most()), rank, slices > 1))
                continue;
              plan.stepClocks = stepClocks(load, chain);
              plan.seconds = secondsOf(plan.stepClocks);
              if (considered)
                considered->push_back(plan);
              // Of equal ones that which asks for the least beside a product.
              double beside = (load.issue + load.scratchpad + load.l2) /
                              (perUnit * double(plan.blockM()) * plan.blockN() * plan.depth);
              ranking.add(plan, rank, beside);
            }
  }
  std::optional<LaneContractionPlan> best = ranking.take();
  // Twice round the ring in an iteration where what the loop takes is what finds no room between products.
  if (best && best->loadsAhead && best->round > 1 && !hasRoomBeside(*best) &&
      int64_t(llvm::divideCeil(k, best->depth)) >= 4 * best->stages) {
    LaneContractionPlan twice = *best;
    twice.round *= 2;
    StagedOperand a = tiles.operand(twice, true), b = tiles.operand(twice, false);
    tiles.arrange(a, twice.a);
    tiles.arrange(b, twice.b);
    twice.instructions = tiles.instructions(twice, a, b);
    if (hasRoomBeside(twice))
      best = twice;
  }
  auto ring = planGroupUnits(question, chip, hierarchy, base, considered);
  if (ring && (!best || ring->seconds < best->seconds))
    return ring;
  if (!best) {
    if (!shortage.unit) {
      Contraction exchanged = c;
      std::swap(exchanged.a, exchanged.b);
      for (const MatrixUnit &unit : llvm::reverse(chip.units()))
        if (computesOnLanes(unit, exchanged, hierarchy, freedom))
          shortage.exchanged = unit.name;
    }
    reason = shortage.str(overrides, c.a.element.isF32(), shared->bytes);
    return std::nullopt;
  }

  for (bool isA : {true, false}) { // rows longer than modelled, where there is room
    StagedTile &tile = isA ? best->a : best->b;
    StagedOperand operand = tiles.operand(*best, isA);
    int64_t bytes = best->stages * operand.use.rows * tile.padding * elementBytes;
    if (best->sharedBytes + bytes > shared->bytes)
      tile.padding = bytes = 0;
    best->sharedBytes += bytes;
    best->blocksAtATime = std::min(best->blocksAtATime, shared->bytes / best->sharedBytes);
  }
  if (considered) {
    auto chosen = llvm::find_if(*considered, [&](const auto &each) { return each.cutsLike(*best); });
    *chosen = *best; // with the bytes of its arrangement, before others of the same time
    std::rotate(considered->begin(), chosen, std::next(chosen));
  }
  return best;
}

std::optional<LaneContractionPlan> tilewright::planLaneContraction(const LaneContractionQuestion &question,
                                                                   const TargetDescription &chip,
                                                                   const LaneHierarchy &hierarchy, std::string &reason,
                                                                   std::vector<LaneContractionPlan> *considered) {
  Stopwatch stopwatch("planning");
  auto plan = [&](std::string &why) { return fastestPlan(question, chip, hierarchy, why, considered); };
  if (considered)
    return plan(reason);
  PlanQuestion key(question.contraction, chip);
  key.add(int64_t(question.freedom.fast)).add(int64_t(question.freedom.mayReassociate)).add(question.overrides);
  key.add(question.unknownPitches).add(question.parts);
  for (const StoredResult &result : question.written())
    key.add(result.elementBytes).add(int64_t(result.alongN));
  return KnownPlans::get<LaneContractionPlan>(key, reason, plan);
}
