//===- HostFacts.cpp - What a machine says of itself ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// CPUID by the manuals of both vendors, and the lists of Linux.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/HostFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include <cstring>
#include <thread>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifdef __x86_64__
#include <cpuid.h>
#endif

using namespace tilewright;
using namespace tilewright::cpu;
using llvm::formatv;
using llvm::StringRef;

namespace {
/// Numbers of leaves, by the names of the manuals.
enum Leaf : uint32_t {
  Vendor = 0,
  Version = 1,
  IntelCaches = 4,
  Frequency = 0x16,
  IntelTranslations = 0x18,
  LastExtended = 0x80000000,
  AmdFirstTranslations = 0x80000005,
  AmdTranslations = 0x80000006,
  AmdDatapath = 0x8000001a,
  AmdCaches = 0x8000001d
};
/// Subleaves that are looked at: more than any processor has.
constexpr uint32_t mostSubleaves = 16;
} // namespace

/// Bits `first` to `last` of a register.
static uint32_t bitsOf(uint32_t word, unsigned first, unsigned last) {
  return (word >> first) & ((uint64_t(1) << (last - first + 1)) - 1);
}

CpuidLeaves cpu::readCpuid() {
  CpuidLeaves leaves;
#ifdef __x86_64__
  auto read = [&](uint32_t leaf, uint32_t subleaf) {
    std::array<uint32_t, 4> &r = leaves[{leaf, subleaf}];
    __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
  };
  read(Vendor, 0);
  read(LastExtended, 0);
  const uint32_t last = leaves[{Vendor, 0}][0], lastExtended = leaves[{LastExtended, 0}][0];
  auto readAll = [&](uint32_t leaf, bool hasSubleaves) {
    for (uint32_t i = 0; leaf <= (leaf < LastExtended ? last : lastExtended) && i < (hasSubleaves ? mostSubleaves : 1);
         ++i)
      read(leaf, i);
  };
  for (Leaf leaf : {Version, Frequency, AmdFirstTranslations, AmdTranslations, AmdDatapath})
    readAll(leaf, /*hasSubleaves=*/false);
  for (Leaf leaf : {IntelCaches, IntelTranslations, AmdCaches})
    readAll(leaf, /*hasSubleaves=*/true);
#endif
  return leaves;
}

/// The vendor's letters are in EBX, EDX, ECX.
static std::string vendorOf(const std::array<uint32_t, 4> &leaf) {
  char letters[12];
  std::memcpy(letters, &leaf[1], 4);
  std::memcpy(letters + 4, &leaf[3], 4);
  std::memcpy(letters + 8, &leaf[2], 4);
  return std::string(letters, sizeof letters);
}

/// Leaf 4 and 8000001Dh have one format: type, level, line, ways and sets, the latter less one.
static void addCaches(HostFacts &facts, const CpuidLeaves &leaves, Leaf leaf) {
  for (uint32_t i = 0; i < mostSubleaves; ++i) {
    auto found = leaves.find({leaf, i});
    if (found == leaves.end())
      return;
    const auto &[a, b, c, d] = found->second;
    constexpr uint32_t none = 0, instructions = 2;
    const uint32_t type = bitsOf(a, 0, 4);
    if (type == none)
      return;
    if (type == instructions)
      continue;
    CacheFact cache;
    cache.level = bitsOf(a, 5, 7);
    cache.lineBytes = bitsOf(b, 0, 11) + 1;
    cache.ways = bitsOf(b, 22, 31) + 1;
    cache.bytes = cache.lineBytes * (bitsOf(b, 12, 21) + 1) * cache.ways * (int64_t(c) + 1);
    facts.caches.push_back(cache);
  }
}

/// Leaf 18h: buffers of translations for loads of pages of 4 KiB, by level. Of several of the first level, that for
/// loads.
static void addIntelTranslations(HostFacts &facts, const CpuidLeaves &leaves) {
  for (uint32_t i = 0; i < mostSubleaves; ++i) {
    auto found = leaves.find({IntelTranslations, i});
    if (found == leaves.end())
      return;
    const auto &[a, b, c, d] = found->second;
    constexpr uint32_t data = 1, unified = 3, loads = 4;
    const uint32_t type = bitsOf(d, 0, 4), level = bitsOf(d, 5, 7);
    if ((type != data && type != unified && type != loads) || !(b & 1))
      continue;
    const int64_t entries = int64_t(bitsOf(b, 16, 31)) * c;
    int64_t &known = level == 1 ? facts.firstTranslations : facts.translations;
    known = std::max(known, entries);
  }
}

void cpu::addCpuid(HostFacts &facts, const CpuidLeaves &leaves) {
  auto leaf = [&](Leaf number) {
    auto found = leaves.find({number, 0});
    return found == leaves.end() ? std::array<uint32_t, 4>{} : found->second;
  };
  if (leaves.empty())
    return;
  facts.vendor = vendorOf(leaf(Vendor));
  facts.isVirtual = leaf(Version)[2] >> 31;
  const bool listsCaches = !facts.caches.empty();
  if (facts.isAmd()) {
    // FP128, MOVU, FP256, FP512: the widest is the datapath's.
    const uint32_t widths = leaf(AmdDatapath)[0];
    facts.datapathBits = widths & 8 ? 512 : widths & 4 ? 256 : widths & 1 ? 128 : 0;
    facts.firstTranslations = bitsOf(leaf(AmdFirstTranslations)[1], 16, 23);
    facts.translations = bitsOf(leaf(AmdTranslations)[1], 16, 27);
  } else {
    addIntelTranslations(facts, leaves);
  }
  if (!listsCaches)
    addCaches(facts, leaves, facts.isAmd() ? AmdCaches : IntelCaches);
  if (facts.clockMHz <= 0) { // MHz: base, highest
    const auto frequency = leaf(Frequency);
    facts.clockMHz = std::max(frequency[0] & 0xffff, frequency[1] & 0xffff);
  }
}

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

void cpu::addKernel(HostFacts &facts, const std::string &folder) {
  for (int index = 0; index < 8; ++index) {
    std::string cache = formatv("{0}/cpu0/cache/index{1}/", folder, index);
    std::string type = readLine(cache + "type");
    CacheFact fact{parseSize(readLine(cache + "level")), parseSize(readLine(cache + "size")),
                   parseSize(readLine(cache + "coherency_line_size")),
                   parseSize(readLine(cache + "ways_of_associativity"))};
    if ((type == "Data" || type == "Unified") && fact.level > 0 && fact.bytes > 0)
      facts.caches.push_back(fact);
  }
  llvm::stable_sort(facts.caches, [](const CacheFact &a, const CacheFact &b) { return a.level < b.level; });
  if (int64_t kilohertz = parseSize(readLine(folder + "/cpu0/cpufreq/cpuinfo_max_freq")); kilohertz > 0)
    facts.clockMHz = double(kilohertz) / 1000;
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

/// "cpu MHz" of the first processor in /proc/cpuinfo: in virtual machines that of the time stamp counter, the base
/// clock.
static double listedMHz() {
  auto buffer = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  double value = 0;
  if (buffer)
    (void)(*buffer)->getBuffer().split("cpu MHz").second.split(':').second.split('\n').first.trim().getAsDouble(value);
  return value;
}

HostFacts cpu::findFacts() {
  HostFacts facts;
  facts.triple = llvm::Triple(llvm::sys::getProcessTriple());
  facts.processor = llvm::sys::getHostCPUName().str();
  facts.features = usableFeatures();
  facts.cores = std::max(1u, std::thread::hardware_concurrency());
  facts.memoryBytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  addKernel(facts, "/sys/devices/system/cpu");
  addCpuid(facts, readCpuid());
  if (facts.clockMHz <= 0)
    facts.clockMHz = listedMHz();
  return facts;
}
