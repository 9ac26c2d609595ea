//===- MachineGraphTest.cpp - Chips by the roles of their parts -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the graph says of cores with vectors, of lanes, of cores with a
/// scratchpad, and of chips between these. No memory has a usual name.
///
//===----------------------------------------------------------------------===//

#include "tilewright/MachineGraph.h"
#include "tilewright/ChipTable.h"
#include "tilewright/Cores.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"
#include <gtest/gtest.h>

namespace machine_graph_test {

using namespace tilewright;

namespace {

Memory memory(const char *name, const char *level, MemoryKind kind, int64_t bytes) {
  Memory result;
  result.name = name;
  result.level = level;
  result.kind = kind;
  result.bytes = bytes;
  result.bytesPerClock = result.writeBytesPerClock = 16;
  result.latency = 100;
  return result;
}

Memory file(const char *name, const char *level, MemoryRole role = MemoryRole::Inferred) {
  Memory result = memory(name, level, MemoryKind::RegisterFile, 2048);
  result.entries = 32;
  result.entryBytes = 64;
  result.role = role;
  return result;
}

CopyEngine engine(const char *name, const char *from, const char *to, Completion completion = Completion::WaitGroup) {
  CopyEngine result;
  result.name = name;
  result.from = from;
  result.to = to;
  result.completion = completion;
  result.asynchronous = completion != Completion::AtOnce;
  result.bytesPerClock = 32;
  return result;
}

ChipTable cores() {
  ChipTable table;
  table.name = "cores";
  table.levels = {{"cpu", LevelKind::Parallel, 8}, {"element", LevelKind::Lockstep, 16}};
  table.memories = {memory("dimm", "cpu", MemoryKind::Global, 1 << 30),
                    memory("far", "cpu", MemoryKind::Cache, 1 << 22), memory("near", "cpu", MemoryKind::Cache, 1 << 15),
                    file("zmm", "cpu")};
  return table;
}

ChipTable lanes() {
  ChipTable table;
  table.name = "lanes";
  table.levels = {{"sm", LevelKind::Parallel, 132},
                  {"cga", LevelKind::Concurrent, 8},
                  {"cta", LevelKind::Concurrent, 32},
                  {"bundle", LevelKind::Lockstep, 32},
                  {"thread", LevelKind::Single, 1}};
  table.memories = {memory("hbm", "sm", MemoryKind::Global, int64_t(1) << 36),
                    memory("last", "sm", MemoryKind::Cache, 1 << 25),
                    memory("smem", "cta", MemoryKind::Scratchpad, 232448),
                    file("pool", "cta"),
                    file("own", "thread"),
                    file("uniform", "bundle"),
                    file("adders", "thread", MemoryRole::Accumulators)};
  table.copies = {engine("async", "hbm", "smem"), engine("tiles", "hbm", "smem", Completion::Barrier),
                  engine("matrices", "smem", "own", Completion::AtOnce)};
  table.numbers = {{Number::Shuffle, 0.5, "guess: a test"}};
  return table;
}

ChipTable engines(bool coreReachesMemory) {
  ChipTable table;
  table.name = "engines";
  table.levels = {{"tile", LevelKind::Parallel, 4}};
  table.memories = {memory("ddr", "tile", MemoryKind::Global, 1 << 30),
                    memory("sram", "tile", MemoryKind::Scratchpad, 1 << 20),
                    memory("adders", "tile", MemoryKind::Accumulator, 1 << 16), file("v", "tile")};
  table.copies = {engine("in", "ddr", "sram"), engine("out", "sram", "ddr")};
  if (coreReachesMemory)
    table.copies.push_back(engine("loads", "ddr", "v", Completion::AtOnce));
  return table;
}

TableDescription chip(ChipTable table) { return TableDescription("test", std::move(table)); }

std::vector<Way> waysOf(const MachineGraph &graph, const char *from, const char *to) {
  std::vector<Way> result;
  for (const MachineEdge *edge : graph.ways(*graph.named(from), *graph.named(to)))
    result.push_back(edge->way);
  return result;
}

/// What the compiler asks before it chooses passes, models and the form of a program.
std::string answersOf(const MachineGraph &graph) {
  std::string text = graph.startsLaunches() ? "launches" : "any thread calls it";
  if (graph.lanesAreThreads())
    text += "; lanes";
  if (graph.hasBlocks())
    text += "; blocks" + (graph.blockMemory() ? " over " + graph.blockMemory()->name : "");
  if (graph.threadMemory())
    text += "; thread's own " + graph.threadMemory()->name;
  if (!graph.caches().empty())
    text += "; caches";
  return graph.sharesOutermost() ? text + "; outermost shared" : text;
}

} // namespace

TEST(MachineGraph, CoresWithVectors) {
  TableDescription described = chip(cores());
  const MachineGraph &graph = described.graph();
  EXPECT_EQ(&described.graph(), &graph) << "made once";
  EXPECT_EQ(graph.parallelLevel()->name, "cpu");
  EXPECT_EQ(graph.concurrentLevel(), nullptr);
  EXPECT_EQ(graph.lockstepLevel()->count, 16);
  EXPECT_FALSE(graph.lanesAreThreads());
  EXPECT_EQ(graph.threadLevel()->name, "cpu");
  EXPECT_EQ(answersOf(graph), "any thread calls it; caches");
  EXPECT_EQ(graph.backing()->name, "dimm");
  EXPECT_EQ(graph.lastSharedCache()->name, "far");
  EXPECT_EQ(graph.caches().front()->name, "near");
  EXPECT_EQ(graph.memoryOf("cpu"), nullptr);
  EXPECT_EQ(graph.vectorRegisters()->name, "zmm");
  EXPECT_EQ(graph.laneRegisters(), nullptr);
  EXPECT_EQ(described.vectorRegisters(), (std::pair<int64_t, int64_t>(32, 64)));
  EXPECT_TRUE(graph.reaches("cpu", *graph.backing()));
  EXPECT_EQ(waysOf(graph, "dimm", "far"), std::vector{Way::Fill});
  EXPECT_EQ(waysOf(graph, "far", "near"), std::vector{Way::Fill});
  EXPECT_EQ(waysOf(graph, "dimm", "zmm"), std::vector{Way::LoadsAndStores});
  EXPECT_EQ(waysOf(graph, "zmm", "zmm"), std::vector<Way>()) << "elements of a vector are no threads";
}

TEST(MachineGraph, LanesOfSubgroups) {
  TableDescription described = chip(lanes());
  const MachineGraph &graph = described.graph();
  EXPECT_EQ(graph.parallelLevel()->name, "sm");
  EXPECT_EQ(graph.concurrentLevel()->name, "cta");
  EXPECT_EQ(graph.clusterLevel()->name, "cga");
  EXPECT_EQ(graph.lockstepLevel()->name, "bundle");
  EXPECT_TRUE(graph.lanesAreThreads());
  EXPECT_EQ(graph.threadLevel()->name, "bundle");
  EXPECT_EQ(answersOf(graph), "launches; lanes; blocks over smem; caches; outermost shared");
  EXPECT_EQ(graph.memoryOf("cta")->name, "smem");
  EXPECT_EQ(graph.memoryOf("sm"), nullptr);
  EXPECT_EQ(graph.laneRegisters()->name, "own");
  EXPECT_EQ(graph.registerPool()->name, "pool");
  EXPECT_EQ(graph.uniformRegisters()->name, "uniform");
  EXPECT_EQ(graph.accumulatorRegisters()->name, "adders");
  EXPECT_EQ(graph.lastSharedCache()->name, "last");
  EXPECT_EQ(inferRole(*graph.uniformRegisters(), graph.levels().drop_back()), MemoryRole::LaneRegisters)
      << "no level of the lanes";
  EXPECT_EQ(graph.depth("thread"), 4u);
  EXPECT_EQ(graph.depth("warp"), std::nullopt);
  EXPECT_TRUE(graph.reaches("thread", *graph.backing()));
  EXPECT_TRUE(graph.reaches("thread", *graph.memoryOf("cta")));
  EXPECT_TRUE(graph.reaches("cta", *graph.memoryOf("cta")));
  EXPECT_FALSE(graph.reaches("sm", *graph.memoryOf("cta"))) << "another block's";
  EXPECT_FALSE(graph.reaches("bundle", *graph.laneRegisters())) << "another lane's";
  EXPECT_EQ(waysOf(graph, "hbm", "smem"), (std::vector{Way::Engine, Way::Engine}));
  EXPECT_EQ(waysOf(graph, "hbm", "own"), std::vector{Way::LoadsAndStores});
  EXPECT_EQ(waysOf(graph, "own", "own"), std::vector{Way::Exchange});
  const MachineEdge *matrices = graph.ways(*graph.named("smem"), *graph.named("own")).front();
  ASSERT_NE(matrices->engine, nullptr);
  EXPECT_EQ(matrices->way, Way::LoadsAndStores) << "instructions of the lanes, described by a record";
  EXPECT_EQ(matrices->engine->name, "matrices");
  EXPECT_EQ(graph.ways(*graph.named("own"), *graph.named("own")).front()->bytesPerClock, 0.5 * 32 * 64);
}

TEST(MachineGraph, CoresWithAScratchpad) {
  TableDescription described = chip(engines(true));
  const MachineGraph &graph = described.graph();
  EXPECT_EQ(graph.memoryOf("tile")->name, "sram");
  EXPECT_EQ(graph.accumulatorMemoryOf("tile")->name, "adders");
  EXPECT_EQ(answersOf(graph), "launches; thread's own sram");
  EXPECT_EQ(graph.accumulatorRegisters(), nullptr);
  EXPECT_EQ(graph.lastSharedCache(), nullptr);
  EXPECT_TRUE(graph.reaches("tile", *graph.backing()));
  EXPECT_EQ(waysOf(graph, "ddr", "sram"), std::vector{Way::Engine});
  EXPECT_EQ(waysOf(graph, "sram", "v"), std::vector{Way::LoadsAndStores});
}

TEST(MachineGraph, CoresThatOnlyEnginesServe) {
  TableDescription described = chip(engines(false));
  const MachineGraph &graph = described.graph();
  EXPECT_FALSE(graph.reaches("tile", *graph.backing()));
  EXPECT_TRUE(graph.reaches("tile", *graph.memoryOf("tile")));
  EXPECT_TRUE(waysOf(graph, "ddr", "v").empty());
  // A description that says so outright, either way.
  ChipTable table = engines(false);
  table.memories[0].access = MemoryAccess::LoadsAndStores;
  TableDescription open = chip(table);
  EXPECT_TRUE(open.graph().reaches("tile", *open.graph().backing()));
  table = lanes();
  table.memories[0].access = MemoryAccess::EnginesOnly;
  TableDescription closed = chip(table);
  EXPECT_FALSE(closed.graph().reaches("thread", *closed.graph().backing()));
  EXPECT_TRUE(waysOf(closed.graph(), "hbm", "own").empty());
}

/// Lanes, and a unit whose accumulators lie in a memory of the block: neither a chip of registers nor one of cores.
TEST(MachineGraph, LanesWithAnAccumulatorMemory) {
  ChipTable table = lanes();
  table.memories.push_back(memory("tensor", "cta", MemoryKind::Accumulator, 1 << 18));
  MatrixUnit unit;
  unit.name = "test.unit";
  unit.a.residence = unit.b.residence = Residence::Scratchpad;
  unit.a.memory = unit.b.memory = "smem";
  unit.c.residence = Residence::Accumulator;
  unit.c.memory = "tensor";
  table.units = {unit};
  TableDescription described = chip(table);
  const MachineGraph &graph = described.graph();
  EXPECT_EQ(graph.accumulatorMemoryOf("cta")->name, "tensor");
  EXPECT_EQ(graph.accumulatorRegisters()->name, "adders");
  ASSERT_EQ(graph.units().size(), 1u);
  EXPECT_EQ(graph.units()[0].a, graph.memoryOf("cta"));
  EXPECT_EQ(graph.units()[0].c, graph.accumulatorMemoryOf("cta"));
  EXPECT_TRUE(graph.reaches("thread", *graph.units()[0].c));
  EXPECT_EQ(answersOf(graph), "launches; lanes; blocks over smem; caches; outermost shared");
}

/// Lanes whose block has a memory that copies alone fill: it is none that they hand data over in, however large it is.
TEST(MachineGraph, LanesWithAMemoryThatEnginesFill) {
  ChipTable table = lanes();
  table.memories.push_back(memory("operands", "cta", MemoryKind::Scratchpad, 1 << 20));
  table.memories.back().access = MemoryAccess::EnginesOnly;
  table.copies.push_back(engine("fill", "hbm", "operands"));
  TableDescription both = chip(table);
  EXPECT_EQ(answersOf(both.graph()), "launches; lanes; blocks over smem; caches; outermost shared");
  EXPECT_EQ(both.graph().memoryOf("cta")->name, "operands");
  EXPECT_FALSE(both.graph().reaches("bundle", *both.graph().named("operands")));
  llvm::erase_if(table.memories, [](const Memory &memory) { return memory.name == "smem"; });
  TableDescription alone = chip(table);
  EXPECT_EQ(answersOf(alone.graph()), "launches; lanes; blocks; caches; outermost shared");
  EXPECT_EQ(LaneHierarchy::of(alone.graph()).scratchpadBytes, 0);
}

/// Cores that wait for each other, with vectors: neither blocks of lanes nor cores for themselves.
TEST(MachineGraph, ClustersOfVectorCores) {
  ChipTable table = cores();
  table.levels.insert(table.levels.begin() + 1, {"core", LevelKind::Concurrent, 4});
  table.memories.back() = file("zmm", "core", MemoryRole::VectorRegisters);
  table.memories.push_back(memory("tcm", "cpu", MemoryKind::Scratchpad, 1 << 18));
  TableDescription described = chip(table);
  EXPECT_EQ(described.graph().threadLevel()->name, "core");
  EXPECT_EQ(answersOf(described.graph()), "any thread calls it; caches; outermost shared");
}

/// Vector cores with a scratchpad of their own, which engines fill, and with caches.
TEST(MachineGraph, VectorCoresWithAScratchpad) {
  ChipTable table = cores();
  table.memories.push_back(memory("tcm", "cpu", MemoryKind::Scratchpad, 1 << 18));
  table.copies = {engine("in", "dimm", "tcm")};
  TableDescription described = chip(table);
  const MachineGraph &graph = described.graph();
  EXPECT_EQ(graph.memoryOf("cpu")->name, "tcm");
  EXPECT_TRUE(graph.reaches("cpu", *graph.backing()));
  EXPECT_TRUE(graph.reaches("cpu", *graph.memoryOf("cpu")));
  EXPECT_EQ(waysOf(graph, "dimm", "tcm"), std::vector{Way::Engine});
  EXPECT_EQ(answersOf(graph), "launches; thread's own tcm; caches");
  CoreHierarchy core = CoreHierarchy::of(described);
  EXPECT_EQ(core.cores, 8);
  EXPECT_TRUE(core.in && core.in->name == "in" && !core.out && core.reachesGlobal);
  // Without caches it is a record of an engine that would say so.
  llvm::erase_if(table.memories, [](const Memory &memory) { return memory.kind == MemoryKind::Cache; });
  TableDescription bare = chip(table);
  EXPECT_EQ(answersOf(bare.graph()), "launches; thread's own tcm");
  EXPECT_FALSE(bare.graph().reaches("cpu", *bare.graph().backing()));
}

/// No level below the cores, no scratchpad: one thread each, whose registers are a file of single values.
TEST(MachineGraph, CoresAlone) {
  ChipTable table;
  table.name = "alone";
  table.levels = {{"hart", LevelKind::Parallel, 2}};
  table.memories = {memory("ram", "hart", MemoryKind::Global, 1 << 20)};
  TableDescription described = chip(table);
  const MachineGraph &graph = described.graph();
  EXPECT_TRUE(graph.reaches("hart", *graph.backing()));
  EXPECT_EQ(graph.lockstepLevel(), nullptr);
  EXPECT_EQ(graph.vectorRegisters(), nullptr);
  EXPECT_TRUE(graph.edges().empty());
  EXPECT_EQ(described.vectorRegisters(), (std::pair<int64_t, int64_t>(0, 0)));
}

TEST(MachineGraph, EveryChipHasItsRoles) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &name : target->chips()) {
      auto described = target->describe(name);
      ASSERT_TRUE(static_cast<bool>(described)) << llvm::toString(described.takeError());
      const MachineGraph &graph = (*described)->graph();
      ASSERT_NE(graph.backing(), nullptr) << name;
      for (const Memory &each : (*described)->memories())
        EXPECT_NE(graph.roleOf(each), MemoryRole::Inferred) << name << " " << each.name;
      EXPECT_EQ(graph.lanesAreThreads(), graph.concurrentLevel() != nullptr) << name;
      EXPECT_NE(graph.vectorRegisters() != nullptr, graph.laneRegisters() != nullptr) << name;
      for (const UnitHomes &unit : graph.units())
        EXPECT_TRUE(unit.c || unit.unit->c.opaque) << name << " " << unit.unit->name;
    }
}

} // namespace machine_graph_test
