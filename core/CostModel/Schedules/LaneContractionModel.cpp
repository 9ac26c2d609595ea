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
#include "core/CostModel/Machine/LaneMemories.h"
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
    if (!liesOverLanes(*operand, hierarchy.lanes))
      return false;
  return unit.scopeLevel == hierarchy.subgroup && unit.scopeCount == 1 && unit.completion == Completion::AtOnce &&
         addsUpPlainly(unit) && takesElements(unit, c, freedom);
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
  const std::pair<StringRef, int64_t> own[] = {{"block_m", plan.blockM()},       {"block_n", plan.blockN()},
                                               {"block_k", plan.depth},          {"subgroups_m", plan.subgroupsM},
                                               {"subgroups_n", plan.subgroupsN}, {"subgroups_k", plan.subgroupsK},
                                               {"cluster", plan.cluster}};
  const std::optional<int64_t> group = forcedValue(overrides, "group");
  return (!group || isHeldBy(*plan.unit, *group)) && agree(overrides, own);
}

/// Bytes of k in the shortest step.
static constexpr int64_t shortestDepth = 32;
/// Stages of a ring: more of them hide no more latency.
static constexpr int64_t mostStages = 4;

namespace {

/// Registers of a lane for one fragment of each operand of a unit, with its scales and index, and for its accumulators.
struct FragmentRegisters {
  explicit FragmentRegisters(const MatrixUnit &unit) : accumulators(of(unit.c)), a(of(unit.a)), b(of(unit.b)) {
    if (unit.scales && unit.scales->hasA())
      a += beside(unit.scales->a);
    if (unit.scales && unit.scales->hasB())
      b += beside(unit.scales->b);
    if (unit.sparsity)
      a += beside(unit.sparsity->index);
  }
  int64_t accumulators, a, b;

private:
  static int64_t bits(const UnitOperand &operand) { return operand.layout.numElements() * bitWidth(operand.element); }
  static int64_t of(const UnitOperand &operand) { return std::max<int64_t>(1, bits(operand) / 32); }
  static int64_t beside(const UnitOperand &operand) { return int64_t(llvm::divideCeil(bits(operand), 32)); }
};

/// A plan that is looked at, and what follows from it on the way to its time.
struct Candidate {
  LaneContractionPlan plan;
  StagedOperand a, b;                // tiles of a stage
  bool heldA = false, heldB = false; // they pass through registers
  bool engine = false;               // it copies what does not
  int64_t stageBytes = 0;
  int64_t units = 1, steps = 1;          // along k: of a subgroup in a step, of the loop
  int64_t staged = 0, limit = 0;         // registers: of tiles that wait between two memories, of a lane
  SliceExchange exchange = {};           // at the end
  BlockWaves grid = {1, 1, 1};           // blocks of the launch
  double conflictsA = 1, conflictsB = 1; // how many times the clocks without bank conflicts accesses take
  double reads = 0, written = 0;         // bytes of a block's step in the scratchpad, with their conflicts
  double byLanes = 0;                    // of those written
  double fetched = 0;                    // bytes of a step of all active blocks from global memory

  /// Clocks of a subgroup's products of a step.
  double products() const { return double(plan.tilesM * plan.tilesN) * units * plan.unit->issue; }
};

/// All plans of a contraction on units of one subgroup.
class LanePlanner : LaneMemories {
public:
  /// The chip has all memories that `missingMemories` asks for; `base` has the dimensions. `considered` may be null.
  LanePlanner(const LaneContractionQuestion &question, const TargetDescription &chip, const LaneHierarchy &hierarchy,
              const LaneContractionPlan &base, std::vector<LaneContractionPlan> *considered);

  /// The fastest one, not padded yet; nullopt: there is none.
  std::optional<LaneContractionPlan> fastest();
  /// Why there is none.
  std::string refusal();
  /// Rows longer than modelled, where there is room.
  void pad(LaneContractionPlan &plan);

private:
  struct StepSize {
    int64_t bytes, stages, slices; // bytes of k; the most stages; slices of a stage's k
  };
  void consider(const MatrixUnit &unit);
  bool isCut(const LaneContractionPlan &plan, const StepSize &size);
  Candidate candidateOf(const LaneContractionPlan &plan);
  bool fitsRegisters(Candidate &candidate, const FragmentRegisters &fragments);
  bool fitsScratchpad(Candidate &candidate, int64_t mostStages);
  bool orderTiles(Candidate &candidate);
  void arrange(Candidate &candidate);
  void countBytes(Candidate &candidate) const;
  StepLoad loadOf(const Candidate &candidate) const;
  StepChain chainOf(const Candidate &candidate) const;
  void price(Candidate &candidate);
  LaneContractionPlan unrolled(const LaneContractionPlan &plan);

  const std::optional<int64_t> &trips(unsigned dim) const { return c.nest.tripCounts[dim]; }

  const LaneContractionQuestion &question;
  const Contraction &c;
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  const LaneContractionPlan &base;
  std::vector<LaneContractionPlan> *considered;
  const SmallVector<StoredResult> results;
  StagedTiles tiles;
  const int64_t elementBytes;
  const double issueSlots;
  const int64_t resident; // lanes of a multiprocessor
  const ContractionExtents extents;
  const double arrayClocks;                // until all arrays have been moved once
  const bool bySubgroup;                   // subgroups copy asynchronously, past their registers
  bool inFreeA, inFreeB;                   // rows of the arrays lie along m and n
  const std::optional<int64_t> forcedRows; // of tiles of a group
  SmallVector<StepSize> sizes;
  PlanRanking ranking;
  PlanShortage shortage;
};

} // namespace

LanePlanner::LanePlanner(const LaneContractionQuestion &question, const TargetDescription &chip,
                         const LaneHierarchy &hierarchy, const LaneContractionPlan &base,
                         std::vector<LaneContractionPlan> *considered)
    : LaneMemories(chip, hierarchy), question(question), c(question.contraction), chip(chip), hierarchy(hierarchy),
      base(base), considered(considered), results(question.written()), tiles(c, chip, hierarchy),
      elementBytes(tiles.elementBytes()), issueSlots(chip.number(Number::Issue).value_or(1)),
      resident(residentLanes(chip)), extents(c, base, question.parts),
      arrayClocks(clocksOfArrays(c, double(extents.m) * extents.n * double(extents.outer), elementBytes, *global)),
      bySubgroup(subgroupEngine(chip) && !tiles.engine()),
      forcedRows(forcedValue(question.overrides, "rasterisation_rows")) {
  auto isInFree = [&](const ContractionOperand &operand, unsigned freeDim) {
    return isContiguousAlong(operand.access, freeDim) && !isContiguousAlong(operand.access, base.kDim);
  };
  inFreeA = isInFree(c.a, base.mDim);
  inFreeB = isInFree(c.b, base.nDim);
  // As many stages as fit, but where a subgroup copies past its registers each number is looked at, since more stages
  // may leave room for fewer blocks.
  for (int64_t bytes : {shortestDepth, int64_t(64), int64_t(128)})
    for (int64_t stages = bySubgroup ? 2 : mostStages; stages <= mostStages; ++stages)
      for (int64_t slices : {1, 2, 4})
        sizes.push_back({bytes, stages, slices});
}

/// Whether tiles of this size are looked at.
bool LanePlanner::isCut(const LaneContractionPlan &plan, const StepSize &size) {
  const MatrixUnit &unit = *plan.unit;
  if (plan.sliceDepth() < unit.k || plan.sliceDepth() % unit.k != 0 || plan.subgroups() > hierarchy.subgroups ||
      !llvm::isPowerOf2_64(plan.blockM()) || !llvm::isPowerOf2_64(plan.blockN()))
    return false;
  if (!agrees(plan, question.overrides))
    return false;
  shortage.tile = true;
  // No tile of which more than half is beyond the array, unless it is the smallest.
  if (isHalfBeyond(plan.blockM(), extents.m, unit.m) || isHalfBeyond(plan.blockN(), extents.n, unit.n) ||
      (size.bytes > shortestDepth && isHalfBeyond(plan.depth, extents.k, unit.k)))
    return false;
  // Rows of a tile fill sectors of global memory, unless the array's own are shorter.
  auto fills = [&](bool inFree, int64_t rows, int64_t extent) {
    return !inFree || rows * elementBytes >= std::min(hierarchy.sectorBytes, extent * elementBytes);
  };
  return fills(inFreeA, plan.blockM(), extents.m) && fills(inFreeB, plan.blockN(), extents.n);
}

Candidate LanePlanner::candidateOf(const LaneContractionPlan &cut) {
  Candidate candidate{cut, {}, {}};
  LaneContractionPlan &plan = candidate.plan;
  candidate.units = plan.sliceDepth() / plan.unit->k;
  candidate.steps = llvm::divideCeil(extents.k, plan.depth);
  candidate.stageBytes = (plan.blockM() * c.a.along(plan.depth) + plan.blockN() * plan.depth) * elementBytes;
  // Products of one lane each would move from behind the loop into the branches that check stores of C, and all
  // fragments would live until then.
  auto whole = [&](unsigned dim, int64_t block) { return trips(dim) && *trips(dim) % block == 0; };
  plan.lastApart = plan.unit->k > 1 || (whole(plan.mDim, plan.blockM()) && whole(plan.nDim, plan.blockN()));
  candidate.a = tiles.operand(plan, true);
  candidate.b = tiles.operand(plan, false);
  // Operands that pass through registers run ahead by one step, and need no more stages.
  candidate.heldA = tiles.held(candidate.a);
  candidate.heldB = tiles.held(candidate.b);
  candidate.engine = tiles.engine() && !(candidate.heldA && candidate.heldB);
  candidate.staged = tiles.heldRegisters(candidate.a) + tiles.heldRegisters(candidate.b);
  return candidate;
}

/// Counts the registers of a lane, and chooses whether loads of fragments keep their order.
bool LanePlanner::fitsRegisters(Candidate &candidate, const FragmentRegisters &fragments) {
  LaneContractionPlan &plan = candidate.plan;
  const int64_t units = candidate.units;
  const int64_t sums = plan.tilesM * plan.tilesN * fragments.accumulators;
  const int64_t eachK = plan.tilesM * fragments.a + plan.tilesN * fragments.b;
  plan.registers = sums + 2 * eachK + candidate.staged + otherRegisters +
                   widenedRegisters(*plan.unit, chip, units, eachK, fragments.accumulators);
  const int64_t limit = registersOfLane(chip, sums, plan.subgroups() * hierarchy.lanes);
  candidate.limit = limit;
  // Where sums fill a half of their own, compilers cannot move anything there.
  const bool isWhole = trips(plan.kDim) && extents.k % plan.depth == 0, isFilled = limit > own->entries;
  const int64_t atEnd =
      tiles.endRegisters(candidate.a, isWhole, isFilled) + tiles.endRegisters(candidate.b, isWhole, isFilled);
  int64_t behind = sums + otherRegisters;
  if (question.unknownPitches > 1 && plan.tilesN > 1)
    behind += 2 * (question.unknownPitches - 1) * plan.tilesM * rowsOfLane(plan.unit->c.layout);
  for (int64_t needed : {plan.registers + atEnd, behind})
    if (needed > limit) {
      shortage.lacksRegisters(needed, limit);
      return false;
    }
  // Compilers load ahead as far as a barrier lets them.
  const int64_t allAhead = plan.registers + (units - 2) * eachK;
  plan.keepsOrder = !plan.loadsAhead && allAhead > limit;
  if (!plan.lastApart && plan.keepsOrder && candidate.steps == 1 && trips(plan.kDim)) {
    shortage.lacksRegisters(allAhead, limit); // there is no loop
    return false;
  }
  return true;
}

/// Chooses the stages, and counts the blocks that a multiprocessor holds.
bool LanePlanner::fitsScratchpad(Candidate &candidate, int64_t most) {
  LaneContractionPlan &plan = candidate.plan;
  const bool isOneSum = plan.otherK.empty();
  plan.across = plan.loadsAhead && !candidate.engine && isOneSum && trips(plan.kDim);
  const bool longer = plan.across && candidate.a.direct && candidate.b.direct && most <= candidate.steps;
  if (bySubgroup && most > 2 && !longer)
    return false;
  plan.stages = !isOneSum          ? 1
                : candidate.engine ? std::min(most, std::max<int64_t>(2, candidate.steps))
                : longer           ? most
                                   : 2;
  while (plan.stages > (bySubgroup ? most : 1) && plan.stages * candidate.stageBytes > shared->bytes)
    --plan.stages;
  plan.sharedBytes = plan.stages * candidate.stageBytes;
  if (plan.sharedBytes > shared->bytes || (plan.stages < 2 && isOneSum)) {
    shortage.lacksBytes((isOneSum ? 2 : 1) * candidate.stageBytes);
    return false;
  }
  candidate.exchange = planSliceExchange(plan);
  plan.unitsExchanged = candidate.exchange.units;
  plan.sharedBytes = std::max(plan.sharedBytes, candidate.exchange.bytes);
  if (plan.sharedBytes > shared->bytes) {
    shortage.lacksBytes(candidate.exchange.bytes);
    return false;
  }
  plan.blocksAtATime = blocksAtATime(*shared, plan.sharedBytes,
                                     blocksInRegisters(chip, plan.registers, hierarchy.lanes, plan.subgroups()),
                                     plan.subgroups() * hierarchy.lanes, resident);
  return true;
}

/// Counts the blocks, and chooses the rows of tiles of a group; false where the forced ones suit no such tiles.
bool LanePlanner::orderTiles(Candidate &candidate) {
  LaneContractionPlan &plan = candidate.plan;
  const int64_t tilesM = llvm::divideCeil(extents.m, plan.blockM()),
                tilesN = llvm::divideCeil(extents.n, plan.blockN());
  candidate.grid = {double(extents.outer) * tilesM * tilesN, hierarchy.blocks, plan.blocksAtATime};
  const bool isSized = trips(plan.mDim) && trips(plan.nDim);
  if (forcedRows || (isSized && candidate.grid.active < double(tilesM) * tilesN))
    plan.rasterRows =
        forcedRows.value_or(rasterRows(tilesM, tilesN, int64_t(candidate.grid.active), plan.blockM(), plan.blockN()));
  if (plan.rasterRows < 1 || (plan.rasterRows > 1 && (!isSized || tilesM % plan.rasterRows))) {
    shortage.sweeps = true;
    return false;
  }
  return true;
}

/// Arranges the tiles over banks, and counts the instructions of a step.
void LanePlanner::arrange(Candidate &candidate) {
  LaneContractionPlan &plan = candidate.plan;
  candidate.conflictsA = tiles.arrange(candidate.a, plan.a);
  candidate.conflictsB = tiles.arrange(candidate.b, plan.b);
  // An iteration once round the ring may hold the copies of all its steps, and addresses of those of one; not where the
  // order of loads and products is kept, and addresses are an offset each.
  plan.instructions = tiles.instructions(plan, candidate.a, candidate.b);
  double held = plan.registers;
  if (!plan.loadsAhead)
    held += plan.stages * candidate.staged + addressRegisters * plan.instructions.globalLoads;
  if (!candidate.engine && plan.stages > 1 && plan.lastApart && trips(plan.kDim) && held <= candidate.limit) {
    plan.round = plan.stages;
    plan.instructions = tiles.instructions(plan, candidate.a, candidate.b);
  }
}

/// Counts what a step moves.
void LanePlanner::countBytes(Candidate &candidate) const {
  const LaneContractionPlan &plan = candidate.plan;
  const MatrixUnit &unit = *plan.unit;
  const double ofA = double(plan.blockM()) * c.a.along(plan.depth) * elementBytes, ofB = candidate.stageBytes - ofA;
  const double writtenA = ofA * candidate.conflictsA, writtenB = ofB * candidate.conflictsB;
  candidate.reads = double(plan.subgroups()) * candidate.units * elementBytes *
                    (plan.tilesM * loadedElements(unit.a) * candidate.conflictsA +
                     plan.tilesN * loadedElements(unit.b) * candidate.conflictsB);
  candidate.written = writtenA + writtenB;
  candidate.byLanes = !candidate.engine ? candidate.written
                      : candidate.heldA ? writtenA
                      : candidate.heldB ? writtenB
                                        : 0;
  candidate.fetched = fetchedOnce(extents.m, extents.n, extents.k, double(extents.outer), plan, candidate.grid.active,
                                  elementBytes, l2);
}

StepLoad LanePlanner::loadOf(const Candidate &candidate) const {
  const LaneContractionPlan &plan = candidate.plan;
  const double subgroups = double(plan.subgroups()), perUnit = candidate.grid.fullest;
  StepLoad load;
  load.units = candidate.products() * subgroups / issueSlots * perUnit;
  load.issue = subgroups * plan.instructions.sum() / issueSlots * perUnit;
  load.scratchpad = (candidate.reads + candidate.written) / shared->bytesPerClock * perUnit;
  load.l2 = l2 ? candidate.stageBytes * candidate.grid.active / l2->bytesPerClock : 0;
  load.global = candidate.fetched / global->bytesPerClock;
  return load;
}

/// What waits for each other in a step.
StepChain LanePlanner::chainOf(const Candidate &candidate) const {
  const LaneContractionPlan &plan = candidate.plan;
  const double subgroups = double(plan.subgroups()), stageBytes = double(candidate.stageBytes);
  StepChain chain;
  // Fragments that are loaded ahead hide behind the products of those before: all but the first; where they are loaded
  // across steps that too. Then a block's subgroups stop for nothing but each other, so those that share an issue slot
  // have to be done in turn between two barriers.
  chain.products = candidate.products();
  if (plan.across)
    chain.products *= std::max(1.0, subgroups / issueSlots);
  chain.across = plan.across;
  chain.product = plan.unit->issue;
  chain.scratchpadRead = candidate.reads / subgroups / shared->bytesPerClock / (plan.loadsAhead ? candidate.units : 1);
  chain.scratchpadWrite = candidate.byLanes / subgroups / shared->bytesPerClock;
  chain.scratchpadLatency = shared->latency;
  chain.meets = candidate.byLanes > 0 && subgroups > 1;
  const double missing = std::min(1.0, candidate.fetched / (stageBytes * candidate.grid.active));
  chain.l2 = l2 ? stageBytes / subgroups * hierarchy.blocks / l2->bytesPerClock : 0;
  chain.global = missing * stageBytes / subgroups * hierarchy.blocks / global->bytesPerClock;
  chain.memoryLatency = l2 ? l2->latency + missing * (global->latency - l2->latency) : global->latency;
  chain.ahead = candidate.byLanes > 0 ? plan.ahead() : std::max<int64_t>(1, plan.stages - 1);
  return chain;
}

/// Gives the plan its time, unless it cannot be the fastest, and ranks it.
void LanePlanner::price(Candidate &candidate) {
  LaneContractionPlan &plan = candidate.plan;
  const MatrixUnit &unit = *plan.unit;
  countBytes(candidate);
  const StepLoad load = loadOf(candidate);
  const double stored = double(plan.blockM()) * plan.blockN() *
                        bytesTouched(results, plan.tilesM * unit.m, plan.tilesN * unit.n, hierarchy.sectorBytes);
  const double epilogue = drainClocks(chip) + stored * candidate.grid.active / near().bytesPerClock +
                          candidate.exchange.clocks(*shared, issueSlots, candidate.grid.fullest);
  auto secondsWith = [&](double clocksOfStep) {
    const double steps = candidate.steps * double(extents.otherK);
    return secondsOf(candidate.grid.clocks(steps * clocksOfStep + epilogue, arrayClocks, chip), chip);
  };
  // Those that touch sectors once before others, then those without bank conflicts, then those whose addresses of rows
  // stay in registers.
  const StagedOperand &a = candidate.a, &b = candidate.b;
  const int rank = 4 * (a.fillsSectors() && b.fillsSectors()) +
                   2 * (candidate.conflictsA == 1 && candidate.conflictsB == 1) +
                   tiles.keepsRows(plan, plan.round * (tiles.shortLoads(a) + tiles.shortLoads(b)));
  if (!considered && ranking.isBeyond(secondsWith(load.most()), rank, plan.subgroupsK > 1))
    return;
  plan.stepClocks = stepClocks(load, chainOf(candidate));
  plan.seconds = secondsWith(plan.stepClocks);
  if (considered)
    considered->push_back(plan);
  // Of equal ones that which asks for the least beside a product.
  const double beside = (load.issue + load.scratchpad + load.l2) /
                        (candidate.grid.fullest * double(plan.blockM()) * plan.blockN() * plan.depth);
  ranking.add(plan, rank, beside);
}

/// Looks at all plans on `unit`.
void LanePlanner::consider(const MatrixUnit &unit) {
  if (!computesOnLanes(unit, c, hierarchy, question.freedom)) {
    if (shortage.together.empty() &&
        computesOnLanes(unit, c, hierarchy, {question.freedom.fast, /*mayReassociate=*/true}))
      shortage.together = unit.name;
    return;
  }
  shortage.unit = true;
  const bool isSliced = maySlice(unit, c, question.freedom);
  const FragmentRegisters fragments(unit);
  LaneContractionPlan plan = base;
  plan.unit = &unit;
  plan.loadsAhead = chip.number(Number::FragmentWaits).has_value() && unit.k > 1;
  auto look = [&](const StepSize &size) {
    plan.subgroupsK = size.slices;
    plan.depth = size.bytes / elementBytes;
    if ((size.slices > 1 && !isSliced) || !isCut(plan, size))
      return;
    Candidate candidate = candidateOf(plan);
    if (!fitsRegisters(candidate, fragments) || !fitsScratchpad(candidate, size.stages) || !orderTiles(candidate))
      return;
    countWork("candidates", 1);
    arrange(candidate);
    price(candidate);
  };
  for (int64_t sm : {1, 2, 4})
    for (int64_t sn : {1, 2, 4})
      for (int64_t tm : {1, 2, 4, 8})
        for (int64_t tn : {1, 2, 4, 8}) {
          std::tie(plan.subgroupsM, plan.subgroupsN, plan.tilesM, plan.tilesN) = std::tuple(sm, sn, tm, tn);
          llvm::for_each(sizes, look);
        }
}

/// `plan` with twice as many steps in an iteration where what the loop takes is what finds no room between products.
LaneContractionPlan LanePlanner::unrolled(const LaneContractionPlan &plan) {
  if (!plan.loadsAhead || plan.round <= 1 || hasRoomBeside(plan) ||
      int64_t(llvm::divideCeil(extents.k, plan.depth)) < 4 * plan.stages)
    return plan;
  LaneContractionPlan twice = plan;
  twice.round *= 2;
  StagedOperand a = tiles.operand(twice, true), b = tiles.operand(twice, false);
  tiles.arrange(a, twice.a);
  tiles.arrange(b, twice.b);
  twice.instructions = tiles.instructions(twice, a, b);
  return hasRoomBeside(twice) ? twice : plan;
}

std::optional<LaneContractionPlan> LanePlanner::fastest() {
  for (const MatrixUnit &unit : chip.units())
    consider(unit);
  std::optional<LaneContractionPlan> best = ranking.take();
  return best ? unrolled(*best) : best;
}

std::string LanePlanner::refusal() {
  if (!shortage.unit) {
    Contraction exchanged = c;
    std::swap(exchanged.a, exchanged.b);
    for (const MatrixUnit &unit : llvm::reverse(chip.units()))
      if (computesOnLanes(unit, exchanged, hierarchy, question.freedom))
        shortage.exchanged = unit.name;
  }
  return shortage.str(question.overrides, c.a.element.isF32(), shared->bytes);
}

void LanePlanner::pad(LaneContractionPlan &plan) {
  for (bool isA : {true, false}) {
    StagedTile &tile = isA ? plan.a : plan.b;
    StagedOperand operand = tiles.operand(plan, isA);
    int64_t bytes = plan.stages * operand.use.rows * tile.padding * elementBytes;
    if (plan.sharedBytes + bytes > shared->bytes)
      tile.padding = bytes = 0;
    plan.sharedBytes += bytes;
    plan.blocksAtATime = std::min(plan.blocksAtATime, shared->bytes / plan.sharedBytes);
  }
}

/// Which memories the chip lacks for lanes that multiply; empty: none.
static std::string missingMemories(const TargetDescription &chip, const LaneHierarchy &hierarchy) {
  const LaneMemories memories(chip, hierarchy);
  SmallVector<StringRef> lacks;
  for (auto [there, what] :
       {std::pair(memories.shared, "a scratchpad of blocks"),
        std::pair(memories.file, "a file of registers that lanes share out (RegisterPool)"),
        std::pair(memories.own, "a file of a lane's registers"), std::pair(memories.global, "a backing memory")})
    if (!there)
      lacks.push_back(what);
  return llvm::join(lacks, ", ");
}

/// `considered` may be null.
static std::optional<LaneContractionPlan> fastestPlan(const LaneContractionQuestion &question,
                                                      const TargetDescription &chip, const LaneHierarchy &hierarchy,
                                                      std::string &reason,
                                                      std::vector<LaneContractionPlan> *considered) {
  const Contraction &c = question.contraction;
  if (std::string lacks = missingMemories(chip, hierarchy); !lacks.empty()) {
    reason = "the chip's description lacks " + lacks;
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
  LanePlanner planner(question, chip, hierarchy, base, considered);
  std::optional<LaneContractionPlan> best = planner.fastest();
  auto ring = planGroupUnits(question, chip, hierarchy, base, considered);
  if (ring && (!best || ring->seconds < best->seconds))
    return ring;
  if (!best) {
    reason = planner.refusal();
    return std::nullopt;
  }
  planner.pad(*best);
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
