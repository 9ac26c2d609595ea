//===- GenericChip.cpp - The record of a CPU that no table knows ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Facts first: caches, pages, clock and datapath as the machine says them. What it does not say is that of its
/// instruction set's record, or follows from the facts by a rule whose reason stands beside it.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/Chips.h"
#include "targets/cpu/HostFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <cmath>

using namespace tilewright;
using namespace tilewright::cpu;
using llvm::formatv;
using llvm::StringRef;

std::string cpu::instructionSetOf(const llvm::StringMap<bool> &features, const llvm::Triple &triple) {
  auto has = [&](auto... names) { return (features.lookup(names) && ...); };
  if (triple.isAArch64())
    return "armv8-a";
  if (has("avx512f", "avx512bw", "avx512vl", "avx512dq"))
    return "x86-64-v4";
  return has("avx2", "fma") ? "x86-64-v3" : "x86-64";
}

ChipTable cpu::recordOf(StringRef name) {
  std::vector<ChipTable> chips = recordedChips();
  return *llvm::find_if(chips, [&](const ChipTable &chip) { return chip.name == name; });
}

/// Whether the processor that LLVM names has all features that `record` has, as far as this machine knows them: a
/// hypervisor may give a model number that belongs to another processor.
static bool nameFits(StringRef processor, const ChipTable &record, const llvm::Triple &triple) {
  if (!triple.isX86())
    return true;
  llvm::SmallVector<StringRef> names;
  if (llvm::X86::parseArchX86(processor) == llvm::X86::CK_None)
    return false;
  llvm::X86::getFeaturesForCPU(processor, names);
  return llvm::all_of(record.features, [&](StringRef feature) {
    return llvm::is_contained(names, feature) || llvm::is_contained(record.lacks, feature);
  });
}

void cpu::addMachine(ChipTable &chip, const HostFacts &facts, StringRef name) {
  chip.name = name.str();
  chip.triple = facts.triple.str();
  chip.cpu = nameFits(facts.processor, chip, facts.triple) ? facts.processor : chip.cpu;
  chip.features.clear();
  chip.lacks.clear();
  // What has no form for wide registers takes hundreds of clocks beside them (`NoVectorForm` of Chips.td).
  for (const auto &feature : facts.features)
    (feature.second && feature.first() != "sse4a" ? chip.features : chip.lacks).push_back(feature.first().str());
  llvm::sort(chip.features);
  llvm::sort(chip.lacks);
  // Every unit that the features allow; the record prices those that it has.
  for (MatrixUnit &unit : recordedUnits()) {
    if (llvm::none_of(chip.units, [&](const MatrixUnit &known) { return known.name == unit.name; }))
      chip.units.push_back(unit);
  }
  llvm::erase_if(chip.units, [&](const MatrixUnit &unit) {
    return !llvm::all_of(unit.features, [&](const std::string &feature) { return chip.hasFeature(feature); });
  });
  chip.levels.front().count = facts.cores;
  for (Memory &memory : chip.memories)
    if (memory.kind == MemoryKind::Global)
      memory.bytes = facts.memoryBytes;
}

/// The value of a number of the record; `otherwise` where it has none.
static double numberOf(const ChipTable &chip, Number number, double otherwise) {
  auto known = llvm::find_if(chip.numbers, [&](const Fact &fact) { return fact.number == number; });
  return known == chip.numbers.end() ? otherwise : known->value;
}

static void setNumber(ChipTable &chip, Number number, double value, const std::string &source) {
  auto known = llvm::find_if(chip.numbers, [&](const Fact &fact) { return fact.number == number; });
  if (known == chip.numbers.end())
    known = chip.numbers.insert(
        llvm::lower_bound(chip.numbers, number, [](const Fact &fact, Number each) { return fact.number < each; }),
        {number, value, source});
  *known = {number, value, source};
}

/// Registers that are wider than the datapath run in turns: two pipes for arithmetic, loads and shuffles of as many
/// bits as the datapath has, one for stores (so all Zen cores; no vendor but AMD says how wide its datapath is).
static void addDatapath(ChipTable &chip, const HostFacts &facts, int64_t registerBits) {
  if (facts.datapathBits <= 0)
    return;
  const std::string source = formatv("found: a datapath of {0} bits (CPUID), two pipes", facts.datapathBits);
  const double width = double(facts.datapathBits) / double(registerBits);
  for (Number number :
       {Number::FmaF32, Number::FmaF64, Number::AddF32, Number::MulF32, Number::Load, Number::BroadcastLoad})
    setNumber(chip, number, std::min(2.0, 2 * width), source);
  setNumber(chip, Number::Store, std::min(1.0, width), source);
  setNumber(chip, Number::Shuffle, std::min(2.0, 2 * width), source);
  setNumber(chip, Number::Exp2F32, std::min(2.0, 2 * width) / 12, source + ", a polynomial of 12 operations");
  for (MatrixUnit &unit : chip.units) {
    const double turns = double(unit.n * bitWidth(unit.c.element)) / double(2 * facts.datapathBits);
    if (unit.c.opaque || unit.issue >= turns)
      continue;
    unit.issue = turns;
    unit.latency = std::max(unit.latency, turns);
    unit.source = source;
  }
}

/// AMD's cores without AVX-512 make a masked store of many operations: one in 12 clocks was measured on Zen 1.
static void addMasks(ChipTable &chip, const HostFacts &facts) {
  if (facts.isAmd() && !chip.hasFeature("avx512vl"))
    setNumber(chip, Number::MaskedStore, 1.0 / 12, "guess: as on Zen 1, where it was measured");
}

/// The latency of a load from memory in nanoseconds. Guess: servers take about 100; where a hypervisor is, each walk of
/// page tables goes through its tables, too: 127, 163 and 182 were measured in virtual machines of three kinds.
static double memoryNanoseconds(const HostFacts &facts) { return facts.isVirtual ? 160 : 100; }

/// Clock and memory. What one core gets of a server's memory in GB/s was measured on four: reads 28.7, 27.5, 13.6 and
/// 13.5, stores 29.4, 16.5, 10.1 and 8.5, streaming stores 53, 22.5, 21.4 and 19.6; the guess is the middle.
static void addClock(ChipTable &chip, const HostFacts &facts) {
  if (facts.clockMHz <= 0)
    return;
  chip.clockMHz = facts.clockMHz;
  const double clocksOfNanosecond = facts.clockMHz / 1000;
  for (Memory &memory : chip.memories) {
    if (memory.kind != MemoryKind::Global)
      continue;
    constexpr double read = 20.5, write = 13.3, streaming = 22; // GB/s
    memory.bytesPerClock = read / clocksOfNanosecond;
    memory.writeBytesPerClock = write / clocksOfNanosecond;
    memory.streamingWriteBytesPerClock = streaming / clocksOfNanosecond;
    memory.latency = std::round(memoryNanoseconds(facts) * clocksOfNanosecond);
    memory.source =
        formatv("guess: {0} ns and the middle of four servers at {1:f0} MHz", memoryNanoseconds(facts), facts.clockMHz);
  }
}

/// Bandwidths of a cache. The first gives as much as loads and stores take, but for a sixteenth in which they meet. The
/// path from the second has 32 bytes on AMD's cores, which say how wide their datapath is, and more where that is wider
/// (measured: 30 on Zen 4, 28 on Zen 1); they share the last one within a complex, which gives 32 bytes a clock: 25 of
/// them were measured on Zen 4, 19 on Zen 1.
static void addRates(Memory &memory, const ChipTable &chip, const HostFacts &facts, int64_t level,
                     int64_t registerBytes) {
  constexpr double used = 15.0 / 16;
  if (level == 1) {
    memory.bytesPerClock = used * double(registerBytes) * numberOf(chip, Number::Load, 1);
    memory.writeBytesPerClock = double(registerBytes) * numberOf(chip, Number::Store, 1);
    memory.source = "found: its size; guess: as fast as loads and stores, less a sixteenth";
  } else if (level == 2 && facts.datapathBits > 0) {
    memory.bytesPerClock = used * std::max(32.0, double(facts.datapathBits) / 8);
    memory.writeBytesPerClock =
        std::min(memory.bytesPerClock * used, double(registerBytes) * numberOf(chip, Number::Store, 1));
    memory.latency = 14;
    memory.source = "found: its size; guess: a path of 32 bytes or as wide as the datapath, less a sixteenth";
  } else if (level > 2 && facts.isAmd()) {
    memory.bytesPerClock = 25;
    memory.writeBytesPerClock = 24;
    memory.latency = 50;
    memory.source = "found: its size; guess: shared within a complex, as on Zen 4";
  } else {
    memory.source = "found: its size; " + memory.source;
  }
  memory.streamingWriteBytesPerClock = memory.writeBytesPerClock;
}

int64_t cpu::usableBytes(const HostFacts &facts, const CacheFact &cache) {
  constexpr int64_t ofCore = int64_t(6) << 20, ofPackage = int64_t(48) << 20;
  if (!facts.isVirtual || cache.level < 3)
    return cache.bytes;
  return std::min(cache.bytes, facts.isAmd() ? facts.cores * ofCore : ofPackage);
}

/// Caches as the machine lists them, in the place of the record's.
static void addCaches(ChipTable &chip, const HostFacts &facts, int64_t registerBytes) {
  if (facts.caches.empty())
    return;
  std::vector<Memory> caches;
  auto isCache = [](const Memory &memory) { return memory.kind == MemoryKind::Cache; };
  for (const CacheFact &fact : llvm::reverse(facts.caches)) { // records begin with the last one
    std::string name = formatv("l{0}", fact.level);
    auto known = llvm::find_if(chip.memories, [&](const Memory &memory) { return memory.name == name; });
    Memory cache = known != chip.memories.end() ? *known : *llvm::find_if(chip.memories, isCache);
    cache.name = name;
    cache.bytes = usableBytes(facts, fact);
    cache.lineBytes = fact.lineBytes > 0 ? fact.lineBytes : cache.lineBytes;
    cache.ways = fact.ways > 0 ? fact.ways : cache.ways;
    addRates(cache, chip, facts, fact.level, registerBytes);
    if (cache.bytes < fact.bytes)
      cache.source += formatv("; guess: the cores of a virtual machine find {0} MiB of it", cache.bytes >> 20);
    if (cache.bytes % (cache.lineBytes * cache.ways) != 0)
      cache.ways = cache.bytes % (cache.lineBytes * 16) == 0 ? 16 : 1; // what a hypervisor made up
    caches.push_back(cache);
  }
  auto first = llvm::find_if(chip.memories, isCache);
  const auto place = first - chip.memories.begin();
  llvm::erase_if(chip.memories, isCache);
  chip.memories.insert(chip.memories.begin() + place, caches.begin(), caches.end());
}

/// Pages that stay translated. Rows of operands lie whole pages apart, often four or another power of two: then they
/// reach a part of the sets of the second buffer, since on AMD's processors the low bits of a page's number choose the
/// set (on Zen 4 768 of 3072 stay of pages four apart). Intel's mix more bits.
static void addTranslations(ChipTable &chip, const HostFacts &facts) {
  constexpr int64_t apart = 4;
  if (facts.firstTranslations > 0)
    setNumber(chip, Number::FirstTranslations, double(facts.firstTranslations), "found: CPUID");
  if (facts.translations > 0 && facts.isAmd())
    setNumber(chip, Number::Translations, double(facts.translations) / apart,
              formatv("found: {0} (CPUID), of pages four apart a quarter", facts.translations));
  else if (facts.translations > 0)
    setNumber(chip, Number::Translations, double(facts.translations), "found: CPUID");
}

/// Instructions a clock and those under way, as LLVM's scheduling model of the processor has them.
static void addPipeline(ChipTable &chip, const HostFacts &facts) {
  if (chip.cpu != facts.processor)
    return;
  llvm::InitializeNativeTarget();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(facts.triple, error);
  std::unique_ptr<llvm::MCSubtargetInfo> core(
      target ? target->createMCSubtargetInfo(facts.triple, chip.cpu, /*Features=*/"") : nullptr);
  if (!core || !core->getSchedModel().hasInstrSchedModel())
    return;
  const std::string source = formatv("found: {0}; cited: LLVM's scheduling model of it", chip.cpu);
  setNumber(chip, Number::CoreIssue, core->getSchedModel().IssueWidth, source);
  setNumber(chip, Number::Window, core->getSchedModel().MicroOpBufferSize, source);
}

/// What no loop of tw-calibrate's shows of the core. Tile registers came with Golden Cove; later cores are not smaller.
static void addCore(ChipTable &chip, const HostFacts &facts) {
  if (!facts.features.lookup("amx-tile"))
    return;
  setNumber(chip, Number::Window, 512, "found: AMX, so Golden Cove or later; cited: Intel optimization manual");
  setNumber(chip, Number::Hidden, 0.5, "found: AMX; guess: fitted on Granite Rapids");
  setNumber(chip, Number::Exposed, 0.2, "found: AMX; guess: fitted on Granite Rapids");
}

ChipTable cpu::genericChip(const HostFacts &facts, StringRef name) {
  const std::string isa = instructionSetOf(facts.features, facts.triple);
  ChipTable chip = recordOf(isa);
  addMachine(chip, facts, name);
  auto registers =
      llvm::find_if(chip.memories, [](const Memory &memory) { return memory.kind == MemoryKind::RegisterFile; });
  const int64_t registerBytes = registers->entryBytes;
  addDatapath(chip, facts, 8 * registerBytes);
  addMasks(chip, facts);
  addClock(chip, facts);
  addCaches(chip, facts, registerBytes);
  addTranslations(chip, facts);
  addPipeline(chip, facts);
  addCore(chip, facts);
  chip.summary = formatv("this machine: {0}, {1} cores, what it says of itself and {2}", chip.cpu, facts.cores, isa);
  return chip;
}
