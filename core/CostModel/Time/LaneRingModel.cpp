//===- LaneRingModel.cpp - Units of a group of subgroups, fed by an engine -===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans where matrices stay in the scratchpad: an engine copies tiles of A and B
/// into a multi-stage buffer, one role of the block starts the copies, the groups
/// multiply.
///
///   a stage      BM + BN lines of 128 bytes (of k), or lines of the free dimension, BK of them for each 128 bytes,
///                and images of scales (ScaleStaging.h); of a sparse A shorter lines, and its places or their images
///   a step       max(units: W TM BK/k issue and copies of scales, lanes: places of a sparse A made words of registers,
///                    scratchpad: writes and each unit's reads, L2: bytes of all blocks,
///                of B only a part for each block of a cluster)
///   time         ceil(tiles / multiprocessors) x (steps x step + epilogue) + latency of the engine + launch
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Copies/ElementPacking.h"
#include "core/CostModel/Copies/ScaleStaging.h"
#include "core/CostModel/Copies/StagedTiles.h"
#include "core/CostModel/Copies/TileOrder.h"
#include "core/CostModel/Machine/BankClocks.h"
#include "core/CostModel/Machine/LaneMemories.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Machine/PackedElements.h"
#include "core/Machine/ScaleImage.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tilewright;

namespace {
/// Bytes of a line: the widest swizzle. Those of a sparse A are shorter, by the part that it keeps.
constexpr int64_t lineBytes = 128;
/// Stages beyond which none is waited for any more.
constexpr int64_t mostStages = 8;
/// Rows or columns of C that a block's tile has at most.
constexpr int64_t largestTile = 256;
/// Accumulators of a memory of the block that a lane holds at a time: a line of 32-bit results, before and after what
/// is done with it.
constexpr int64_t accumulatorsRead = 64;
} // namespace

std::optional<bool> tilewright::engineLinesAlongK(const ContractionOperand &operand, unsigned free, unsigned k,
                                                  const CopyEngine &engine) {
  const Access &access = operand.access;
  const int64_t elementBytes = tilewright::elementBytes(operand.element);
  auto type = cast<MemRefType>(access.memref.getType());
  int64_t rank = type.getRank();
  Value array = access.memref;
  if (auto joined = array.getDefiningOp<memref::CollapseShapeOp>();
      joined && joined.getSrcType().getLayout().isIdentity())
    array = joined.getSrc();
  if (!type.getLayout().isIdentity() || rank < 2 || rank > engine.maxRank ||
      !(isa<BlockArgument>(array) || array.getDefiningOp<memref::AllocOp>()))
    return std::nullopt;
  // Coordinates of tiles have 32 bits.
  if (llvm::any_of(type.getShape(),
                   [](int64_t size) { return !ShapedType::isDynamic(size) && !llvm::isInt<32>(size); }))
    return std::nullopt;
  int freePlace = -1, kPlace = -1;
  for (auto [place, result] : llvm::enumerate(access.map.getResults()))
    for (auto [dim, found] : {std::pair(free, &freePlace), {k, &kPlace}}) {
      if (!result.isFunctionOfDim(dim))
        continue;
      if (*found >= 0 || linearCoefficient(result, dim) != 1)
        return std::nullopt;
      *found = place;
    }
  if (freePlace < 0 || kPlace < 0 || freePlace == kPlace || (freePlace != rank - 1 && kPlace != rank - 1))
    return std::nullopt;
  // Rows begin at multiples of what the engine needs.
  int64_t pitch = elementBytes;
  for (int64_t d = rank - 1; d > 0; --d) {
    if (type.isDynamicDim(d))
      return std::nullopt;
    pitch *= type.getDimSize(d);
    if (pitch % engine.alignBytes)
      return std::nullopt;
  }
  return kPlace == rank - 1;
}

/// How the engine can cut tiles out of an operand: lines along k or along `free`; nullopt: it cannot. `depth`: BK.
static std::optional<bool> linesAlongK(const Contraction &c, const ContractionOperand &operand, unsigned free,
                                       unsigned k, const CopyEngine &engine, int64_t depth) {
  std::optional<bool> alongK = engineLinesAlongK(operand, free, k, engine);
  if (!alongK)
    return std::nullopt;
  const Access &access = operand.access;
  auto type = cast<MemRefType>(access.memref.getType());
  auto placeOf = [&](unsigned dim) {
    return llvm::find_if(access.map.getResults(), [&](AffineExpr each) { return each.isFunctionOfDim(dim); }) -
           access.map.getResults().begin();
  };
  // Tiles end where the iterations end: those are one range of the array that the launch knows, or no tile goes beyond.
  for (unsigned dim : {free, k}) {
    const auto place = placeOf(dim);
    std::optional<int64_t> extent = c.nest.tripCounts[dim];
    AffineExpr start = simplifyAffineExpr(access.map.getResult(place) - getAffineDimExpr(dim, type.getContext()),
                                          access.map.getNumDims(), access.map.getNumSymbols());
    bool isRange = isa<AffineConstantExpr>(start);
    if (!extent) {
      affine::AffineForOp loop = Nest(c.nest).loops[dim];
      AffineMap bound = loop.getUpperBoundMap();
      Value size = loop.getUpperBoundOperands().size() == 1 ? loop.getUpperBoundOperands()[0] : Value();
      isRange &= size && bound.getNumResults() == 1 && isa<AffineDimExpr, AffineSymbolExpr>(bound.getResult(0)) &&
                 (isa<BlockArgument>(size) || size.getDefiningOp<memref::DimOp>());
    }
    isRange &= !llvm::is_contained(operand.bounded, unsigned(place)); // ends where the array does
    if (!isRange && (!extent || *extent % (dim == k ? depth : largestTile)))
      return std::nullopt;
  }
  return alongK;
}

int64_t tilewright::groupRegisters(const TargetDescription &chip, int64_t groupLanes, int64_t groups) {
  const Memory *file = chip.graph().registerPool(), *own = chip.graph().laneRegisters();
  const int64_t step = std::max<int64_t>(1, int64_t(chip.number(Number::RegisterStep).value_or(1)));
  // Only what the block has been given when it starts goes from one group to another: the same for each lane.
  const int64_t atStart = std::min(file->entries / (groupLanes * (groups + 1)), own->entries + 1) / step * step;
  const int64_t share = (atStart * (groups + 1) - copierRegisters) / groups;
  return std::min(share, own->entries) / step * step;
}

namespace {
/// How the lines of both operands lie that a unit reads.
struct UnitLines {
  int64_t depth = 0; // elements along k that a line of lineBytes has room for
  bool aInK = true, bInK = true;
  int64_t ofA = lineBytes, ofB = lineBytes; // bytes of a line
  int64_t places = 0;                       // bytes of those of a sparse A beside each of its lines
};
} // namespace

/// Whether the places of a sparse A lie in an array of which `engine` cuts tiles like those of A, whole `packBytes` of
/// a step of `depth`.
static bool canStageIndex(const Contraction &c, const LaneContractionPlan &base, const CopyEngine &engine,
                          int64_t depth) {
  ContractionOperand places = c.a;
  places.access = c.a.index->access;
  places.element = IntegerType::get(places.element.getContext(), 8);
  return linesAlongK(c, places, base.mDim, base.kDim, engine, depth) == true && c.a.along(depth) % packBytes == 0;
}

namespace {
/// What the places of a sparse A take of lanes for one instruction, where they lie in rows of `rowBytes`; nothing
/// without.
struct LanePlaces {
  LanePlaces(const MatrixUnit &unit, const Contraction &c, const LaneContractionPlan &base, int64_t rowBytes,
             const TargetDescription &chip, const LaneHierarchy &hierarchy) {
    if (!unit.sparsity || findsIndexInBlock(unit))
      return;
    const Layout &layout = unit.sparsity->index.layout;
    registers = int64_t(llvm::divideCeil(layout.numElements(), sizeof(uint32_t)));
    const IndexInstructions instructions(unit, c, base.kDim);
    issue =
        double(unit.scopeCount) * (instructions.loads + instructions.packs) / chip.number(Number::Issue).value_or(1);
    // Subgroups read other rows in the same way.
    const auto together = int64_t(double(layout.numElements()) / instructions.loads);
    for (int64_t first = 0; first < layout.numElements(); first += together) {
      SmallVector<int64_t> addresses;
      for (int64_t lane = 0; lane < hierarchy.lanes; ++lane) {
        const Position place = layout.at(lane, first);
        addresses.push_back(place.row * rowBytes + place.col);
      }
      banks += double(unit.scopeCount * bankClocks(addresses, together, *chip.memory(hierarchy.scratchpad)).taken);
    }
  }
  int64_t registers = 0; // of a lane
  double issue = 0;      // clocks of the issue slots, of all subgroups of the group
  double banks = 0;      // clocks of the scratchpad
};
} // namespace

/// How lines of the tiles of `c` lie for `unit`, which takes its elements: as the engine cuts them out of the arrays of
/// the program, or out of those that a launch packs. Nullopt: they do not, or not where the unit reads them.
static std::optional<UnitLines> linesOf(const MatrixUnit &unit, const Contraction &c, const LaneContractionPlan &base,
                                        const LaneHierarchy &hierarchy, const CopyEngine &engine) {
  UnitLines lines;
  for (bool isA : {true, false}) {
    const UnitOperand &slot = isA ? unit.a : unit.b;
    const int64_t packed = packedElements(slot), depth = lineBytes / packBytes * packed;
    const int64_t own = packed ? depth : lineBytes / scratchpadBytes(slot, 1);
    if ((!isA && own != lines.depth) || own % unit.k != 0)
      return std::nullopt;
    lines.depth = own;
    if (isA && c.a.index) {
      lines.ofA = lineBytes * c.a.index->kept / c.a.index->group;
      const bool byLanes = !findsIndexInBlock(unit);
      lines.places = byLanes ? c.a.along(own) : 0;
      if (packed || (byLanes && !canStageIndex(c, base, engine, own)))
        return std::nullopt;
    }
    std::optional<bool> alongK = true;
    if (!packed)
      alongK = linesAlongK(c, isA ? c.a : c.b, isA ? base.mDim : base.nDim, base.kDim, engine, own);
    else if (!canPack(base, c, isA, packed, engine))
      return std::nullopt;
    if (!alongK || !liesIn(slot, hierarchy.scratchpad) ||
        !llvm::is_contained(slot.majors, *alongK == isA ? "row" : "column") ||
        !llvm::is_contained(slot.arrangements, "swizzle." + std::to_string(isA ? lines.ofA : lines.ofB)))
      return std::nullopt;
    (isA ? lines.aInK : lines.bInK) = *alongK;
  }
  const int64_t line = lines.depth;
  if ((!lines.bInK && unit.n % line) || (!lines.aInK && unit.m % line))
    return std::nullopt;
  return lines;
}

/// Whether the unit adds up where lanes can read it: in the registers of a group of subgroups that issues it, or in a
/// memory of the block, of which one lane issues it and an engine brings the words of a row into its lane's registers.
static bool accumulatorsReachLanes(const MatrixUnit &unit, const TargetDescription &chip,
                                   const LaneHierarchy &hierarchy) {
  if (!accumulatesInBlock(unit))
    return liesOverLanes(unit.c, unit.scopeCount * hierarchy.lanes) && unit.scopeLevel == hierarchy.subgroup &&
           unit.completion == Completion::WaitGroup;
  const MachineGraph &graph = chip.graph();
  const Memory *memory = graph.named(unit.c.memory), *own = graph.laneRegisters();
  return memory && own && memory->level == hierarchy.block && accumulatorEntries(*memory, 1) &&
         !graph.ways(*memory, *own).empty() && unit.scopeLevel.empty() && unit.completion == Completion::Barrier &&
         unit.init == UnitInit::ZeroFlag;
}

namespace {
/// All plans of a contraction on units of a group of subgroups, fed by `engine`.
class GroupPlanner : LaneMemories {
public:
  /// The chip has all memories of lanes; `base` has the dimensions. `considered` may be null.
  GroupPlanner(const LaneContractionQuestion &question, const TargetDescription &chip, const LaneHierarchy &hierarchy,
               const LaneContractionPlan &base, const CopyEngine &engine, std::vector<LaneContractionPlan> *considered)
      : LaneMemories(chip, hierarchy), question(question), c(question.contraction), chip(chip), hierarchy(hierarchy),
        base(base), engine(engine), size(c, base, question.parts), search(considered) {}
  std::optional<LaneContractionPlan> fastest();

private:
  struct Candidate {
    const MatrixUnit *unit;
    UnitLines lines;
    LanePlaces places;
    const Memory *inBlock; // in which it adds up; null: registers
    int64_t accumulators;  // registers or entries of a unit's C
  };
  bool computes(const MatrixUnit &unit) const {
    return readsScratchpad(unit) && accumulatorsReachLanes(unit, chip, hierarchy) && addsUpPlainly(unit) &&
           (!unit.scales || findsScalesInBlock(unit)) &&
           takesElements(unit, c, {/*fast=*/false, question.freedom.mayReassociate});
  }
  int64_t atMost(StringRef field, int64_t most) const {
    return std::min(most, forcedValue(question.overrides, field).value_or(most));
  }
  LaneContractionPlan planOf(const Candidate &candidate, int64_t cluster, int64_t groups, int64_t tilesM) const;
  int64_t stageBytesOf(const LaneContractionPlan &plan, const Candidate &of, const ScaleStaging &scales) const {
    return plan.blockM() * (of.lines.ofA + of.lines.places) + plan.blockN() * of.lines.ofB + scales.stageBytes;
  }
  std::optional<ScaleStaging> fit(LaneContractionPlan &plan, const Candidate &of) const;
  bool price(LaneContractionPlan &plan, const Candidate &of, const ScaleStaging &scales) const;

  const LaneContractionQuestion &question;
  const Contraction &c;
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  const LaneContractionPlan &base;
  const CopyEngine &engine;
  const ContractionExtents size;
  PlanSearch<LaneContractionPlan> search;
};
} // namespace

LaneContractionPlan GroupPlanner::planOf(const Candidate &candidate, int64_t cluster, int64_t groups,
                                         int64_t tilesM) const {
  const UnitLines &lines = candidate.lines;
  LaneContractionPlan plan = base;
  plan.unit = candidate.unit;
  plan.engine = engine.name;
  plan.cluster = cluster;
  plan.subgroupsM = groups;
  plan.tilesM = tilesM;
  plan.depth = lines.depth;
  plan.a.kInner = lines.aInK;
  plan.b.kInner = lines.bInK;
  plan.a.line = c.a.along(plan.depth) / perElement(plan.unit->a);
  plan.b.line = plan.depth / perElement(plan.unit->b);
  plan.a.swizzleLines(lines.ofA);
  plan.b.swizzleLines(lines.ofB);
  return plan;
}

/// Chooses the stages, and says what they hold of scales; nullopt where the plan is none that is looked at, or does not
/// fit.
std::optional<ScaleStaging> GroupPlanner::fit(LaneContractionPlan &plan, const Candidate &of) const {
  const int64_t units = plan.subgroupsM * plan.tilesM;
  if (!agrees(plan, question.overrides) || isHalfBeyond(plan.blockM(), size.m, plan.unit->m))
    return std::nullopt;
  // Blocks of a cluster each copy a part of B, in whole groups of 8 lines.
  const int64_t linesOfB = of.lines.bInK ? plan.blockN() : plan.depth;
  if (of.inBlock && (plan.cluster > 1 || !accumulatorEntries(*of.inBlock, units * of.accumulators)))
    return std::nullopt; // a unit's commit tells the barrier objects of its own block
  if (plan.cluster > hierarchy.clusterBlocks || linesOfB % (8 * plan.cluster) ||
      (plan.cluster > 1 && plan.blockM() * (plan.cluster - 1) >= size.m))
    return std::nullopt;
  const int64_t groupLanes = groupLanesOf(*plan.unit, hierarchy.lanes);
  plan.registers =
      (of.inBlock ? accumulatorsRead : plan.tilesM * (of.accumulators + of.places.registers)) + otherRegisters;
  if (plan.registers > groupRegisters(chip, groupLanes, plan.subgroupsM) ||
      (plan.subgroupsM + 1) * groupLanes > hierarchy.subgroups * hierarchy.lanes)
    return std::nullopt;
  std::optional<ScaleStaging> scales = stageScales(plan, c, chip, engine, lineBytes);
  if (!scales)
    return std::nullopt;
  const int64_t stageBytes = stageBytesOf(plan, of, *scales), otherBytes = barrierBytes + plan.subgroupsM * resultBytes;
  plan.stages = atMost("stages", std::min(mostStages, (shared->bytes - otherBytes) / stageBytes));
  plan.scaleEntries = scales->entries;
  // Scales of each stage lie beside the accumulators.
  while (plan.stages >= 2 && of.inBlock &&
         !accumulatorEntries(*of.inBlock, units * of.accumulators + plan.subgroupsM * plan.stages * scales->entries))
    --plan.stages;
  plan.sharedBytes = plan.stages * stageBytes + otherBytes;
  return plan.stages < 2 ? std::nullopt : scales;
}

/// Fills in the time and the order of tiles; false where the forced order suits no such tiles.
bool GroupPlanner::price(LaneContractionPlan &plan, const Candidate &of, const ScaleStaging &scales) const {
  const MatrixUnit &unit = *plan.unit;
  const UnitLines &lines = of.lines;
  const int64_t cluster = plan.cluster, clusters = atMost("persistent_blocks", hierarchy.blocks / cluster);
  const int64_t tilesM = llvm::divideCeil(size.m, plan.blockM() * cluster),
                tilesN = llvm::divideCeil(size.n, plan.blockN());
  const double tiles = double(size.outer) * tilesM * tilesN;
  const BlockWaves grid(tiles, clusters, 1); // of clusters
  const double active = grid.active * cluster;
  const double units = double(plan.subgroupsM * plan.tilesM), issues = units * (plan.depth / unit.k);
  const double reads = units * (unit.m * lines.ofA + unit.n * lines.ofB) + plan.subgroupsM * scales.stageBytes;
  const double pad = (reads + stageBytesOf(plan, of, scales)) / shared->bytesPerClock + issues * of.places.banks;
  const double fetched = double(plan.blockM()) * (lines.ofA + lines.places) +
                         double(plan.blockN() / cluster) * lines.ofB + scales.stageBytes;
  const double traffic = l2 ? fetched * active / l2->bytesPerClock : 0;
  const double steps = llvm::divideCeil(size.k, plan.depth) * double(size.otherK);
  plan.stepClocks = std::max({issues * unit.issue + scales.clocks, issues * of.places.issue, pad, traffic});
  const double stored =
      double(plan.blockM()) * plan.blockN() *
      bytesTouched(question.written(), hierarchy.sectorBytes, hierarchy.sectorBytes, hierarchy.sectorBytes);
  const double epilogue = drainClocks(chip) + stored * active / near().bytesPerClock;
  const double hbm =
      clocksOfArrays(c, double(size.m) * size.n * double(size.outer), double(lineBytes) / double(plan.depth), *global);
  plan.seconds = secondsOf(grid.clocks(steps * plan.stepClocks + epilogue, hbm, chip, engine.latency), chip);
  plan.seconds += imageSeconds(plan, c, chip);
  const std::optional<int64_t> forced = forcedValue(question.overrides, "rasterisation_rows");
  const bool isStatic = llvm::all_of(llvm::concat<const unsigned>(base.outer, ArrayRef({base.mDim, base.nDim})),
                                     [&](unsigned dim) { return c.nest.tripCounts[dim].has_value(); });
  if (isStatic && tiles > clusters)
    plan.workers = clusters;
  if (plan.workers || forced)
    plan.rasterRows = forced.value_or(rasterRows(tilesM, tilesN, plan.workers, plan.blockM() * cluster, plan.blockN()));
  // Blocks of a grid follow its rows; groups cover all rows of tiles.
  return (plan.workers || plan.rasterRows <= 1) && plan.rasterRows >= 1 && tilesM % plan.rasterRows == 0;
}

std::optional<LaneContractionPlan> GroupPlanner::fastest() {
  std::vector<Candidate> candidates;
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (const MatrixUnit &unit : chip.units())
    if (computes(unit))
      if (std::optional<UnitLines> lines = linesOf(unit, c, base, hierarchy, engine);
          lines && (size.k > lines->depth || size.otherK > 1)) { // of one step nothing runs ahead
        candidates.push_back({&unit, *lines, LanePlaces(unit, c, base, lines->places, chip, hierarchy),
                              accumulatesInBlock(unit) ? chip.graph().named(unit.c.memory) : nullptr,
                              std::max<int64_t>(1, unit.c.layout.numElements() * bitWidth(unit.c.element) / 32)});
        smallest = std::min(smallest, unit.n);
      }
  for (const Candidate &candidate : candidates) {
    if (isHalfBeyond(candidate.unit->n, size.n, smallest))
      continue;
    for (int64_t cluster : {1, 2})
      for (int64_t groups : {2, 1}) // of equal ones that with more groups: they fill each other's gaps
        for (int64_t tilesM : {1, 2}) {
          LaneContractionPlan plan = planOf(candidate, cluster, groups, tilesM);
          if (std::optional<ScaleStaging> scales = fit(plan, candidate); scales && price(plan, candidate, *scales))
            search.offer(std::move(plan));
        }
  }
  return search.best;
}

std::optional<LaneContractionPlan> tilewright::planGroupUnits(const LaneContractionQuestion &question,
                                                              const TargetDescription &chip,
                                                              const LaneHierarchy &hierarchy,
                                                              const LaneContractionPlan &base,
                                                              std::vector<LaneContractionPlan> *considered) {
  const CopyEngine *engine = tileEngine(chip);
  const auto [global, l2, file, own, shared] = LaneMemories(chip, hierarchy);
  if (!engine || !shared || !file || !own || !global)
    return std::nullopt;
  return GroupPlanner(question, chip, hierarchy, base, *engine, considered).fastest();
}
