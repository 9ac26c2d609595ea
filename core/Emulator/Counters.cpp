//===- Counters.cpp - What a launch did, as numbers -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sums over sites and units, and their form as JSON.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;

llvm::StringRef tilewright::findingName(FindingKind kind) {
  static constexpr const char *names[] = {"race",     "missing-wait",  "divergent-barrier", "divergent-collective",
                                          "deadlock", "out-of-bounds", "misaligned",        "uninitialised",
                                          "misuse",   "in-flight",     "missing-fence"};
  return names[static_cast<int>(kind)];
}

std::string Finding::str() const {
  std::string text = llvm::formatv("{0}: {1}: kernel {2}, {3}: {4}", location, findingName(kind), kernel, op, message);
  if (!otherOp.empty())
    text += llvm::formatv(" (the other: {0} at {1})", otherOp, otherLocation);
  if (times > 1)
    text += llvm::formatv(" [{0} times]", times);
  return text;
}

std::string EmulatorMode::str() const {
  std::string text = lifo ? "lifo" : "fifo";
  static constexpr const char *names[numEngines] = {"copies", "units", "stores"};
  for (unsigned e = 0; e < numEngines; ++e)
    text += llvm::formatv(", {0} {1}", names[e], late & (1u << e) ? "late" : "early");
  return text;
}

std::vector<EmulatorMode> tilewright::allModes(unsigned engines) {
  std::vector<EmulatorMode> modes;
  for (bool lifo : {false, true}) {
    for (unsigned late = 0; late < (1u << numEngines); ++late) {
      if ((late & ~engines) == 0)
        modes.push_back({lifo, late});
    }
  }
  return modes;
}

static void add(MemoryCounters &memory, const SiteCount &count, bool writes) {
  (writes ? memory.writes : memory.reads) += count.executions;
  (writes ? memory.writtenBytes : memory.readBytes) += count.bytes;
  memory.transactions += count.transactions;
  memory.cycles += count.cycles;
  memory.conflictCycles += count.conflicts;
}

/// The entry of `list` whose `key` is `name`; made if it is missing.
template <typename T> static T &entry(std::vector<T> &list, std::string T::*key, const std::string &name) {
  for (T &one : list) {
    if (one.*key == name)
      return one;
  }
  list.emplace_back();
  list.back().*key = name;
  return list.back();
}

void Machine::sumCounters(const Launch &launch, double seconds) {
  if (!counting)
    return;
  KernelCounters &sum = counters[launch.kernel];
  sum.kernel = launch.kernel;
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  ++sum.launches;
  sum.blocks += blocks;
  sum.lanes += blocks * launch.block[0] * launch.block[1] * launch.block[2];
  sum.seconds += seconds;
  auto addSites = [&](const std::vector<SiteCount> &counts, const Memory *memory, const char *fallback) {
    std::string name = memory ? memory->name : fallback;
    MemoryCounters &total = entry(sum.memories, &MemoryCounters::memory, name);
    for (auto [index, count] : llvm::enumerate(counts)) {
      if (!count.executions)
        continue;
      const Site &site = kernels->sites[index];
      // A copy reads global memory and writes the scratchpad, or the reverse; its site says the direction.
      bool writes = site.kind != AccessKind::Read;
      if (site.asynchronous && site.unit < 0)
        writes = (&counts == &scratchpadCounts) == (site.kind == AccessKind::Write);
      add(total, count, writes);
      SiteCounters *found = nullptr;
      for (SiteCounters &one : sum.sites) {
        if (one.op == site.op && one.location == site.location && one.memory == name && one.writes == writes)
          found = &one;
      }
      if (!found) {
        sum.sites.push_back({site.op, site.location, name, writes, site.asynchronous});
        found = &sum.sites.back();
      }
      found->executions += count.executions;
      found->bytes += count.bytes;
      found->transactions += count.transactions;
      found->cycles += count.cycles;
      found->conflictCycles += count.conflicts;
    }
  };
  addSites(globalCounts, kernels->global, "global");
  addSites(scratchpadCounts, kernels->scratchpad, "scratchpad");
  for (auto [index, issues] : llvm::enumerate(unitIssues)) {
    if (!issues)
      continue;
    const MatrixUnit &unit = kernels->units[index].unit;
    UnitCounters &counted = entry(sum.units, &UnitCounters::unit, unit.name);
    counted.issues += issues;
    counted.cycles += issues * unit.issue;
  }
  for (unsigned e = 0; e <= numEngines; ++e) {
    if (!engineCounters[e].commands && !engineCounters[e].busyCycles)
      continue;
    EngineCounters &counted = entry(sum.engines, &EngineCounters::engine, engineNames[e]);
    counted.commands += engineCounters[e].commands;
    counted.bytes += engineCounters[e].bytes;
    counted.busyCycles += engineCounters[e].busyCycles;
  }
  sum.cycles += cycles;
  sum.slowestBlockCycles += timed ? launchEnd - launchStart : 0; // blocks of a launch run side by side
  barriers[launch.kernel] += barriersPassed;
  sum.instructions.resize(numInstructionClasses);
  for (unsigned c = 0; c < numInstructionClasses; ++c) {
    sum.instructions[c].first = instructionClasses[c];
    for (auto [index, executions] : llvm::enumerate(blockExecutions))
      sum.instructions[c].second += executions * kernels->blocks[index].instructions[c];
  }
}

llvm::json::Object tilewright::toJson(const KernelCounters &counters) {
  llvm::json::Array memories, units, engines, sites;
  for (const MemoryCounters &memory : counters.memories)
    memories.push_back(llvm::json::Object{{"memory", memory.memory},
                                          {"reads", memory.reads},
                                          {"writes", memory.writes},
                                          {"read_bytes", memory.readBytes},
                                          {"written_bytes", memory.writtenBytes},
                                          {"transactions", memory.transactions},
                                          {"cycles", memory.cycles},
                                          {"conflict_cycles", memory.conflictCycles}});
  for (const UnitCounters &unit : counters.units)
    units.push_back(llvm::json::Object{{"unit", unit.unit}, {"issues", unit.issues}, {"issue_cycles", unit.cycles}});
  for (const EngineCounters &engine : counters.engines)
    engines.push_back(llvm::json::Object{{"engine", engine.engine},
                                         {"commands", engine.commands},
                                         {"bytes", engine.bytes},
                                         {"busy_cycles", engine.busyCycles}});
  for (const SiteCounters &site : counters.sites)
    sites.push_back(llvm::json::Object{{"op", site.op},
                                       {"location", site.location},
                                       {"memory", site.memory},
                                       {"writes", site.writes},
                                       {"asynchronous", site.asynchronous},
                                       {"executions", site.executions},
                                       {"bytes", site.bytes},
                                       {"transactions", site.transactions},
                                       {"cycles", site.cycles},
                                       {"conflict_cycles", site.conflictCycles}});
  llvm::json::Object instructions;
  for (const auto &[name, count] : counters.instructions)
    instructions[name] = count;
  llvm::json::Object object{{"kernel", counters.kernel},
                            {"launches", counters.launches},
                            {"blocks", counters.blocks},
                            {"lanes", counters.lanes},
                            {"emulation_seconds", counters.seconds},
                            {"memories", std::move(memories)},
                            {"units", std::move(units)},
                            {"instructions", std::move(instructions)},
                            {"sites", std::move(sites)}};
  if (!counters.engines.empty()) {
    object["engines"] = std::move(engines);
    object["cycles"] = counters.cycles;
    object["slowest_block_cycles"] = counters.slowestBlockCycles;
  }
  return object;
}

llvm::json::Object tilewright::toJson(const Finding &finding) {
  llvm::json::Object object{
      {"kind", findingName(finding.kind)}, {"kernel", finding.kernel},   {"op", finding.op},
      {"location", finding.location},      {"message", finding.message}, {"times", finding.times}};
  if (!finding.otherOp.empty()) {
    object["other_op"] = finding.otherOp;
    object["other_location"] = finding.otherLocation;
  }
  return object;
}
