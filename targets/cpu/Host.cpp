//===- Host.cpp - The CPU that this process runs on ------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the host by its features and caches and gives it the rates that were
/// measured on it, those of its family, or those of its instruction set.
///
//===----------------------------------------------------------------------===//

#include "llvm/TargetParser/Host.h"
#include "targets/cpu/Chips.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <thread>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

using namespace tilewright;
using llvm::formatv;
using llvm::StringRef;
namespace json = llvm::json;

/// First line of a small file, empty if it cannot be read.
static std::string readLine(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().split('\n').first.trim().str() : "";
}

/// "32K" or "1M" in bytes, 0 if it is no size.
static int64_t parseSize(StringRef text) {
  int64_t scale = text.consume_back("K") ? 1024 : text.consume_back("M") ? 1048576 : 1;
  int64_t value = 0;
  return text.getAsInteger(10, value) ? 0 : value * scale;
}

/// Sizes and ways of the first core's data caches as the kernel lists them.
static void detectCaches(ChipTable &chip) {
  for (int index = 0; index < 8; ++index) {
    std::string folder = formatv("/sys/devices/system/cpu/cpu0/cache/index{0}/", index);
    std::string type = readLine(folder + "type");
    if (type != "Data" && type != "Unified")
      continue;
    std::string name = "l" + readLine(folder + "level");
    int64_t bytes = parseSize(readLine(folder + "size"));
    int64_t line = parseSize(readLine(folder + "coherency_line_size"));
    int64_t ways = parseSize(readLine(folder + "ways_of_associativity"));
    auto known = llvm::find_if(chip.memories, [&](const Memory &memory) { return memory.name == name; });
    if (known == chip.memories.end() || bytes <= 0)
      continue;
    // A virtual machine sees the whole last cache of a package whose other cores it does not see.
    const bool isShared =
        known == llvm::find_if(chip.memories, [](const Memory &m) { return m.kind == MemoryKind::Cache; });
    known->bytes = isShared ? std::min(known->bytes, bytes) : bytes;
    if (line > 0)
      known->lineBytes = line;
    if (ways > 0)
      known->ways = ways;
    if (known->bytes % (known->lineBytes * known->ways) != 0)
      known->ways = known->bytes % (known->lineBytes * 16) == 0 ? 16 : 1; // what a hypervisor made up
  }
}

std::string cpu::familyOf(StringRef processor, const llvm::StringMap<bool> &features, const llvm::Triple &triple) {
  auto has = [&](auto... names) { return (features.lookup(names) && ...); };
  if (triple.isAArch64())
    return has("i8mm", "bf16", "fullfp16") ? "neoverse-v1" : "armv8-a";
  if (!has("avx512f", "avx512bw", "avx512vl", "avx512dq"))
    return has("avx2", "fma") ? "x86-64-v3" : "x86-64";
  // Only AMD's processors have sse4a; only Intel's from Sapphire Rapids on have avx512fp16.
  if (has("sse4a"))
    return has("avxvnni", "avx512bf16") ? "zen5" : has("avx512bf16") ? "zen4" : "x86-64-v4";
  if (!has("avx512fp16"))
    return "x86-64-v4";
  if (has("amx-tile", "amx-bf16", "amx-int8"))
    return has("prefetchi") ? "granite-rapids" : "sapphire-rapids";
  return processor == "emeraldrapids" ? "emerald-rapids" : "sapphire-rapids-noamx";
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

/// What the processor has and the operating system lets a process use: tile registers are state that Linux gives on
/// request (the check of `AmxTiles` in MatrixUnits.td asks again in compiled programs).
static llvm::StringMap<bool> usableFeatures() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
#if defined(__linux__) && defined(__x86_64__)
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM of arch_prctl
  if (features.lookup("amx-tile") && syscall(SYS_arch_prctl, requestPermission, tileData) != 0)
    for (auto &feature : features)
      if (feature.first().starts_with("amx-"))
        feature.second = false;
#endif
  return features;
}

ChipTable cpu::detectHost() {
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string processor = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = usableFeatures();
  std::string family = familyOf(processor, features, triple);
  std::vector<ChipTable> chips = recordedChips();
  auto record = llvm::find_if(chips, [&](const ChipTable &chip) { return chip.name == family; });

  ChipTable chip = *record;
  chip.name = "host";
  chip.triple = triple.str();
  chip.cpu = nameFits(processor, *record, triple) ? processor : record->cpu;
  chip.features.clear();
  chip.lacks.clear();
  for (const auto &feature : features)
    (feature.second ? chip.features : chip.lacks).push_back(feature.first().str());
  llvm::sort(chip.features);
  llvm::sort(chip.lacks);

  // Every unit that the features allow; the family prices those that it has.
  for (MatrixUnit &unit : recordedUnits()) {
    if (llvm::none_of(chip.units, [&](const MatrixUnit &known) { return known.name == unit.name; }))
      chip.units.push_back(unit);
  }
  llvm::erase_if(chip.units, [&](const MatrixUnit &unit) {
    return !llvm::all_of(unit.features, [&](const std::string &feature) { return chip.hasFeature(feature); });
  });

  int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  chip.levels.front().count = cores;
  detectCaches(chip);
  for (Memory &memory : chip.memories) {
    if (memory.kind == MemoryKind::Global)
      memory.bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  }
  chip.summary = formatv("this machine: {0}, {1} cores, rates of {2}", chip.cpu, cores, family);
  return chip;
}

std::string cpu::ratesPath() {
  if (auto path = llvm::sys::Process::GetEnv("TILEWRIGHT_RATES"))
    return *path;
  llvm::SmallString<128> path;
  if (auto config = llvm::sys::Process::GetEnv("XDG_CONFIG_HOME"))
    path = *config;
  else if (!llvm::sys::path::user_config_directory(path))
    return "";
  llvm::sys::path::append(path, "tilewright", "cpu-rates.json");
  return path.str().str();
}

/// Whether a rate, a time in clocks or a clock in MHz can be meant: what a file says beside that is not taken.
static bool plausible(double number) { return number >= 1e-6 && number <= 1e6; }

/// A plausible number of `object`, or the old value.
static void replace(double &value, const json::Object &object, StringRef key) {
  if (auto number = object.getNumber(key); number && plausible(*number))
    value = *number;
}

llvm::Expected<bool> cpu::applyRates(ChipTable &chip, StringRef text) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return parsed.takeError();
  const json::Object *root = parsed->getAsObject();
  if (!root || !root->getString("cpu"))
    return llvm::createStringError("no object with the key \"cpu\"");
  if (*root->getString("cpu") != chip.cpu)
    return false;
  replace(chip.clockMHz, *root, "clockMHz");
  std::string source = "measured: by tw-targets --measure on this machine";
  if (const json::Object *units = root->getObject("units")) {
    for (MatrixUnit &unit : chip.units) {
      if (const json::Object *costs = units->getObject(unit.name)) {
        replace(unit.issue, *costs, "issue");
        replace(unit.latency, *costs, "latency");
        unit.latency = std::max(unit.latency, unit.issue);
        unit.source = source;
      }
    }
  }
  if (const json::Object *rates = root->getObject("rates")) {
    for (const auto &entry : *rates) {
      auto number = entry.second.getAsNumber();
      if (!number || !plausible(*number))
        continue;
      StringRef name = entry.first;
      const NumberField *field = llvm::find_if(numberFields(), [&](const NumberField &each) {
        return each.name == name || (!each.oldKey.empty() && each.oldKey == name);
      });
      if (field == numberFields().end())
        continue;
      if (field->name != name)
        return llvm::createStringError("the rate '" + name + "' is '" + field->name + "' now");
      auto known = llvm::find_if(chip.numbers, [&](const Fact &fact) { return fact.number == field->number; });
      if (known == chip.numbers.end())
        chip.numbers.push_back({field->number, *number, source});
      else
        *known = {field->number, *number, source};
    }
    llvm::sort(chip.numbers, [](const Fact &a, const Fact &b) { return a.number < b.number; });
  }
  if (const json::Object *memories = root->getObject("memories")) {
    for (Memory &memory : chip.memories) {
      if (const json::Object *numbers = memories->getObject(memory.name)) {
        replace(memory.bytesPerClock, *numbers, "read");
        replace(memory.writeBytesPerClock, *numbers, "write");
        replace(memory.streamingWriteBytesPerClock, *numbers, "streamingWrite");
        replace(memory.latency, *numbers, "latency");
        // What one core finds of a cache: never more than there is, in whole sets.
        int64_t set = memory.lineBytes * memory.ways;
        if (auto bytes = numbers->getInteger("bytes");
            bytes && memory.kind == MemoryKind::Cache && set > 0 && *bytes >= set && *bytes < memory.bytes)
          memory.bytes = *bytes / set * set;
        memory.source = source;
      }
    }
  }
  return true;
}

llvm::Expected<ChipTable> cpu::host() {
  ChipTable chip = detectHost();
  std::string path = ratesPath();
  if (path.empty())
    return chip;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return chip; // nothing was saved
  llvm::Expected<bool> applied = applyRates(chip, (*file)->getBuffer());
  if (!applied)
    return llvm::createStringError(
        formatv("rates file '{0}': {1}; write it anew with tw-targets --measure --save, or delete it", path,
                llvm::toString(applied.takeError())));
  if (*applied)
    chip.summary = formatv("this machine: {0}, {1} cores, rates measured on it", chip.cpu, chip.levels.front().count);
  return chip;
}
