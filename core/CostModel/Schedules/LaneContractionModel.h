//===- LaneContractionModel.h - Tiles of contractions on lanes --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a contraction is shared out over blocks, subgroups and lanes, by a closed
/// form over the description of the chip:
///
///   block tile      BM x BN of C, read through a multi-stage buffer of depth BK
///   subgroup tile   TM x TN units, accumulators in registers over all of k
///   slices          subgroups that share a tile of C and have a part of each stage's k each (SliceModel.h)
///
///   clocks of a step = max(units: TM TN BK/k issue x subgroups / issue slots,
///                          scratchpad: (BM + BN) BK written, each subgroup's rows and columns read,
///                          L2: (BM + BN) BK bytes x blocks at a time)
///   time             = waves x (steps x clocks of a step + epilogue)
///
/// over all tiles of powers of two that fit registers and scratchpad. Unknown sizes count as large.
///
/// Where a chip has units that a group of subgroups issues on matrices in the scratchpad, and an engine that copies
/// tiles there (LaneRingModel.cpp), "subgroup" above reads "group": one role copies, the groups multiply, blocks stay
/// and take one tile after the other.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_LANECONTRACTIONMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_LANECONTRACTIONMODEL_H

#include "core/CostModel/Copies/TurnedCopy.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Machine/UnitMatch.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/CostModel/Time/Launches.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {

/// An operand's tile in the scratchpad.
struct StagedTile {
  bool kInner = true; // rows of k lie together: [BM][BK], else [BK][BM]
  int64_t swizzleBits = 0, swizzleBase = 0, swizzleShift = 0, swizzleAgain = 0; // #tile.arrangement
  int64_t padding = 0; // elements behind each row; where there is no swizzle
  int64_t line = 0;    // elements; not 0 and not kInner: [BM / line][BK][line]
  bool direct = false; // copied asynchronously
  int64_t begin = 0;   // bytes that divide the places of vectors of its copies; 0: those of the vector
  bool over = false;   // vectors of all steps but the last may go over the end of a row, into the next one
  bool held = false;   // its elements are staged in registers, though the chip has an engine for copies of lanes
  TurnShape turn;      // of lanes that transpose it while they copy
  int64_t near = 0; // lanes along the array before the next ones lie along a row, where copies turn it; 0: they do not
  int64_t beside = 0; // those along a row before the next ones lie along the array again

  /// Lines of so many bytes, swizzled in groups of eight as engines and units know them.
  void swizzleLines(int64_t bytes) {
    swizzleBits = llvm::Log2_64(bytes / mostAccessBytes);
    swizzleBase = llvm::ConstantLog2<mostAccessBytes>();
    swizzleShift = 3;
  }
  /// Elements that a lane loads at once where vectors are unaligned.
  int64_t looseElements(int64_t elementBytes) const { return near ? turn.along : mostAccessBytes / elementBytes; }
};

/// Instructions of a lane for one step; those of copies and of the loop only where lanes copy.
struct StepInstructions {
  double products = 0, fragmentLoads = 0, globalLoads = 0, writes = 0, permutes = 0, loop = 0;
  double sum() const { return products + fragmentLoads + globalLoads + writes + permutes + loop; }
  double beside() const { return sum() - products; }
};

struct LaneContractionPlan : TiledDimensions {
  const MatrixUnit *unit = nullptr;
  int64_t subgroupsM = 1, subgroupsN = 1; // of a block, and of each of its slices
  int64_t subgroupsK = 1;                 // slices: each multiplies a part of a stage's k (SliceModel.h)
  int64_t unitsExchanged = 0;             // of a subgroup whose sums slices add at a time; 0: there is one slice
  int64_t tilesM = 1, tilesN = 1;         // units of a subgroup
  int64_t depth = 1;                      // BK
  int64_t stages = 1;
  int64_t round = 1;       // steps of k in an iteration: 1, as many as stages, or twice as many
  bool loadsAhead = false; // fragments of a unit's k are loaded before the products of those before
  bool across = false;     // also those of the next step before the last products of this one
  bool keepsOrder = false; // those loads stay there: all of a step at once would not fit the registers
  bool lastApart = true;   // where lanes copy and the size of k is known: the last step is peeled
  StagedTile a, b;
  std::string engine;       // that copies tiles, in a role of its own; empty: lanes copy
  int64_t workers = 0;      // clusters of blocks that take one tile each after the other; 0: each has one
  int64_t cluster = 1;      // blocks one below the other that share what they copy of B
  int64_t rasterRows = 1;   // of tiles of a group (threadblock rasterisation, TileOrder.h)
  int64_t turnedBefore = 0; // operands that a launch before has transposed (TurnOperands.h)
  int64_t together = 1;     // units of a row whose results are finished and stored as one
  int64_t scaleEntries = 0; // of a memory of the block, for the scales of a group's stage (ScaleStaging.h)
  int64_t registers = 0, sharedBytes = 0, blocksAtATime = 1; // per lane; per block; of one multiprocessor
  StepInstructions instructions; // of a step, where fragments lie over the lanes of a subgroup
  double stepClocks = 0, seconds = 0;

  /// Steps of a multi-stage buffer that lanes fill between the start of a copy and its use: an asynchronous engine has
  /// all stages but the one that is read.
  int64_t ahead() const { return across && a.direct && b.direct ? stages - 1 : 1; }
  int64_t blockM() const { return subgroupsM * tilesM * unit->m; }
  int64_t blockN() const { return subgroupsN * tilesN * unit->n; }
  int64_t subgroups() const { return subgroupsM * subgroupsN * subgroupsK; }
  /// Of a stage's k, what one slice multiplies.
  int64_t sliceDepth() const { return depth / subgroupsK; }
  /// Whether both cut C and k alike on the same unit, with as many stages.
  bool cutsLike(const LaneContractionPlan &other) const {
    return std::tie(unit, subgroupsM, subgroupsN, subgroupsK, tilesM, tilesN, depth, stages, cluster) ==
           std::tie(other.unit, other.subgroupsM, other.subgroupsN, other.subgroupsK, other.tilesM, other.tilesN,
                    other.depth, other.stages, other.cluster);
  }
  llvm::json::Object toJSON() const;
  auto key() const { return std::tuple(unit, blockM(), blockN(), cluster); }
};

/// Only candidates that agree with "block_m", "block_n", "block_k" (elements), "subgroups_m", "subgroups_n",
/// "subgroups_k" (of a block), "group" (subgroups that hold a fragment) and "cluster" (blocks) are looked at; "stages"
/// and "persistent_blocks" are the most of a multi-stage buffer, "rasterisation_rows" are rows of tiles of a group and
/// divide their number.
using LanePlanOverrides = llvm::ArrayRef<std::pair<std::string, int64_t>>;

/// An array that is written after the loop.
struct StoredResult {
  int64_t elementBytes = 4;
  bool alongN = true; // neighbours along n lie together, else those along m
  bool operator==(const StoredResult &) const = default;
};
/// The array that `access`, over the dimensions of `c`, writes: C itself, or what follows it.
StoredResult storedResult(const Contraction &c, const Access &access);

/// What is to be planned.
struct LaneContractionQuestion {
  const Contraction &contraction;
  NumericFreedom freedom = {};
  LanePlanOverrides overrides = {};
  /// Arrays that are read and written after the loop, C among them, whose rows are apart by a dynamic pitch.
  /// Compilers keep, for each but C, where the rows of a lane begin, 64 bits, for the columns that follow.
  int64_t unknownPitches = 0;
  /// All that is written; none: C alone.
  llvm::ArrayRef<StoredResult> results = {};
  /// Parts of k of which each is a product of its own, beside the others.
  int64_t parts = 1;

  llvm::SmallVector<StoredResult> written() const {
    return results.empty() ? llvm::SmallVector<StoredResult>{storedResult(contraction, contraction.c)}
                           : llvm::to_vector(results);
  }
};

/// The plan with the smallest modelled time; nullopt and `reason` if no unit of the chip computes this contraction.
/// `considered` receives every candidate with its time, for --explain.
std::optional<LaneContractionPlan> planLaneContraction(const LaneContractionQuestion &question,
                                                       const TargetDescription &chip, const LaneHierarchy &hierarchy,
                                                       std::string &reason,
                                                       std::vector<LaneContractionPlan> *considered = nullptr);

/// Bytes that stores of one element of each of `results` touch where a subgroup has so many rows and columns of C:
/// those of whole sectors, of which neighbouring subgroups may write a part each.
double bytesTouched(llvm::ArrayRef<StoredResult> results, int64_t rows, int64_t columns, int64_t sectorBytes);

/// The best plan over units of a group of subgroups, its dimensions as in `base`; nullopt if the chip has none or the
/// operands cannot be copied as tiles.
std::optional<LaneContractionPlan> planGroupUnits(const LaneContractionQuestion &question,
                                                  const TargetDescription &chip, const LaneHierarchy &hierarchy,
                                                  const LaneContractionPlan &base,
                                                  std::vector<LaneContractionPlan> *considered);
/// Whether `plan` agrees with them.
bool agrees(const LaneContractionPlan &plan, LanePlanOverrides overrides);
/// Whether `unit` multiplies these operands into this accumulator over the lanes of one subgroup, in their registers.
bool computesOnLanes(const MatrixUnit &unit, const Contraction &contraction, const LaneHierarchy &hierarchy,
                     const NumericFreedom &freedom);
/// Registers of a lane beside accumulators and fragments: addresses, loop counters, predicates.
inline constexpr int64_t otherRegisters = 40;
/// Registers of a lane that only starts copies.
inline constexpr int64_t copierRegisters = 40;
/// Registers of a lane of `groups` groups of `groupLanes` beside a group that only starts copies.
int64_t groupRegisters(const TargetDescription &chip, int64_t groupLanes, int64_t groups);

/// Elements that the lanes of a subgroup load for one fragment: where several hold the same one, each loads it, and the
/// scratchpad serves so many lanes in a clock, whatever they ask for.
int64_t loadedElements(const UnitOperand &operand);
/// Whether the chip copies from global memory into a block's scratchpad asynchronously, awaited by groups, each lane
/// where it wants.
bool hasCopyEngine(const TargetDescription &chip);
/// The engine with which a subgroup copies there asynchronously, its lanes' segments one after the other; null:
/// none.
const CopyEngine *subgroupEngine(const TargetDescription &chip);
/// The engine that copies tiles of arrays there and tells a barrier of the bytes that have come; null: none.
const CopyEngine *tileEngine(const TargetDescription &chip);
/// Scratchpad bytes in which results of a group leave, two buffers of 64 lines of 128 bytes; and those for the barriers
/// of a multi-stage buffer.
inline constexpr int64_t resultBytes = 16384, barrierBytes = 1024;
/// Whether lines of tiles that `engine` cuts out of the array of `operand` run along k (or along `free`); nullopt: it
/// cuts none, since dimensions move the array otherwise than one by one, or rows begin where the engine reads none.
std::optional<bool> engineLinesAlongK(const ContractionOperand &operand, unsigned free, unsigned k,
                                      const CopyEngine &engine);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_LANECONTRACTIONMODEL_H
