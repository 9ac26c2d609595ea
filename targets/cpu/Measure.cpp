//===- Measure.cpp - Rates of the machine that this runs on ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures what `host` is priced with and writes it as JSON; MeasureUnits.cpp and
// MeasureMemory.cpp say how each number is found.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/MeasureBench.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace tilewright;
using namespace tilewright::cpu;
using tilewright::MatrixUnit;

/// Three significant digits.
static double rounded(double value) {
  double scale = std::pow(10.0, 2 - std::floor(std::log10(std::max(value, 1e-9))));
  return std::round(value * scale) / scale;
}

/// Costs of units and rates of instructions.
static llvm::Error measureInstructions(Bench &bench, const TargetDescription &chip, llvm::json::Object &units,
                                       llvm::json::Object &rates) {
  auto [registers, registerBytes] = chip.vectorRegisters();
  unsigned chains = std::max<int64_t>(4, registers * 3 / 4);
  for (const MatrixUnit &unit : chip.units()) {
    auto issue = unitClocks(bench, unit, chains);
    if (!issue)
      return issue.takeError();
    auto latency = unitClocks(bench, unit, 1);
    if (!latency)
      return latency.takeError();
    if (!*issue || !*latency)
      continue;
    units[unit.name] = llvm::json::Object{{"issue", rounded(**issue)}, {"latency", rounded(**latency)}};
    bool fma = unit.emit.name == "llvm.intr.fma" && unit.n * bitWidth(unit.c.element) == registerBytes * 8;
    if (fma)
      rates[("fma_" + elementName(unit.c.element)).str()] = rounded(1 / **issue);
  }
  for (auto [field, op] : {std::pair("add_f32", "add.f32"),
                           {"mul_f32", "mul.f32"},
                           {"div_f32", "div.f32"},
                           {"sqrt_f32", "sqrt.f32"},
                           {"shuffle", "shuffle"},
                           {"load", "load"},
                           {"crossing_load", "crossing-load"},
                           {"store", "store"},
                           {"masked_store", "masked-store"}}) {
    const bool isAccess = llvm::StringRef(op).ends_with("load") || llvm::StringRef(op).ends_with("store");
    auto clocks = instructionClocks(bench, registerBytes, op, isAccess ? 16 : chains);
    if (!clocks)
      return clocks.takeError();
    rates[field] = rounded(1 / *clocks);
  }
  return llvm::Error::success();
}

/// The size up to which one core finds a cache that others use too: where reads fall halfway (as factors) to the rate
/// of the memory behind it. 0: they do not fall below its size.
static llvm::Expected<int64_t> reachOf(Bench &bench, int64_t registerBytes, int64_t cacheBytes, double cacheRate) {
  auto behind = streamRate(bench, registerBytes, Bench::bufferBytes, Stream::Read);
  if (!behind)
    return behind.takeError();
  if (*behind > 0.8 * cacheRate)
    return 0;
  int64_t reach = 0;
  for (int64_t bytes = 4 << 20; bytes < Bench::bufferBytes && bytes <= cacheBytes; bytes *= 2) {
    auto rate = streamRate(bench, registerBytes, bytes, Stream::Read);
    if (!rate)
      return rate.takeError();
    if (*rate < std::sqrt(*behind * cacheRate))
      return reach;
    reach = bytes;
  }
  return 0;
}

/// A last cache is larger than what a core has alone on any machine.
static bool isSharedCache(const Memory &memory) { return memory.kind == MemoryKind::Cache && memory.bytes > (4 << 20); }

/// Bandwidths and latencies, misses under way, translations.
static llvm::Error measureMemories(Bench &bench, const TargetDescription &chip, llvm::json::Object &memories,
                                   llvm::json::Object &rates) {
  int64_t registerBytes = chip.vectorRegisters().second;
  int64_t largestCache = 0, nearer = 0; // the largest that is not shared
  for (const Memory *cache : chip.caches()) {
    largestCache = std::max(largestCache, cache->bytes);
    if (!isSharedCache(*cache))
      nearer = std::max(nearer, cache->bytes);
  }
  for (const Memory &memory : chip.memories()) {
    if (memory.kind != MemoryKind::Cache && memory.kind != MemoryKind::Global)
      continue;
    // Half of a cache; of the main memory what no cache holds.
    int64_t bytes =
        memory.kind == MemoryKind::Global ? std::min(Bench::bufferBytes, 4 * largestCache) : memory.bytes / 2;
    bytes = int64_t(1) << llvm::Log2_64(bytes);
    const bool isShared = isSharedCache(memory);
    auto read = streamRate(bench, registerBytes, bytes, Stream::Read);
    if (!read)
      return read.takeError();
    auto write = streamRate(bench, registerBytes, bytes, Stream::Write);
    if (!write)
      return write.takeError();
    llvm::json::Object numbers{{"read", rounded(*read)}, {"write", rounded(*write)}};
    if (memory.kind == MemoryKind::Global) {
      auto streaming = streamRate(bench, registerBytes, bytes, Stream::StreamingWrite);
      if (!streaming)
        return streaming.takeError();
      numbers["streamingWrite"] = rounded(*streaming);
    }
    // Of a shared cache a part that others do not push out, but four times what the cache before it holds.
    int64_t near = isShared ? std::min(bytes, 4 * nearer) : bytes;
    auto latency = loadLatency(bench, near, memory.lineBytes ? memory.lineBytes : 64);
    if (!latency)
      return latency.takeError();
    numbers["latency"] = rounded(*latency);
    if (chip.caches().size() > 1 && &memory == chip.caches()[1]) {
      auto traffic = crossingTraffic(bench, registerBytes, bytes);
      if (!traffic)
        return traffic.takeError();
      rates["crossing_traffic"] = rounded(*traffic);
    }
    if (isShared) {
      auto reach = reachOf(bench, registerBytes, memory.bytes, *read);
      if (!reach)
        return reach.takeError();
      if (*reach > 0)
        numbers["bytes"] = *reach;
      auto share = streamShare(bench, registerBytes, bytes);
      if (!share)
        return share.takeError();
      rates["shared_part"] = rounded(*share);
      int64_t line = memory.lineBytes ? memory.lineBytes : 64;
      // Misses under way at once: what waits alone over what waits among many.
      for (bool stores : {false, true}) {
        auto clocks = missClocks(bench, near, line, stores);
        if (!clocks)
          return clocks.takeError();
        rates[stores ? "store_misses" : "misses"] = rounded(*latency / *clocks);
      }
      auto prefetchers = measurePrefetchers(bench, bytes, line);
      if (!prefetchers)
        return prefetchers.takeError();
      rates["streams"] = prefetchers->streams;
      rates["fetched_lines"] = rounded(prefetchers->lines);
      rates["followed"] = rounded(prefetchers->followed);
    }
    memories[memory.name] = std::move(numbers);
  }
  int64_t pageBytes = 4096, lineBytes = chip.caches().empty() ? 64 : chip.caches().front()->lineBytes;
  for (const Memory &memory : chip.memories())
    if (memory.kind == MemoryKind::Global && memory.pageBytes)
      pageBytes = memory.pageBytes;
  auto translations = measureTranslations(bench, pageBytes, lineBytes);
  if (!translations)
    return translations.takeError();
  rates["translations"] = translations->all;
  // What the processor says is exact; the curve of a chase is not.
  const bool isSaid = llvm::any_of(chip.numbers(), [](const Fact &fact) {
    return fact.number == Number::FirstTranslations && llvm::StringRef(fact.source).starts_with("found");
  });
  if (!isSaid)
    rates["first_translations"] = translations->first;
  if (translations->translate > 0)
    rates["translate"] = rounded(translations->translate);
  if (translations->walk > 0) {
    rates["walk"] = rounded(translations->walk);
    rates["walks"] = rounded(translations->walks);
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> cpu::measureHost(const ChipTable &host) {
  auto made = Bench::create(host);
  if (!made)
    return made.takeError();
  Bench &bench = **made;
  TableDescription description("cpu", host);
  llvm::json::Object units, rates, memories;
  if (llvm::Error error = measureInstructions(bench, description, units, rates))
    return std::move(error);
  if (llvm::Error error = measureMemories(bench, description, memories, rates))
    return std::move(error);
  llvm::json::Object root{{"cpu", host.cpu},
                          {"clockMHz", rounded(bench.hertz / 1e6)},
                          {"units", std::move(units)},
                          {"rates", std::move(rates)},
                          {"memories", std::move(memories)}};
  return llvm::formatv("{0:2}", llvm::json::Value(std::move(root))).str();
}
