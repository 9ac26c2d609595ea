//===- TileCopies.cpp - Who moves a tile of a core, and how ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Clocks of commands by the engine's record, of the core by the instructions
/// of its loops.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/TileCopies.h"
#include "core/CostModel/Machine/BankTraffic.h"
#include "core/CostModel/Machine/CoreAccess.h"
#include "core/CostModel/Machine/CoreInstructions.h"
#include "core/Machine/CopyPaths.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace tilewright;

/// Instructions of the core around a row; of an element with its addresses; around a transposed block.
static constexpr double rowClocks = 6, elementClocks = 9, blockClocks = 12;

int64_t tilewright::unrolledVectors(int64_t count) { return std::clamp<int64_t>(count, 1, 8); }

int64_t tilewright::clearedVectors(int64_t count) {
  return std::clamp<int64_t>(count & -count, 1, llvm::bit_floor(uint64_t(unrolledVectors(count))));
}

int64_t tilewright::transposedBlock(int64_t elementBytes, const TargetDescription &chip) {
  auto [registers, vectorBytes] = chip.vectorRegisters();
  // Half of the registers hold a block; networks of shuffles exist for vectors of 16 to 64 bytes.
  int64_t most = std::min<int64_t>({registers / 2, vectorBytes / elementBytes, 64 / elementBytes});
  int64_t side = most < 1 ? 1 : llvm::bit_floor(uint64_t(most));
  return side * elementBytes < 16 ? 1 : side;
}

static int64_t lanesOf(int64_t elementBytes, const TargetDescription &chip) {
  return std::max<int64_t>(1, chip.vectorRegisters().second / elementBytes);
}

/// What is known of a row when the program is compiled: it is as long as the tile; the only one of its array, shorter
/// than the tile; or of either length, the one at the edge.
enum class RowLength { Whole, Only, Edge };

/// Loads and stores of the core for one row.
static double rowByCore(int64_t cols, int64_t lanes, RowLength length) {
  int64_t vectors = cols / lanes, rest = cols % lanes;
  if (length == RowLength::Edge)
    return rowClocks + loopClocks + vectors * (2 + loopClocks) +
           (!rest     ? 1
            : vectors ? 5
                      : 5.0 * llvm::Log2_64(lanes) + 2 * llvm::popcount(uint64_t(rest))); // a test of each bit
  if (length == RowLength::Only) // its tests and a loop of one turn are gone
    return rowClocks + vectors * 2 + (vectors > 1 ? vectors * loopClocks : 0) +
           (!rest     ? 0
            : vectors ? 2
                      : 2.0 * llvm::popcount(uint64_t(rest)));
  int64_t together = unrolledVectors(vectors);
  return rowClocks + 2 * (vectors + llvm::popcount(uint64_t(rest))) +
         (vectors > together ? vectors / together * loopClocks : 0);
}

/// Clocks that the core's accesses of the array take beyond one each: by vectors, the rest of a row by powers of two,
/// or by one more vector where the row has one; blocks by their rows; else single elements.
static double arrayClocks(const TileTransfer &tile, RowLength length, bool in, const TargetDescription &chip) {
  if (tile.near)
    return 0;
  const CoreAccess access(chip);
  auto beyond = [&](int64_t elements) { return access.globalClocks(elements * tile.elementBytes, in) - 1; };
  const int64_t lanes = lanesOf(tile.elementBytes, chip);
  const int64_t block = tile.order == TileOrder::Columns ? transposedBlock(tile.elementBytes, chip) : 1;
  if (tile.order == TileOrder::Rows) {
    const int64_t vectors = tile.cols / lanes, rest = tile.cols % lanes;
    double row = vectors * beyond(lanes);
    if (rest && vectors && length != RowLength::Whole)
      row += beyond(lanes);
    else
      for (int64_t part = 1; part <= rest; part *= 2)
        row += rest & part ? beyond(part) : 0;
    return tile.rows * row;
  }
  const int64_t inBlocks = block > 1 ? (tile.rows / block) * (tile.cols / block) * block : 0;
  return inBlocks * beyond(block) + (tile.rows * tile.cols - inBlocks * block) * beyond(1);
}

/// Loads and stores of the core.
static TileCopyPlan byCore(const TileTransfer &tile, RowLength length, bool in, const TargetDescription &chip) {
  TileCopyPlan plan;
  int64_t block = tile.order == TileOrder::Columns ? transposedBlock(tile.elementBytes, chip) : 1;
  if (tile.order == TileOrder::Rows) {
    plan.coreClocks = tile.rows * rowByCore(tile.cols, lanesOf(tile.elementBytes, chip), length);
  } else if (block > 1) {
    int64_t blocks = (tile.rows / block) * (tile.cols / block), rest = tile.rows * tile.cols - blocks * block * block;
    plan.coreClocks = blocks * (block * (2.0 + llvm::Log2_64(block)) + blockClocks) + rest * elementClocks;
  } else {
    plan.coreClocks = double(tile.rows) * tile.cols * elementClocks;
  }
  plan.coreClocks += arrayClocks(tile, length, in, chip);
  return plan;
}

/// `beats`: clocks in which data goes.
static TileCopyPlan byEngine(CopyWay way, const CopyEngine &engine, int64_t commands, double beats) {
  TileCopyPlan plan{way, &engine, commands};
  plan.engineClocks = commands * engine.latency + beats;
  plan.coreClocks = commands * commandClocks;
  plan.coreClocks = coreClocksOf(plan);
  return plan;
}

double tilewright::coreClocksOf(llvm::ArrayRef<TileCopyPlan> copies) {
  double core = 0;
  llvm::SmallMapVector<const CopyEngine *, int64_t, 2> commands;
  for (const TileCopyPlan &copy : copies) {
    core += copy.coreClocks;
    if (copy.engine)
      commands[copy.engine] += copy.commands;
  }
  for (auto [engine, count] : commands) {
    int64_t before = engine->queueDepth ? count - engine->queueDepth : 0; // those that the last ones wait for
    double busy = 0;
    for (const TileCopyPlan &copy : copies)
      if (copy.engine == engine && before > 0) {
        const int64_t here = std::min(before, copy.commands);
        busy += copy.engineClocks * here / copy.commands;
        before -= here;
      }
    core = std::max(core, busy);
  }
  return core;
}

static int64_t bursts(const CopyEngine &engine, int64_t rowBytes) {
  return engine.burstBytes ? llvm::divideCeil(rowBytes, engine.burstBytes) : 1;
}

/// What `way` takes; nullopt where the tile cannot go that way.
static std::optional<TileCopyPlan> count(CopyWay way, const TileTransfer &tile, RowLength length, bool in,
                                         const CoreHierarchy &cores, const TargetDescription &chip) {
  if (way == CopyWay::Core) {
    TileCopyPlan plan = byCore(tile, length, in, chip);
    if (!cores.reachesGlobal && !tile.near) // it has no loads and stores there
      plan.coreClocks = std::numeric_limits<double>::infinity();
    return plan;
  }
  if (tile.near)
    return std::nullopt;
  const std::string &global = cores.global->name, &scratchpad = cores.scratchpad->name;
  CopyPath path = copyPath(chip.copies(), in ? global : scratchpad, in ? scratchpad : global);
  int64_t bytes = tile.rows * tile.cols * tile.elementBytes;
  const CopyEngine *engine = way == CopyWay::Transposed ? path.transposed : path.rows;
  bool turns = way != CopyWay::Rows;
  if (!engine || !engine->asynchronous || tile.order != (turns ? TileOrder::Columns : TileOrder::Rows) ||
      (turns && engine->maxRank < 2))
    return std::nullopt;
  if (way == CopyWay::Elements) {
    bool single = tile.elementBytes % engine->alignBytes == 0 &&
                  (engine->burstBytes == 0 || engine->burstBytes >= tile.elementBytes) &&
                  (engine->accessBytes.empty() || llvm::is_contained(engine->accessBytes, tile.elementBytes));
    double beats = beatsOf(tile.rows * tile.cols, tile.elementBytes, engine->bytesPerClock, engine->alignBytes);
    return single ? std::optional(byEngine(way, *engine, std::min(tile.rows, tile.cols), beats)) : std::nullopt;
  }
  const int64_t bits = tile.pitchBits | (cores.reachesGlobal ? 0 : tile.testedBits);
  if (bits % engine->alignBytes != 0)
    return std::nullopt;
  // A transposing command reads rows of what it comes from: of the array, which are columns of the tile, or of the
  // tile.
  int64_t line = turns && in ? tile.rows : tile.cols, lines = engine->maxRank < 2 ? tile.rows : 1;
  double beats = turns ? bytes / engine->bytesPerClock
                       : beatsOf(tile.rows, tile.cols * tile.elementBytes, engine->bytesPerClock, engine->alignBytes);
  return byEngine(way, *engine, bursts(*engine, line * tile.elementBytes) * lines, beats);
}

TileCopyPlan tilewright::planTileCopy(const TileTransfer &tile, bool in, const CoreHierarchy &cores,
                                      const TargetDescription &chip) {
  // Rows as they stand are what an engine is for: the core is left alone.
  if (auto rows = count(CopyWay::Rows, tile, RowLength::Whole, in, cores, chip))
    return *rows;
  TileCopyPlan best = *count(CopyWay::Core, tile, RowLength::Whole, in, cores, chip);
  // Who is done sooner: the core has other work.
  for (CopyWay way : {CopyWay::Transposed, CopyWay::Elements})
    if (auto plan = count(way, tile, RowLength::Whole, in, cores, chip))
      if (std::max(plan->engineClocks, plan->coreClocks) < std::max(best.engineClocks, best.coreClocks))
        best = *plan;
  return best;
}

/// Where the zeros behind `exist` of `all` end; `multiple` 0: at `all`.
static int64_t zerosTo(int64_t exist, int64_t all, int64_t multiple) {
  return multiple ? std::min<int64_t>(all, llvm::alignTo(exist, multiple)) : all;
}

TileCopyPlan tilewright::planTileCopies(const TileTransfer &tile, int64_t rows, int64_t cols, bool zeros, bool in,
                                        const CoreHierarchy &cores, const TargetDescription &chip) {
  TileCopyPlan plan = planTileCopy(tile, in, cores, chip);
  double engine = 0, core = 0;
  int64_t wholeRows = rows / tile.rows, wholeCols = cols / tile.cols, restRows = rows % tile.rows,
          restCols = cols % tile.cols;
  int64_t tiles = (wholeRows + (restRows != 0)) * (wholeCols + (restCols != 0));
  int64_t lanes = std::min(lanesOf(tile.elementBytes, chip), tile.cols & -tile.cols);
  // Zeros behind the edge: columns of vectors by eight rows; below it: whole rows.
  int64_t vectors = tile.cols / lanes, together = clearedVectors(vectors);
  double behind = 1 + loopClocks / 8, below = vectors + (vectors > together ? vectors / together * loopClocks : 0);
  for (auto [existRows, down] : {std::pair(tile.rows, wholeRows), {restRows, int64_t(restRows != 0)}})
    for (auto [existCols, across] : {std::pair(tile.cols, wholeCols), {restCols, int64_t(restCols != 0)}}) {
      if (!down || !across)
        continue;
      TileTransfer part = tile;
      part.rows = existRows;
      part.cols = existCols;
      RowLength length = existCols == tile.cols ? RowLength::Whole : wholeCols == 0 ? RowLength::Only : RowLength::Edge;
      auto counted = count(plan.way, part, length, in, cores, chip);
      double here = counted->coreClocks;
      if (zeros && existCols < tile.cols)
        here += llvm::divideCeil(zerosTo(existCols, tile.cols, tile.padCols) - existCols, lanes) *
                (rowClocks + existRows * behind);
      if (zeros && existRows < tile.rows)
        here += (zerosTo(existRows, tile.rows, tile.padRows) - existRows) * (rowClocks + below);
      engine += down * across * counted->engineClocks;
      core += down * across * here;
    }
  if (tiles > 0) {
    plan.engineClocks = engine / tiles;
    plan.coreClocks = core / tiles;
  }
  return plan;
}
