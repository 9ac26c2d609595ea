//===- ScratchpadContractionModel.cpp - Tiles of a contraction on cores with engines ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One closed form over the tiles that are multiples of the unit's shape and fit.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Machine/BankTraffic.h"
#include "core/CostModel/Machine/CoreInstructions.h"
#include "core/CostModel/Machine/UnitMatch.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "core/CostModel/Schedules/NestSchedule.h"
#include "core/CostModel/Time/Launches.h"
#include "core/CostModel/Time/PipelineTime.h"
#include "core/Machine/CoreCommand.h"
#include "core/Machine/UnitOperands.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <array>
#include <cmath>
#include <map>

using namespace mlir;
using namespace tilewright;

/// Instructions of the core for one step of k beside its commands and copies: loops, stages of buffers, waits, and the
/// tile and step of the next copy; 17 to 60, as tiles are one or several. Like the numbers below these are counted in
/// the LLVM dialect that the emulator runs: what more steps, or more groups, add to a core's instructions.
static constexpr double aroundStepClocks = 40;
/// And for one group of these commands, beside them: its loop 4, what commits and counts them 3, the branch past the
/// copies 2.
static constexpr double aroundGroupClocks = 9;
/// Where groups follow each other along two of rows, columns and terms, or three, for each further one: quotient and
/// remainder of the group's number, with tests of their signs, and its part of the addresses.
static constexpr double furtherGroupClocks = 12;
/// For each of rows, columns and terms of which a group may have fewer: what is left for it, and the least of both.
static constexpr double existingClocks = 4;
/// For each further nest of rows of a slice: its last row 5, first addresses 3, the end of its loop 2.
static constexpr double aroundRowsClocks = 10;
/// Of a step for each of m, n and k that is dynamic: the tile's number is divided by a dynamic count, edges are
/// compared; 14 for m, 40 for k, 75 for all. Without edges only divisions are left: 17 for k.
static constexpr double dynamicStepClocks = 25, wholeStepClocks = 8;
/// And of m and n for each slice of the tail; without edges 13 to 20 for both.
static constexpr double dynamicSliceClocks = 55, wholeSliceClocks = 10;
/// What a slice without rows takes beside its nests of rows: tests, and waits for commands that move nothing.
static constexpr double emptySliceClocks = 150;
/// Pieces of a tile's tail: more would only add commands.
static constexpr int64_t mostSlices = 8;
/// Versions of a nest of dynamic sizes: each is as much code as the first one.
static constexpr int64_t mostVersions = 6;

namespace {
/// An array of which tiles have rows along one dimension of the nest and columns along another one.
struct TiledArray {
  Access access;
  unsigned rowDim, colDim;
  bool rows, cols;                                // whether it differs between them
  bool hasPitch;                                  // an address and a pitch name a tile
  TileTransfer one;                               // a tile of one element
  unsigned number;                                // among the arrays of a nest
  SmallVector<std::optional<int64_t>, 4> strides; // of each dimension of the nest
};

/// A nest over rows and columns of tiles in the scratchpad.
struct TileNest {
  /// `first`: the first column, of a block of them.
  TileNest(int64_t rows, int64_t cols, int64_t first = 0) : rows(rows), cols(cols), first(first) {
    shape.loops.resize(2);
    shape.loops[0].trips = rows;
    shape.loops[0].isInnermost = false;
    shape.loops[0].isPerfect = true;
    shape.loops[1].trips = cols;
    shape.loops[1].parent = 0;
  }
  /// An access of a tile; `rows`, `cols`: whether it differs between them.
  void add(int64_t bytes, bool differsInRows, bool differsInCols, bool isWritten) {
    NestShape::Index row, col;
    if (differsInRows)
      row.terms.push_back({0, 1});
    if (differsInCols) {
      col.terms.push_back({1, 1});
      col.constant = first;
    }
    shape.accesses.push_back({int64_t(shape.arrays.size()), 1, {row, col}});
    shape.arrays.push_back({bytes, {rows, cols}, !isWritten, isWritten});
    ++shape.loops[1].instructions;
  }

  NestShape shape;
  int64_t rows, cols, first;
};

/// What `compute` gives for `key`, which it is called for once.
template <typename Map, typename Compute>
const typename Map::mapped_type &once(Map &known, const typename Map::key_type &key, Compute compute) {
  auto at = known.find(key);
  if (at == known.end())
    at = known.emplace(key, compute()).first;
  return at->second;
}

/// The chip's numbers and the sizes that a candidate is judged by. Tiles and sizes are priced in many combinations, of
/// which most parts of the time depend on a few numbers: those are kept.
struct Judge {
  Judge(const Contraction &c, const TargetDescription &chip, const CoreHierarchy &cores, const CoreShare &share,
        const TailShape &tail, const TiledDimensions &dims);

  const Contraction &c;
  const TargetDescription &chip;
  const CoreHierarchy &cores;
  const CoreShare &share;
  const TailShape &tail;
  TiledDimensions dims;
  ContractionExtents size; // dynamic ones as they are assumed
  bool isWhole = false;    // these are multiples of the tile's, and the code that runs tests no edges
  int64_t align = scratchpadAlignment(cores);
  TiledArray a, b;
  SmallVector<TiledArray> tailLoads, tailStores;
  // By unit, pitches, and whether it loads.
  mutable std::map<std::tuple<const MatrixUnit *, int64_t, int64_t, bool>, double> knownWaits;
  // By unit, pitches, bytes per clock of a copy, and clocks of an instruction.
  mutable std::map<std::tuple<const MatrixUnit *, int64_t, int64_t, double, double>, double> knownShares;
  // By unit, rows and columns, whether there are several slices, and whether columns begin at a block.
  mutable std::map<std::tuple<const MatrixUnit *, int64_t, int64_t, bool, bool>, double> knownTails;
  // By unit, rows and columns.
  mutable std::map<std::tuple<const MatrixUnit *, int64_t, int64_t>, double> knownClearings;
  // By array, unit, rows and columns of a tile, direction, and rows and columns of the array.
  using Copied = std::tuple<unsigned, const MatrixUnit *, int64_t, int64_t, bool, int64_t, int64_t>;
  mutable std::map<Copied, TileCopyPlan> knownCopies;

  TiledArray tiled(const Access &access, unsigned rowDim, unsigned colDim, unsigned number) const;
  bool divides(unsigned dim, int64_t tile) const {
    return c.nest.tripCounts[dim] && *c.nest.tripCounts[dim] % tile == 0;
  }
  int64_t sizeOf(unsigned dim) const { return dim == dims.kDim ? size.k : dim == dims.mDim ? size.m : size.n; }
  TileCopyPlan copiesOf(const TiledArray &array, int64_t rows, bool in, const ScratchpadContractionPlan &plan) const;
  TileCopyPlan operandCopies(const TiledArray &operand, const ScratchpadContractionPlan &plan) const {
    const int64_t rows = plan.tileAlong(operand.rowDim), cols = plan.tileAlong(operand.colDim);
    if (operand.one.near && divides(operand.rowDim, rows) && divides(operand.colDim, cols) && operand.hasPitch)
      return {CopyWay::None}; // the unit reads whole tiles where they lie
    return copiesOf(operand, rows, /*in=*/true, plan);
  }
  TileCopyPlan countCopies(const TiledArray &array, int64_t rows, bool in, const ScratchpadContractionPlan &plan) const;
  NestShape tailNest(int64_t rows, int64_t cols, const ScratchpadContractionPlan &plan) const;
  double tailClocks(int64_t rows, const ScratchpadContractionPlan &plan) const;
  /// Blocks of columns of the last tile, if it has less than all.
  int64_t restBlocks(const ScratchpadContractionPlan &plan) const {
    return int64_t(llvm::divideCeil(size.n, plan.unit->n)) % (plan.tileN / plan.unit->n);
  }
  int64_t slicesWithRows(const ScratchpadContractionPlan &plan) const;
  int64_t dynamicOf(ArrayRef<unsigned> some) const {
    return llvm::count_if(some, [&](unsigned dim) { return !c.nest.tripCounts[dim]; });
  }
  /// What the code for a plan knows of the extent along `dim`.
  std::optional<int64_t> knownExtent(unsigned dim) const {
    return c.nest.tripCounts[dim] || !isWhole ? c.nest.tripCounts[dim] : std::optional(sizeOf(dim));
  }
  UnitTraffic trafficOf(const ScratchpadContractionPlan &plan, bool loads) const;
  double ownWaits(const ScratchpadContractionPlan &plan, bool loads) const;
  void choosePitches(ScratchpadContractionPlan &plan) const;
  double bankWaits(const ScratchpadContractionPlan &plan, double instructions, const TileCopyPlan &copyA,
                   const TileCopyPlan &copyB, double besideUnit, double othersClocks, const CopyEngine *others) const;
  int64_t rounded(int64_t bytes) const { return llvm::alignTo(bytes, align); }
  SmallVector<int64_t> possibleSlices(const MatrixUnit &unit, int64_t tileM, int64_t tileK) const;
  bool fits(ScratchpadContractionPlan &plan, bool forced) const;
  struct TailCopies {
    double in = 0, out = 0, commands = 0; // clocks of engines, of the core
    double data = 0;                      // clocks in which data goes, of `engine`
    const CopyEngine *engine = nullptr;
  };
  TailCopies copiesOfTail(const ScratchpadContractionPlan &plan, int64_t rows, const TileCopyPlan &copyA,
                          const TileCopyPlan &copyB) const;
  IterationLoad issueLoad(const ScratchpadContractionPlan &plan, const std::array<double, 3> &blocks,
                          double slice) const;
  double clearingClocks(const ScratchpadContractionPlan &plan) const;
  bool price(ScratchpadContractionPlan &plan);
  bool priceTiles(ScratchpadContractionPlan &plan);
};
} // namespace

/// Whether rows and columns are the last two indices of `access`, so that an address and a pitch name a tile.
static bool hasPitch(const Access &access, unsigned rowDim, unsigned colDim) {
  ArrayRef<AffineExpr> indices = access.map.getResults();
  if (indices.size() < 2)
    return false;
  for (auto [i, index] : llvm::enumerate(indices)) {
    bool isRow = i + 2 == indices.size(), isCol = i + 1 == indices.size();
    if (linearCoefficient(index, rowDim) != int64_t(isRow) || linearCoefficient(index, colDim) != int64_t(isCol))
      return false;
  }
  return true;
}

TiledArray Judge::tiled(const Access &access, unsigned rowDim, unsigned colDim, unsigned number) const {
  const llvm::SmallBitVector moves = access.dims();
  TiledArray array{access, rowDim, colDim, moves.test(rowDim), moves.test(colDim), hasPitch(access, rowDim, colDim),
                   {},     number, {}};
  for (unsigned dim = 0; dim < c.nest.depth(); ++dim)
    array.strides.push_back(access.stride(dim));
  TileTransfer &one = array.one;
  one.elementBytes = elementBytes(elementOf(access.memref));
  auto stepsByOne = [&](unsigned dim) { return array.strides[dim] == 1; };
  const bool isOne = !array.rows && !array.cols;
  one.order = isOne || stepsByOne(colDim) ? TileOrder::Rows
              : stepsByOne(rowDim)        ? TileOrder::Columns
                                          : TileOrder::Scattered;
  one.pitchBits = pitchBitsOf(access, c.nest, one.elementBytes);
  one.near = isNear(access.memref, cores);
  return array;
}

Judge::Judge(const Contraction &c, const TargetDescription &chip, const CoreHierarchy &cores, const CoreShare &share,
             const TailShape &tail, const TiledDimensions &dims)
    : c(c), chip(chip), cores(cores), share(share), tail(tail), dims(dims), size(c, dims),
      a(tiled(c.a.access, dims.mDim, dims.kDim, 0)), b(tiled(c.b.access, dims.kDim, dims.nDim, 1)) {
  unsigned number = 2;
  for (const Access &access : tail.loads)
    tailLoads.push_back(tiled(access, dims.mDim, dims.nDim, number++));
  for (const Access &access : tail.stores)
    tailStores.push_back(tiled(access, dims.mDim, dims.nDim, number++));
}

/// How the tiles of an array, or slices of `rows` of their rows, come in, or leave.
TileCopyPlan Judge::copiesOf(const TiledArray &array, int64_t rows, bool in,
                             const ScratchpadContractionPlan &plan) const {
  return once(
      knownCopies,
      {array.number, plan.unit, rows, plan.tileAlong(array.colDim), in, sizeOf(array.rowDim), sizeOf(array.colDim)},
      [&] { return countCopies(array, rows, in, plan); });
}

TileCopyPlan Judge::countCopies(const TiledArray &array, int64_t rows, bool in,
                                const ScratchpadContractionPlan &plan) const {
  const int64_t cols = plan.tileAlong(array.colDim);
  TileTransfer tile = array.one;
  const bool isTail = array.rowDim == dims.mDim && array.colDim == dims.nDim;
  tile.padRows = isTail ? blockOfRows(*plan.unit) : plan.unitAlong(array.rowDim);
  tile.padCols = plan.unitAlong(array.colDim);
  tile.rows = array.rows ? rows : 1;
  tile.cols = array.cols ? cols : 1;
  tile.testedBits = tile.rows > 1 ? tile.cols * tile.elementBytes : 0;
  for (unsigned dim = 0; dim < c.nest.depth(); ++dim) {
    const int64_t step = dim == array.rowDim ? rows : dim == array.colDim ? cols : 1;
    if (auto stride = array.strides[dim]; stride && (!c.nest.tripCounts[dim] || step < *c.nest.tripCounts[dim]))
      tile.testedBits |= std::abs(*stride) * step * tile.elementBytes;
  }
  int64_t allRows = array.rows ? sizeOf(array.rowDim) : 1, allCols = array.cols ? sizeOf(array.colDim) : 1;
  if (!array.cols && tile.order == TileOrder::Columns) { // one element of each row: a row of them
    std::swap(tile.rows, tile.cols);
    std::swap(tile.padRows, tile.padCols);
    std::swap(allRows, allCols);
    tile.order = TileOrder::Rows;
  }
  return planTileCopies(tile, allRows, allCols, /*zeros=*/in, in, cores, chip);
}

/// What is done with `rows` rows and `cols` columns of finished sums.
NestShape Judge::tailNest(int64_t rows, int64_t cols, const ScratchpadContractionPlan &plan) const {
  const MatrixUnit &unit = *plan.unit;
  TileNest nest(rows, cols, restBlocks(plan) ? unit.n : 0);
  const int64_t bytesC = elementBytes(unit.c.element);
  nest.add(bytesC, true, true, /*isWritten=*/false);
  if (unit.init != UnitInit::ZeroFlag)
    nest.add(bytesC, true, true, /*isWritten=*/true);
  for (const TiledArray &array : tailLoads)
    nest.add(array.one.elementBytes, array.rows, array.cols, /*isWritten=*/false);
  for (const TiledArray &array : tailStores)
    nest.add(array.one.elementBytes, array.rows, array.cols, /*isWritten=*/true);
  nest.shape.loops[1].instructions += double(tail.operations);
  // Of a row the slices' buffers have an index of their own, a product and a sum.
  nest.shape.loops[0].instructions = plan.slices > 1 ? 2 : 0;
  return nest.shape;
}

/// Instructions of the core that give a unit its commands for one step: three loops, the stationary operand outside of
/// the innermost one; a loop of one turn is none.
static double issueOf(const MatrixUnit &unit, int64_t um, int64_t un, int64_t uk) {
  double clocks = 0;
  int64_t turns = 1;
  for (int64_t count : {uk, unit.stationary == 'A' ? um : un, unit.stationary == 'A' ? un : um}) {
    clocks += count > 1 ? turns * (loopClocks + count * commandClocks) : 0; // loopClocks: it begins, and ends
    turns *= count;
  }
  return std::max(clocks, commandClocks);
}

/// What one instruction of the unit reads of the tiles of `plan`; `loads`: the stationary operand too. Nothing where
/// the unit's operands lie elsewhere.
UnitTraffic Judge::trafficOf(const ScratchpadContractionPlan &plan, bool loads) const {
  const MatrixUnit &unit = *plan.unit;
  if (unit.a.memory != cores.scratchpad->name || unit.b.memory != cores.scratchpad->name)
    return {};
  const int64_t bytesA = elementBytes(unit.a.element), bytesB = elementBytes(unit.b.element);
  return tilewright::trafficOf(unit, {0, plan.pitchA * bytesA, unit.m, unit.k * bytesA},
                               {0, plan.pitchB * bytesB, unit.k, unit.n * bytesB}, loads && unit.stationary != 0);
}

/// Clocks of one instruction of the unit that it waits for banks which it wants twice.
double Judge::ownWaits(const ScratchpadContractionPlan &plan, bool loads) const {
  return once(knownWaits, {plan.unit, plan.pitchA, plan.pitchB, loads}, [&] {
    auto none = [](int64_t) { return uint64_t(0); };
    return double(tilewright::bankWaits(trafficOf(plan, loads), *cores.scratchpad, none));
  });
}

/// Rows of the tiles of A and B side by side, or so many banks further apart that the unit waits least.
void Judge::choosePitches(ScratchpadContractionPlan &plan) const {
  auto choose = [&](int64_t &pitch, int64_t cols, ElementKind element) {
    const int64_t words = cores.scratchpad->bankBytes / std::max<int64_t>(1, elementBytes(element));
    pitch = cols;
    double least = ownWaits(plan, /*loads=*/true);
    int64_t best = cols;
    for (int64_t banks = 1; least > 0 && words > 0 && banks < cores.scratchpad->banks; banks *= 2) {
      pitch = cols + banks * words;
      const double waits = ownWaits(plan, /*loads=*/true);
      if (waits < least) {
        least = waits;
        best = pitch;
      }
    }
    pitch = best;
  };
  plan.pitchA = plan.tileK;
  plan.pitchB = plan.tileN;
  if (plan.copyA != CopyWay::None)
    choose(plan.pitchA, plan.tileK, plan.unit->a.element);
  if (plan.copyB != CopyWay::None)
    choose(plan.pitchB, plan.tileN, plan.unit->b.element);
}

/// Clocks of a step of so many `instructions` that the unit waits for banks which copies hold: those of A and B, of
/// which the part `besideUnit` runs beside it, and others of `othersClocks` a step by `others`, run beside it.
double Judge::bankWaits(const ScratchpadContractionPlan &plan, double instructions, const TileCopyPlan &copyA,
                        const TileCopyPlan &copyB, double besideUnit, double othersClocks,
                        const CopyEngine *others) const {
  const UnitTraffic traffic = trafficOf(plan, /*loads=*/true);
  if (!traffic.moving.rows)
    return 0;
  const double clocks = plan.unitClocks / instructions;
  double beside = 0, waits = 0;
  auto add = [&](double data, const CopyEngine *engine) {
    if (!engine || data <= 0)
      return;
    const double share = once(knownShares, {plan.unit, plan.pitchA, plan.pitchB, engine->bytesPerClock, clocks},
                              [&] { return waitingShare(traffic, clocks, engine->bytesPerClock, *cores.scratchpad); });
    // The unit works for as long as its own clocks and these waits: what is copied after that meets nobody.
    const double together = std::max(0.0, std::min(data, plan.unitClocks / (1 - share) - beside));
    beside += together;
    waits += share * together;
  };
  for (const TileCopyPlan *copy : {&copyA, &copyB})
    if (copy->engine)
      add(besideUnit * (copy->engineClocks - copy->commands * copy->engine->latency), copy->engine);
  add(othersClocks, others);
  return waits;
}

/// Pieces of a tile's tail that may run beside the steps of the next tile: as many as there are, or, where that is not
/// known, each number. More pieces need smaller buffers; those of which there are too few steps run alone. While the
/// queue of a unit is full the core does nothing: steps of few commands with a small piece each may keep it busier.
SmallVector<int64_t> Judge::possibleSlices(const MatrixUnit &unit, int64_t tileM, int64_t tileK) const {
  const bool isKnown = llvm::all_of(dims.otherK, [&](unsigned dim) { return c.nest.tripCounts[dim].has_value(); }) &&
                       c.nest.tripCounts[dims.kDim];
  const int64_t steps = isKnown ? llvm::divideCeil(size.k, tileK) * size.otherK : mostSlices;
  SmallVector<int64_t> slices{1};
  auto upTo = [&](int64_t most) {
    while (slices.back() * 2 <= std::min(steps, most) && tileM % (slices.back() * 2) == 0)
      slices.push_back(slices.back() * 2);
  };
  upTo(mostSlices);
  if (!isKnown)
    return slices;
  slices.erase(slices.begin(), slices.end() - 1);
  if (unit.queueDepth)
    upTo(tileM);
  return slices;
}

/// Fills in how tiles come in and what they take; false where they do not fit and need not.
bool Judge::fits(ScratchpadContractionPlan &plan, bool forced) const {
  const MatrixUnit &unit = *plan.unit;
  plan.wholeTiles = divides(plan.mDim, plan.tileM) && divides(plan.nDim, plan.tileN);
  plan.copyA = operandCopies(a, plan).way;
  plan.copyB = operandCopies(b, plan).way;
  choosePitches(plan);
  plan.chooseGroups();

  const int64_t bytesA = elementBytes(unit.a.element), bytesB = elementBytes(unit.b.element);
  const int64_t accumulators = 2 * rounded(plan.tileM * plan.tileN * elementBytes(unit.c.element));
  const bool apart = unit.c.residence == Residence::Accumulator;
  int64_t buffers = apart ? 0 : accumulators;
  for (const TiledArray &array : llvm::concat<const TiledArray>(tailLoads, tailStores))
    if (!isInPlace(array.one.near, plan))
      buffers += rounded(2 * (array.rows ? plan.tileM / plan.slices : 1) * (array.cols ? plan.tileN : 1) *
                         array.one.elementBytes);
  auto stageBytes = [&] {
    return (plan.copyA == CopyWay::None ? 0 : rounded(plan.stages * plan.tileM * plan.pitchA * bytesA)) +
           (plan.copyB == CopyWay::None ? 0 : rounded(plan.stages * plan.tileK * plan.pitchB * bytesB));
  };
  while (plan.stages > 2 && !forced && buffers + stageBytes() > share.scratchpadBytes)
    --plan.stages;
  plan.scratchpadBytes = buffers + stageBytes();
  plan.accumulatorBytes = apart ? accumulators : 0;
  return forced || (plan.scratchpadBytes <= share.scratchpadBytes &&
                    (!apart || plan.accumulatorBytes <= cores.accumulator->bytes));
}

/// Blocks of `unit` elements that exist in a tile, in the mean over all tiles of `size` elements.
static double blocksOf(int64_t size, int64_t tile, int64_t unit) {
  return double(llvm::divideCeil(size, unit)) / double(llvm::divideCeil(size, tile));
}

/// Slices of a tile that have rows: where one tile has all rows, those below the edge are empty.
int64_t Judge::slicesWithRows(const ScratchpadContractionPlan &plan) const {
  const int64_t rows = llvm::alignTo(size.m, blockOfRows(*plan.unit));
  return std::min<int64_t>(plan.slices, llvm::divideCeil(rows, plan.tileM / plan.slices));
}

/// Clocks of the core for the elements of a slice of `rows` rows, in the mean over all tiles: rows that exist, and all
/// columns of a tile by one nest, or one block of the unit's columns after the other.
double Judge::tailClocks(int64_t rows, const ScratchpadContractionPlan &plan) const {
  const MatrixUnit &unit = *plan.unit;
  const int64_t tiles = llvm::divideCeil(size.n, plan.tileN), rest = restBlocks(plan), block = blockOfRows(unit);
  auto clocksOf = [&](int64_t cols) {
    return once(knownTails, {plan.unit, rows, cols, plan.slices > 1, rest != 0},
                [&] { return coreClocks(tailNest(rows, cols, plan), cores, chip); });
  };
  double all = double(tiles - (rest != 0)) * clocksOf(plan.tileN);
  if (rest)
    all += double(rest) * clocksOf(unit.n);
  const double ofTile = blocksOf(size.m, plan.tileM, block) * double(block) / double(plan.tileM);
  return all / double(tiles) * ofTile * double(plan.slices) / double(slicesWithRows(plan));
}

/// What a slice of `rows` rows copies for the tail.
Judge::TailCopies Judge::copiesOfTail(const ScratchpadContractionPlan &plan, int64_t rows, const TileCopyPlan &copyA,
                                      const TileCopyPlan &copyB) const {
  TailCopies tail;
  for (bool isIn : {true, false}) {
    SmallVector<TileCopyPlan> copies;
    if (isIn) // a slice's commands follow those of the step
      copies = {copyA, copyB};
    const double before = coreClocksOf(copies);
    for (const TiledArray &array : isIn ? tailLoads : tailStores) {
      if (isInPlace(array.one.near, plan))
        continue;
      TileCopyPlan copy = copiesOf(array, rows, isIn, plan);
      (isIn ? tail.in : tail.out) += copy.engineClocks;
      copies.push_back(copy);
      if (copy.engine) {
        tail.engine = copy.engine;
        tail.data += std::max(0.0, copy.engineClocks - copy.commands * copy.engine->latency);
      }
    }
    tail.commands += coreClocksOf(copies) - before;
  }
  return tail;
}

/// What the commands of a step of so many `blocks` along m, n and k ask for; the core's `slice` is done between groups.
IterationLoad Judge::issueLoad(const ScratchpadContractionPlan &plan, const std::array<double, 3> &blocks,
                               double slice) const {
  const MatrixUnit &unit = *plan.unit;
  auto whole = [&](unsigned i) { return int64_t(std::ceil(blocks[i])); };
  const double instructions = blocks[0] * blocks[1] * blocks[2];
  IterationLoad load{.unit = plan.unitClocks, .groups = double(plan.groups())};
  load.issue = load.early = issueOf(unit, whole(0), whole(1), whole(2));
  if (load.groups > 1) {
    const int64_t gm = plan.groupM / unit.m, gn = plan.groupN / unit.n, gk = plan.groupK / unit.k;
    const int64_t along = (plan.groupM < plan.tileM) + (plan.groupN < plan.tileN) + (plan.groupK < plan.tileK);
    double around = aroundGroupClocks + double(along - 1) * furtherGroupClocks;
    for (unsigned dim : {plan.mDim, plan.nDim, plan.kDim})
      around += !plan.hasAllBlocks(dim, knownExtent(dim)) * existingClocks;
    load.issue = load.groups * around + instructions * issueOf(unit, gm, gn, gk) / double(gm * gn * gk);
    const double after = double(plan.copiesAfter());
    load.early = (after + 1) * load.issue / load.groups + after * slice / double(plan.rowGroups());
  }
  if (unit.queueDepth) { // a command is taken when all but so many of those before it have left the queue
    load.queue = plan.unitClocks * std::min(1.0, double(unit.queueDepth) / instructions);
    load.early = std::max(load.early, plan.unitClocks * double(plan.copiesAfter() + 1) / load.groups - load.queue);
  }
  return load;
}

/// Without a zero flag the core clears what it has read, and both tiles of sums once.
double Judge::clearingClocks(const ScratchpadContractionPlan &plan) const {
  if (plan.unit->init == UnitInit::ZeroFlag)
    return 0;
  return once(knownClearings, {plan.unit, plan.tileM, plan.tileN}, [&] {
    TileNest sums(2 * plan.tileM, plan.tileN);
    sums.add(elementBytes(plan.unit->c.element), /*rows=*/true, /*cols=*/true, /*isWritten=*/true);
    return coreClocks(sums.shape, cores, chip);
  });
}

/// Fills in the clocks of a plan that fits; false where something cannot be moved.
bool Judge::price(ScratchpadContractionPlan &plan) {
  isWhole = share.hasVersions && llvm::all_of(ArrayRef{dims.mDim, dims.nDim, dims.kDim}, [&](unsigned dim) {
              return c.nest.tripCounts[dim] || sizeOf(dim) % plan.tileAlong(dim) == 0;
            });
  return priceTiles(plan);
}

bool Judge::priceTiles(ScratchpadContractionPlan &plan) {
  const MatrixUnit &unit = *plan.unit;
  // Of cores with one tile each the slowest has a whole one: tiles at the edges are others'.
  const int64_t tiles = size.tiles(plan.tileM, plan.tileN);
  if (tiles <= share.cores && (size.m > plan.tileM || size.n > plan.tileN)) {
    llvm::SaveAndRestore ofSlowest(size);
    size.m = std::min(size.m, plan.tileM);
    size.n = std::min(size.n, plan.tileN);
    return priceTiles(plan);
  }
  const int64_t steps = llvm::divideCeil(size.k, plan.tileK) * size.otherK, rows = plan.tileM / plan.slices;
  TileCopyPlan copyA = operandCopies(a, plan), copyB = operandCopies(b, plan);

  // The unit and the core take the blocks of a tile in which something exists.
  const double um = blocksOf(size.m, plan.tileM, unit.m), un = blocksOf(size.n, plan.tileN, unit.n),
               uk = blocksOf(size.k, plan.tileK, unit.k), instructions = um * un * uk;
  const double loads = unit.stationary == 'B' ? un * uk : unit.stationary == 'A' ? um * uk : 0;
  const double moving = ownWaits(plan, /*loads=*/false);
  const double both = ownWaits(plan, /*loads=*/true);
  plan.unitClocks = instructions * (unit.issue + moving) + loads * (unit.loadStationary + both - moving);
  const int64_t slices = slicesWithRows(plan);
  const bool hasRest = restBlocks(plan) || !plan.hasAllBlocks(dims.nDim, knownExtent(dims.nDim));
  const double nests = double(plan.groups()) * (hasRest ? 2 : 1); // of whole tiles, and of blocks
  const double ofDynamicSlice =
      (isWhole ? wholeSliceClocks : dynamicSliceClocks) * double(dynamicOf({dims.mDim, dims.nDim}));
  const double slice = tailClocks(plan.rowsOfGroup(), plan) * double(rows) / double(plan.rowsOfGroup()) +
                       (nests - 1) * aroundRowsClocks + ofDynamicSlice;

  const double ofDynamicStep =
      (isWhole ? wholeStepClocks : dynamicStepClocks) * double(dynamicOf({dims.mDim, dims.nDim, dims.kDim}));

  const TailCopies tailCopies = copiesOfTail(plan, rows, copyA, copyB);
  // Slices of the last tile follow the unit's work.
  const int64_t own = llvm::divideCeil(tiles, share.cores);
  const double slicesInSteps = double(slices) * (own - 1) / (double(own) * steps);
  // The copies of the first step have ended before the unit begins.
  const double besideUnit = 1 - 1 / (double(own) * steps);
  plan.unitClocks +=
      bankWaits(plan, instructions, copyA, copyB, besideUnit, tailCopies.data * slicesInSteps, tailCopies.engine);
  StagedTime products{issueLoad(plan, {um, un, uk}, slice), steps, plan.stages};
  IterationLoad &step = products.load;
  step.in = copyA.engineClocks + copyB.engineClocks;
  step.commands = coreClocksOf({copyA, copyB});
  step.byCore = (copyA.engine ? 0 : copyA.coreClocks) + (copyB.engine ? 0 : copyB.coreClocks);
  step.core = step.issue + aroundStepClocks + ofDynamicStep;
  plan.copyClocks = step.in + tailCopies.in;
  plan.coreClocks = step.core + step.commands + slice + tailCopies.commands;
  StagedTime finish{{.in = tailCopies.in,
                     .commands = tailCopies.commands,
                     .core = slice,
                     .out = tailCopies.out,
                     .groups = double(plan.rowGroups())},
                    slices};
  // The last results are there after the unit's latency.
  const double empty = emptySliceClocks + (nests - 1) * (aroundRowsClocks + loopClocks) + ofDynamicSlice;
  plan.clocks = clearingClocks(plan) + products.clocksWith(finish, own) + std::max(0.0, unit.latency - unit.issue) +
                empty * double(own * (plan.slices - slices));
  if (!std::isfinite(plan.clocks)) // no engine moves one of the tiles, and the core cannot
    return false;
  plan.busy = own * steps * plan.unitClocks / plan.clocks;
  plan.seconds = secondsOf(plan.clocks, chip);
  return true;
}

std::optional<ScratchpadContractionPlan>
tilewright::planScratchpadContraction(const Contraction &c, const TargetDescription &chip, const CoreHierarchy &cores,
                                      const CoreShare &share, const TailShape &tail, const PlanOptions &options,
                                      std::string &reason, std::vector<ScratchpadContractionPlan> *considered) {
  Stopwatch stopwatch("planning");
  auto forced = [&](StringRef name) { return forcedValue(options.overrides, name); };
  // Multiples of the unit in powers of two, the last one covering the size, and for each of these the smallest tile
  // that cuts a known size into as many; or what is forced.
  auto sizes = [&](StringRef name, int64_t unit, unsigned dim) {
    if (auto value = forced(name))
      return SmallVector<int64_t>{int64_t(llvm::alignTo(std::max<int64_t>(1, *value), unit))};
    SmallVector<int64_t> result;
    int64_t size = ContractionExtents::of(c, dim), blocks = std::max<int64_t>(1, llvm::divideCeil(size, unit));
    for (int64_t tile = unit;; tile *= 2) {
      int64_t even = evenPart(blocks, tile / unit) * unit;
      if (even < tile && c.nest.tripCounts[dim] && !llvm::is_contained(result, even))
        result.push_back(even);
      result.push_back(tile);
      if (tile >= size || tile >= 32 * unit)
        return result;
    }
  };
  const bool isForced = isTileForced(options);
  std::optional<ScratchpadContractionPlan> smallest;
  const NumericFreedom freedom{NumericFreedom::of(Settings::of(c.c.op)).fast, options.mayReassociate};
  std::string lacks;
  SmallVector<const MatrixUnit *> units;
  for (const MatrixUnit &unit : chip.units())
    if (computesFromScratchpad(unit, c, cores, freedom, lacks))
      units.push_back(&unit);
  const SmallVector<TiledDimensions> possible = possibleDimensions(c, reason);
  if (possible.empty())
    return std::nullopt;
  SmallVector<unsigned> dynamic;
  for (unsigned dim = 0; dim < c.nest.depth(); ++dim)
    if (!c.nest.tripCounts[dim])
      dynamic.push_back(dim);
  SmallVector<Judge, 0> judges;                   // of each possible pair of dimensions
  std::vector<ScratchpadContractionPlan> fitting; // priced with large sizes
  std::vector<unsigned> judgeOf;
  PlanSearch<ScratchpadContractionPlan> search(considered);
  auto consider = [&](ScratchpadContractionPlan plan) {
    Judge &judge = judges.back();
    plan.stages = std::max<int64_t>(2, forced("stages").value_or(3));
    ScratchpadContractionPlan loose = plan;
    if (isForced && judge.fits(loose, true) && judge.price(loose) &&
        (!smallest || loose.scratchpadBytes < smallest->scratchpadBytes))
      smallest = loose;
    if (!judge.fits(plan, false))
      return;
    auto weigh = [&](ScratchpadContractionPlan plan) {
      if (!judge.price(plan))
        return;
      if (!dynamic.empty()) {
        fitting.push_back(plan);
        judgeOf.push_back(judges.size() - 1);
      }
      search.offer(std::move(plan));
    };
    weigh(plan);
    if (plan.groups() == 1)
      return;
    plan.takeOneGroup();
    weigh(plan);
  };
  for (const TiledDimensions &dims : possible) {
    ScratchpadContractionPlan plan;
    static_cast<TiledDimensions &>(plan) = dims;
    judges.emplace_back(c, chip, cores, share, tail, dims);
    for (const MatrixUnit *unit : units)
      for (int64_t tileM : sizes("tile_m", unit->m, dims.mDim))
        for (int64_t tileN : sizes("tile_n", unit->n, dims.nDim))
          for (int64_t tileK : sizes("tile_k", unit->k, dims.kDim)) {
            plan.unit = unit;
            plan.tileM = tileM;
            plan.tileN = tileN;
            plan.tileK = tileK;
            for (int64_t slices : judges.back().possibleSlices(*unit, tileM, tileK)) {
              plan.slices = slices;
              consider(plan);
            }
          }
  }
  std::optional<ScratchpadContractionPlan> best = std::move(search.best);
  if (!fitting.empty()) {
    Contraction sized = c;
    auto priceAt = [&](unsigned candidate, ArrayRef<int64_t> sizes) {
      for (auto [dim, size] : llvm::zip_equal(dynamic, sizes))
        sized.nest.tripCounts[dim] = size;
      Judge &judge = judges[judgeOf[candidate]];
      judge.size = ContractionExtents(sized, judge.dims);
      ScratchpadContractionPlan plan = fitting[candidate];
      return judge.price(plan) ? plan.seconds : std::numeric_limits<double>::infinity();
    };
    const bool isOne = isForced || !share.hasVersions;
    SizeVersions versions = chooseVersions(fitting.size(), dynamic.size(), isOne ? 1 : mostVersions, priceAt);
    best = fitting[versions.candidates.front()];
    for (unsigned other : ArrayRef(versions.candidates).drop_front())
      best->others.push_back(fitting[other]);
    best->tests = std::move(versions.tests);
    for (SizeTest &test : best->tests)
      if (!test.isVersion())
        test.dim = int(dynamic[test.dim]);
  }
  if (!best)
    best = smallest;
  if (!best)
    reason = !units.empty()
                 ? "no tile of its units fits the scratchpad and the accumulators, with copies that engines make"
             : !lacks.empty() ? lacks
                              : "no unit of the chip computes these element types out of the scratchpad";
  return best;
}
