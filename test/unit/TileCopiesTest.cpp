//===- TileCopiesTest.cpp - Who moves a tile of a core --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Records of one path, the way of a tile by limits and clocks, means at edges.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/TileCopies.h"
#include "core/Machine/CopyPaths.h"
#include "tilewright/ChipTable.h"
#include "tilewright/MachineGraph.h"
#include "gtest/gtest.h"
#include <cmath>

namespace tile_copies_test {

using namespace tilewright;

namespace {

CopyEngine engine(const char *name, bool turns = false) {
  CopyEngine copy;
  copy.name = name;
  copy.from = "global";
  copy.to = "scratchpad";
  copy.maxRank = 2;
  copy.alignBytes = 16;
  copy.burstBytes = 256;
  copy.bytesPerClock = 16;
  copy.latency = 50;
  copy.emit = {EmissionKind::ExternalCall, std::string("call_") + name, {}};
  if (turns)
    copy.arrangements = {"transpose"};
  return copy;
}

/// `reaches`: the core loads and stores global memory itself.
TableDescription chipWith(std::vector<CopyEngine> copies, bool reaches = true) {
  if (reaches) {
    CopyEngine loads = engine("loads");
    loads.to = "vector";
    loads.asynchronous = false;
    copies.push_back(loads);
  }
  ChipTable table;
  table.name = "npu";
  table.levels = {{"core", LevelKind::Parallel, 2}};
  Memory global, scratchpad, vector;
  global.name = "global";
  global.level = scratchpad.level = vector.level = "core";
  scratchpad.name = "scratchpad";
  scratchpad.kind = MemoryKind::Scratchpad;
  scratchpad.bytes = 1 << 16;
  scratchpad.banks = 1;
  scratchpad.bankBytes = 64;
  vector.name = "vector";
  vector.kind = MemoryKind::RegisterFile;
  vector.entries = 32;
  vector.entryBytes = 64;
  table.memories = {global, scratchpad, vector};
  table.copies = std::move(copies);
  return TableDescription("test", table);
}

TileCopyPlan plan(const TableDescription &chip, TileTransfer tile) {
  return planTileCopy(tile, /*in=*/true, CoreHierarchy::of(chip), chip);
}

} // namespace

TEST(TileCopies, APathHasARecordForRowsAndOneThatTransposes) {
  CopyEngine waits = engine("waits");
  waits.asynchronous = false;
  std::vector<CopyEngine> all = {waits, engine("turned", true), engine("rows")};
  CopyPath path = copyPath(all, "global", "scratchpad");
  EXPECT_EQ(path.rows->name, "rows");
  EXPECT_EQ(path.transposed->name, "turned");
  EXPECT_EQ(transposedCall(path), "call_turned");
  std::vector<CopyEngine> both = {engine("both", true)};
  path = copyPath(both, "global", "scratchpad");
  EXPECT_EQ(path.rows, path.transposed);
  EXPECT_EQ(transposedCall(path), "call_both_transposed");
  EXPECT_EQ(copyPath(all, "scratchpad", "global").rows, nullptr);
}

TEST(TileCopies, RowsAreCommandsByBurstsAndRank) {
  TableDescription chip = chipWith({engine("rows")});
  TileCopyPlan rows = plan(chip, {64, 600, 1, TileOrder::Rows, 640});
  EXPECT_EQ(rows.way, CopyWay::Rows);
  EXPECT_EQ(rows.commands, 3);
  EXPECT_DOUBLE_EQ(rows.engineClocks, 3 * 50 + 64 * 38.0); // 600 bytes take 38 beats of 16
  // What the engine cannot address is the core's.
  EXPECT_EQ(plan(chip, {64, 600, 1, TileOrder::Rows, 1000}).way, CopyWay::Core);
  CopyEngine lines = engine("lines");
  lines.maxRank = 1;
  EXPECT_EQ(plan(chipWith({lines}), {64, 600, 1, TileOrder::Rows, 640}).commands, 64 * 3);
}

TEST(TileCopies, TransposedTilesGoTheWayOfTheFewestClocks) {
  TileTransfer tile{64, 64, 2, TileOrder::Columns, 256};
  EXPECT_EQ(plan(chipWith({engine("rows")}), tile).way, CopyWay::Core);
  TileCopyPlan turned = plan(chipWith({engine("rows"), engine("turned", true)}), tile);
  EXPECT_EQ(turned.way, CopyWay::Transposed);
  EXPECT_DOUBLE_EQ(turned.engineClocks, 50 + 64 * 64 * 2 / 16.0);
  // An engine that transposes, but only so slowly that the core is done before.
  CopyEngine slow = engine("turned", true);
  slow.bytesPerClock = 0.5;
  EXPECT_EQ(plan(chipWith({engine("rows"), slow}), tile).way, CopyWay::Core);
  // Single elements need addresses of single elements, and commands that cost little.
  CopyEngine single = engine("single");
  single.alignBytes = 1;
  single.latency = 4;
  TileCopyPlan elements = plan(chipWith({single}), tile);
  EXPECT_EQ(elements.way, CopyWay::Elements);
  EXPECT_EQ(elements.commands, 64);
  single.accessBytes = {16};
  EXPECT_EQ(plan(chipWith({single}), tile).way, CopyWay::Core);
  // A queue that is full keeps the core.
  single.accessBytes = {};
  single.queueDepth = 16;
  elements = plan(chipWith({single}), tile);
  EXPECT_DOUBLE_EQ(elements.coreClocks, elements.engineClocks * (64 - 16) / 64);
}

TEST(TileCopies, ACoreThatDoesNotReachTheArrayMovesNothing) {
  TileTransfer tile{64, 64, 1, TileOrder::Columns, 64};
  TableDescription chip = chipWith({engine("rows")}, /*reaches=*/false);
  EXPECT_EQ(plan(chip, tile).way, CopyWay::Core);
  EXPECT_TRUE(std::isinf(plan(chip, tile).coreClocks));
  EXPECT_TRUE(std::isinf(planTileCopies(tile, 128, 128, false, true, CoreHierarchy::of(chip), chip).coreClocks));
  tile.order = TileOrder::Rows;
  EXPECT_EQ(plan(chip, tile).way, CopyWay::Rows);
}

TEST(TileCopies, TilesAtEdgesCountAsWhatExists) {
  TableDescription chip = chipWith({engine("rows")});
  CoreHierarchy cores = CoreHierarchy::of(chip);
  TileTransfer tile{32, 64, 1, TileOrder::Rows, 96};
  TileCopyPlan whole = planTileCopies(tile, 64, 128, true, true, cores, chip),
               part = planTileCopies(tile, 48, 96, true, true, cores, chip);
  EXPECT_DOUBLE_EQ(whole.engineClocks, 50 + 32 * 64 / 16.0);
  EXPECT_DOUBLE_EQ(part.engineClocks, 50 + 48 * 96 / 4 / 16.0);
  EXPECT_GT(part.coreClocks, whole.coreClocks); // zeros
  EXPECT_DOUBLE_EQ(planTileCopies(tile, 48, 96, false, true, cores, chip).coreClocks, whole.coreClocks);
}

} // namespace tile_copies_test
