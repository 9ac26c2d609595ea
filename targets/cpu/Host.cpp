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

#include "targets/cpu/Chips.h"
#include "targets/cpu/HostFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace tilewright;
using namespace tilewright::cpu;
using llvm::formatv;
using llvm::StringRef;
namespace json = llvm::json;

/// Sizes and ways of the first core's data caches as the machine lists them.
static void takeCaches(ChipTable &chip, const HostFacts &facts) {
  for (const CacheFact &fact : facts.caches) {
    std::string name = formatv("l{0}", fact.level);
    auto known = llvm::find_if(chip.memories, [&](const Memory &memory) { return memory.name == name; });
    if (known == chip.memories.end())
      continue;
    const bool isShared =
        known == llvm::find_if(chip.memories, [](const Memory &m) { return m.kind == MemoryKind::Cache; });
    known->bytes = isShared ? std::min(known->bytes, usableBytes(facts, fact)) : fact.bytes;
    if (fact.lineBytes > 0)
      known->lineBytes = fact.lineBytes;
    if (fact.ways > 0)
      known->ways = fact.ways;
    if (known->bytes % (known->lineBytes * known->ways) != 0)
      known->ways = known->bytes % (known->lineBytes * 16) == 0 ? 16 : 1; // what a hypervisor made up
  }
}

std::string cpu::familyOf(StringRef processor, const llvm::StringMap<bool> &features, const llvm::Triple &triple) {
  auto has = [&](auto... names) { return (features.lookup(names) && ...); };
  const std::string instructionSet = instructionSetOf(features, triple);
  if (triple.isAArch64())
    return has("i8mm", "bf16", "fullfp16") ? "neoverse-v1" : instructionSet;
  if (instructionSet != "x86-64-v4")
    return instructionSet;
  // Only AMD's processors have sse4a; only Intel's from Sapphire Rapids on have avx512fp16.
  if (has("sse4a"))
    return has("avxvnni", "avx512bf16") ? "zen5" : has("avx512bf16") ? "zen4" : "x86-64-v4";
  if (!has("avx512fp16"))
    return "x86-64-v4";
  if (has("amx-tile", "amx-bf16", "amx-int8"))
    return has("prefetchi") ? "granite-rapids" : "sapphire-rapids";
  return processor == "emeraldrapids" ? "emerald-rapids" : "sapphire-rapids-noamx";
}

ChipTable cpu::detectGeneric() { return genericChip(findFacts(), "host-generic"); }

ChipTable cpu::detectHost() {
  HostFacts facts = findFacts();
  std::string family = familyOf(facts.processor, facts.features, facts.triple);
  if (family == instructionSetOf(facts.features, facts.triple))
    return genericChip(facts, "host");
  ChipTable chip = recordOf(family);
  addMachine(chip, facts, "host");
  takeCaches(chip, facts);
  chip.summary = formatv("this machine: {0}, {1} cores, rates of {2}", chip.cpu, facts.cores, family);
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
  std::string source = "measured: by tw-calibrate on this machine";
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
        formatv("rates file '{0}': {1}; write it anew with tw-calibrate --target cpu --save, or delete it", path,
                llvm::toString(applied.takeError())));
  if (*applied)
    chip.summary = formatv("this machine: {0}, {1} cores, rates measured on it", chip.cpu, chip.levels.front().count);
  return chip;
}
