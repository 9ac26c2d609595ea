//===- CoalescingCounters.cpp - Sectors and banks of an access ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sectors and banks, counted.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/CoalescingCounters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace tilewright;

/// Sorts unless already sorted, which consecutive lanes mostly are, and drops duplicates.
static void makeDistinct(llvm::SmallVectorImpl<uint64_t> &values) {
  if (!llvm::is_sorted(values))
    std::sort(values.begin(), values.end()); // inlined, unlike llvm::sort for numbers
  values.erase(llvm::unique(values), values.end());
}

uint64_t tilewright::countSectors(llvm::ArrayRef<uint64_t> addresses, uint64_t bytes, uint64_t sectorBytes) {
  llvm::SmallVector<uint64_t, 64> sectors;
  for (uint64_t address : addresses) {
    uint64_t last = (address + bytes - 1) / sectorBytes;
    for (uint64_t sector = address / sectorBytes; sector <= last; ++sector) {
      if (sectors.empty() || sectors.back() != sector)
        sectors.push_back(sector);
    }
  }
  makeDistinct(sectors);
  return sectors.size();
}

Banks::Cost Banks::cost(llvm::ArrayRef<uint64_t> addresses, llvm::ArrayRef<unsigned> lanes, uint64_t accessBytes,
                        llvm::ArrayRef<std::vector<unsigned>> groups) const {
  Cost total;
  // Banks and their words are powers of two on every known chip: shifts instead of divisions.
  bool powers = llvm::isPowerOf2_32(count) && llvm::isPowerOf2_32(bytes);
  // Aligned accesses of several words take the banks of all their words: these count as one wide bank.
  unsigned wide = 1; // words
  if (powers && llvm::isPowerOf2_64(accessBytes) && accessBytes > bytes && accessBytes <= uint64_t(count) * bytes &&
      llvm::all_of(addresses, [&](uint64_t address) { return !(address & (accessBytes - 1)); }))
    wide = accessBytes / bytes;
  unsigned shift = llvm::Log2_32(bytes * wide), wideBanks = count / wide;
  auto wordOf = [&](uint64_t address) { return powers ? address >> shift : address / bytes; };
  auto bankOf = [&](uint64_t word) { return powers ? word & (wideBanks - 1) : word % count; };
  llvm::SmallVector<uint64_t, 64> words;
  llvm::SmallVector<uint16_t, 64> load(count);
  auto serve = [&] {
    if (words.empty())
      return;
    makeDistinct(words);
    llvm::fill(load, 0);
    uint64_t cycles = 0;
    for (uint64_t word : words)
      cycles = std::max<uint64_t>(cycles, ++load[bankOf(word)]);
    total.cycles += cycles;
    total.conflicts += cycles - (words.size() * wide + count - 1) / count;
    words.clear();
  };
  auto add = [&](uint64_t address) {
    for (uint64_t word = wordOf(address), last = wordOf(address + accessBytes - 1); word <= last; ++word)
      words.push_back(word);
  };
  if (groups.empty()) {
    uint64_t together = std::max<uint64_t>(1, uint64_t(count) * bytes / std::max<uint64_t>(accessBytes, bytes));
    uint64_t group = 0;
    for (auto [address, lane] : llvm::zip(addresses, lanes)) {
      if (lane / together != group)
        serve();
      group = lane / together;
      add(address);
    }
    serve();
    return total;
  }
  for (const std::vector<unsigned> &group : groups) {
    for (auto [address, lane] : llvm::zip(addresses, lanes)) {
      if (llvm::is_contained(group, lane))
        add(address);
    }
    serve();
  }
  return total;
}
