//===- HostFactsTest.cpp - Records of processors that no table knows ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// CPUID of several processors: Zen 4 as a virtual machine of it answers, the others as their vendors' manuals list
/// them. What they say is in the record; what they do not say stays that of the instruction set.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/HostFacts.h"
#include "targets/cpu/Chips.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fstream>

#include "gtest/gtest.h"

namespace host_facts_test {

using namespace tilewright;
using namespace tilewright::cpu;

namespace {

const llvm::Triple x86("x86_64-unknown-linux-gnu"), arm("aarch64-unknown-linux-gnu");
constexpr std::initializer_list<llvm::StringRef> avx2 = {"sse4.2", "avx", "avx2", "fma"};
constexpr std::initializer_list<llvm::StringRef> avx512 = {"sse4.2",   "avx",      "avx2",     "fma",     "avx512f",
                                                           "avx512cd", "avx512bw", "avx512dq", "avx512vl"};

HostFacts factsOf(std::initializer_list<llvm::StringRef> features, const CpuidLeaves &leaves,
                  const llvm::Triple &triple = x86) {
  HostFacts facts;
  facts.triple = triple;
  facts.processor = "generic";
  facts.cores = 8;
  facts.memoryBytes = int64_t(16) << 30;
  for (llvm::StringRef feature : features)
    facts.features[feature] = true;
  addCpuid(facts, leaves);
  return facts;
}

constexpr std::array<uint32_t, 4> amd = {0x1c, 0x68747541, 0x444d4163, 0x69746e65};
constexpr std::array<uint32_t, 4> intel = {0x20, 0x756e6547, 0x6c65746e, 0x49656e69};

CpuidLeaves zen3() {
  return {{{0, 0}, amd},
          {{1, 0}, {0xa00f11, 0, 0x7ef8320b, 0x178bfbff}},
          {{0x80000005, 0}, {0xff40ff40, 0xff40ff40, 0x20080140, 0x20080140}},
          {{0x80000006, 0}, {0x48002200, 0x68004200, 0x02006140, 0x01009140}},
          {{0x8000001a, 0}, {0x6, 0, 0, 0}},
          {{0x8000001d, 0}, {0x4121, 0x1c0003f, 0x3f, 0}},
          {{0x8000001d, 1}, {0x4122, 0x1c0003f, 0x3f, 0}},
          {{0x8000001d, 2}, {0x4143, 0x1c0003f, 0x3ff, 2}},
          {{0x8000001d, 3}, {0x3c163, 0x3c0003f, 0x7fff, 1}},
          {{0x8000001d, 4}, {0, 0, 0, 0}}};
}

CpuidLeaves zen4() {
  return {{{0, 0}, amd},
          {{1, 0}, {0xa10f11, 0x1020800, 0xfffa3203, 0x178bfbff}},
          {{0x80000005, 0}, {0xff48ff40, 0xff48ff40, 0x20080140, 0x20080140}},
          {{0x80000006, 0}, {0x5c002200, 0x6c004200, 0x4006140, 0xa009140}},
          {{0x8000001a, 0}, {0x6, 0, 0, 0}},
          {{0x8000001d, 0}, {0x121, 0x1c0003f, 0x3f, 0}},
          {{0x8000001d, 1}, {0x122, 0x1c0003f, 0x3f, 0}},
          {{0x8000001d, 2}, {0x143, 0x1c0003f, 0x7ff, 2}},
          {{0x8000001d, 3}, {0x4163, 0x3c0003f, 0x7fff, 1}},
          {{0x8000001d, 4}, {0, 0, 0, 0}}};
}

/// A server of 48 MiB, twelve ways each.
CpuidLeaves iceLake() {
  return {{{0, 0}, intel},
          {{1, 0}, {0x606a6, 0, 0x7ffefbff, 0xbfebfbff}},
          {{4, 0}, {0x7c004121, 0x2c0003f, 0x3f, 0}},
          {{4, 1}, {0x7c004122, 0x1c0003f, 0x3f, 0}},
          {{4, 2}, {0x7c004143, 0x4c0003f, 0x3ff, 0}},
          {{4, 3}, {0x7c0fc163, 0x2c0003f, 0xffff, 4}},
          {{4, 4}, {0, 0, 0, 0}},
          {{0x16, 0}, {2400, 3400, 100, 0}},
          {{0x18, 0}, {8, 0, 0, 0}},
          {{0x18, 1}, {0, 0x00080001, 8, 0x22}},   // 64 of instructions
          {{0x18, 2}, {0, 0x00040001, 16, 0x24}},  // 64 of loads
          {{0x18, 3}, {0, 0x00100007, 1, 0x125}},  // 16 of stores
          {{0x18, 4}, {0, 0x00080007, 128, 0x43}}, // 1024, and of large pages beside them
          {{0x18, 5}, {0, 0x00080009, 128, 0x43}}};
}

/// Of a package of 320 MiB a virtual machine with two cores.
CpuidLeaves emeraldRapids() {
  return {{{0, 0}, intel},
          {{1, 0}, {0xc06f2, 0, 0xfffa3203, 0xbfebfbff}},
          {{4, 0}, {0x4000121, 0x2c0003f, 0x3f, 0}},
          {{4, 1}, {0x4000122, 0x1c0003f, 0x3f, 0}},
          {{4, 2}, {0x4000143, 0x3c0003f, 0x7ff, 0}},
          {{4, 3}, {0x4004163, 0x4c0003f, 0x3ffff, 4}},
          {{4, 4}, {0, 0, 0, 0}},
          {{0x16, 0}, {0, 0, 0, 0}}};
}

const Memory *memory(const ChipTable &chip, llvm::StringRef name) {
  auto found = llvm::find_if(chip.memories, [&](const Memory &each) { return each.name == name; });
  return found == chip.memories.end() ? nullptr : &*found;
}

double number(const ChipTable &chip, Number which) {
  auto found = llvm::find_if(chip.numbers, [&](const Fact &fact) { return fact.number == which; });
  return found == chip.numbers.end() ? -1 : found->value;
}

double issueOf(const ChipTable &chip, llvm::StringRef unit) {
  for (const MatrixUnit &each : chip.units)
    if (each.name == unit)
      return each.issue;
  return -1;
}

void expectCache(const ChipTable &chip, llvm::StringRef name, int64_t bytes, int64_t ways) {
  const Memory *cache = memory(chip, name);
  ASSERT_TRUE(cache) << name.str();
  EXPECT_EQ(cache->bytes, bytes) << name.str();
  EXPECT_EQ(cache->ways, ways) << name.str();
  EXPECT_EQ(cache->lineBytes, 64) << name.str();
  EXPECT_TRUE(llvm::StringRef(cache->source).starts_with("found")) << cache->source;
}

/// Records pass the checks that chips of tables pass.
ChipTable recordOf(const HostFacts &facts) {
  ChipTable chip = genericChip(facts, "host");
  for (const std::string &wrong : checkChip(chip))
    ADD_FAILURE() << wrong;
  EXPECT_TRUE(llvm::is_sorted(chip.numbers, [](const Fact &a, const Fact &b) { return a.number < b.number; }));
  return chip;
}

TEST(HostFacts, Zen3HasItsOwnCachesAndTwoPipesOf256Bits) {
  ChipTable chip = recordOf(factsOf(avx2, zen3()));
  expectCache(chip, "l1", 32 << 10, 8);
  expectCache(chip, "l2", 512 << 10, 8);
  expectCache(chip, "l3", 32 << 20, 16); // a guess of the instruction set's record says 8 MiB
  EXPECT_EQ(number(chip, Number::FirstTranslations), 64);
  EXPECT_EQ(number(chip, Number::Translations), 512); // a quarter of 2048, of pages four apart
  EXPECT_EQ(number(chip, Number::Load), 2);
  EXPECT_EQ(number(chip, Number::Shuffle), 2);
  EXPECT_EQ(issueOf(chip, "cpu.avx2_fma_f32"), 0.5);
  EXPECT_EQ(memory(chip, "l2")->bytesPerClock, 30); // 32 bytes, less a sixteenth
}

TEST(HostFacts, WhatHasNoFormForWideRegistersIsNotUsed) {
  const ChipTable chip = recordOf(factsOf({"sse4.2", "sse4a", "avx", "avx2", "fma"}, zen3()));
  EXPECT_FALSE(chip.hasFeature("sse4a"));
  EXPECT_TRUE(llvm::is_contained(chip.lacks, "sse4a"));
  EXPECT_TRUE(chip.hasFeature("avx2"));
}

#if defined(__x86_64__)
TEST(HostFacts, LlvmKnowsTheWidthOfAProcessorThatItNames) {
  HostFacts facts = factsOf(avx2, zen3());
  facts.processor = "a processor of tomorrow";
  const ChipTable unknown = recordOf(facts), plain = cpu::recordOf("x86-64-v3");
  EXPECT_EQ(number(unknown, Number::CoreIssue), number(plain, Number::CoreIssue));
  EXPECT_EQ(number(unknown, Number::Window), number(plain, Number::Window));
  facts.processor = "znver3";
  const ChipTable known = recordOf(facts);
  EXPECT_EQ(number(known, Number::CoreIssue), 6);
  EXPECT_EQ(number(known, Number::Window), 256);
}
#endif

TEST(HostFacts, Zen4RunsWideRegistersInTwoTurns) {
  ChipTable chip = recordOf(factsOf(avx512, zen4()));
  expectCache(chip, "l1", 32 << 10, 8);
  expectCache(chip, "l2", 1 << 20, 8);
  expectCache(chip, "l3", 32 << 20, 16);
  EXPECT_EQ(number(chip, Number::FirstTranslations), 72);
  EXPECT_EQ(number(chip, Number::Translations), 768);
  EXPECT_EQ(issueOf(chip, "cpu.avx512_fma_f32"), 1);
  EXPECT_EQ(issueOf(chip, "cpu.avx2_fma_f32"), 0.5);
  // As its own record has them, which were measured.
  for (const ChipTable &known : recordedChips())
    if (known.name == "zen4")
      for (Number same : {Number::FmaF32, Number::AddF32, Number::MulF32, Number::Load, Number::Store, Number::Shuffle})
        EXPECT_EQ(number(chip, same), number(known, same)) << fieldOf(same).name.str();
}

TEST(HostFacts, ADatapathOf512BitsIsNotHalved) {
  CpuidLeaves leaves = zen4();
  leaves[{0x8000001a, 0}][0] = 0xe;
  ChipTable chip = recordOf(factsOf(avx512, leaves));
  EXPECT_EQ(issueOf(chip, "cpu.avx512_fma_f32"), 0.5);
  EXPECT_EQ(number(chip, Number::Load), 2);
}

TEST(HostFacts, MaskedStoresAreManyOperationsOnAmdWithoutAvx512) {
  ChipTable zen = recordOf(factsOf(avx2, zen3()));
  EXPECT_EQ(number(zen, Number::MaskedStore), 1.0 / 12);
  for (auto &[features, leaves] : {std::pair(avx512, zen4()), {avx512, iceLake()}, {avx2, iceLake()}})
    EXPECT_EQ(number(recordOf(factsOf(features, leaves)), Number::MaskedStore), -1) << "as stores";
  // What was measured on the machine counts before the guess.
  auto applied = applyRates(zen, "{\"cpu\": \"" + zen.cpu + "\", \"rates\": {\"masked_store\": 0.5}}");
  ASSERT_TRUE(bool(applied)) << llvm::toString(applied.takeError());
  EXPECT_TRUE(*applied);
  EXPECT_EQ(number(zen, Number::MaskedStore), 0.5);
}

TEST(HostFacts, IceLakeSaysClockAndTranslations) {
  HostFacts facts = factsOf(avx512, iceLake());
  ChipTable chip = recordOf(facts);
  expectCache(chip, "l1", 48 << 10, 12);
  expectCache(chip, "l2", 1280 << 10, 20);
  expectCache(chip, "l3", 48 << 20, 12);
  EXPECT_FALSE(facts.isVirtual);
  EXPECT_EQ(chip.clockMHz, 3400);
  EXPECT_EQ(number(chip, Number::FirstTranslations), 64);
  EXPECT_EQ(number(chip, Number::Translations), 1024);
  EXPECT_EQ(memory(chip, "global")->latency, 340); // 100 ns
  EXPECT_EQ(issueOf(chip, "cpu.avx512_fma_f32"), 0.5);
}

TEST(HostFacts, AVirtualMachineDoesNotHaveTheWholeLastCache) {
  HostFacts facts = factsOf(avx512, emeraldRapids());
  ChipTable chip = recordOf(facts);
  EXPECT_TRUE(facts.isVirtual);
  EXPECT_EQ(facts.caches.back().bytes, int64_t(320) << 20);
  expectCache(chip, "l2", 2 << 20, 16);
  EXPECT_LE(memory(chip, "l3")->bytes, int64_t(48) << 20);
  EXPECT_EQ(chip.clockMHz, recordOf(factsOf(avx512, {})).clockMHz) << "nothing says a clock";
}

TEST(HostFacts, AVirtualMachineHasTheShareOfItsCoresOfAComplex) {
  HostFacts facts = factsOf(avx2, zen3());
  facts.isVirtual = true;
  for (int64_t cores : {1, 2, 8, 64}) {
    facts.cores = cores;
    expectCache(recordOf(facts), "l3", std::min<int64_t>(cores * 6, 32) << 20, 16);
    expectCache(recordOf(facts), "l2", 512 << 10, 8);
  }
}

TEST(HostFacts, TileRegistersTellTheSizeOfTheCore) {
  HostFacts facts = factsOf(avx512, emeraldRapids());
  const double before = number(recordOf(facts), Number::Window);
  facts.features["amx-tile"] = true;
  const ChipTable chip = recordOf(facts);
  EXPECT_LT(before, 512);
  EXPECT_EQ(number(chip, Number::Window), 512);
  EXPECT_EQ(number(chip, Number::Exposed), 0.2);
}

TEST(HostFacts, AnUnknownVendorIsItsInstructionSet) {
  CpuidLeaves leaves = {{{0, 0}, {1, 0x20202020, 0x20202020, 0x20202020}}, {{1, 0}, {0, 0, 0, 0}}};
  ChipTable chip = recordOf(factsOf(avx2, leaves)), plain = cpu::recordOf("x86-64-v3");
  ASSERT_EQ(chip.memories.size(), plain.memories.size());
  for (auto [mine, theirs] : llvm::zip_equal(chip.memories, plain.memories))
    if (mine.kind == MemoryKind::Cache)
      EXPECT_EQ(mine.bytes, theirs.bytes) << mine.name;
  EXPECT_EQ(number(chip, Number::Load), number(plain, Number::Load));
  EXPECT_EQ(chip.clockMHz, plain.clockMHz);
}

TEST(HostFacts, TheKernelsListOfCachesCountsBeforeCpuid) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("cpus", folder));
  auto write = [&](llvm::StringRef name, llvm::StringRef text) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "cpu0", name);
    ASSERT_FALSE(llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path)));
    std::ofstream(path.str().str()) << text.str() << "\n";
  };
  struct Listed {
    const char *level, *type, *size, *ways;
  };
  const std::vector<Listed> listed = {{"1", "Data", "64K", "4"},
                                      {"1", "Instruction", "64K", "4"},
                                      {"2", "Unified", "2048K", "8"},
                                      {"3", "Unified", "36M", "12"}};
  for (auto [index, cache] : llvm::enumerate(listed)) {
    const std::string name = "cache/index" + std::to_string(index) + "/";
    write(name + "level", cache.level);
    write(name + "type", cache.type);
    write(name + "size", cache.size);
    write(name + "ways_of_associativity", cache.ways);
    write(name + "coherency_line_size", "64");
  }
  write("cpufreq/cpuinfo_max_freq", "3100000");
  HostFacts facts = factsOf({"neon"}, {}, arm);
  addKernel(facts, folder.str().str());
  addCpuid(facts, iceLake());
  ASSERT_EQ(facts.caches.size(), 3u);
  ChipTable chip = recordOf(facts); // a record without a third cache
  expectCache(chip, "l1", 64 << 10, 4);
  expectCache(chip, "l2", 2 << 20, 8);
  expectCache(chip, "l3", 36 << 20, 12);
  EXPECT_EQ(chip.clockMHz, 3100);
  llvm::sys::fs::remove_directories(folder);
}

TEST(HostFacts, TheHostWithoutItsFamilyHasItsCaches) {
  ChipTable generic = detectGeneric(), host = detectHost();
  EXPECT_EQ(generic.name, "host-generic");
  for (const char *name : {"l1", "l2"})
    if (memory(host, name)) {
      ASSERT_TRUE(memory(generic, name));
      EXPECT_EQ(memory(generic, name)->bytes, memory(host, name)->bytes) << name;
    }
  EXPECT_EQ(generic.features, host.features);
}

} // namespace

} // namespace host_facts_test
