//===- BankClocks.cpp - Bank conflicts ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks of words and of banks, or words counted in banks.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/BankClocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;

/// Lanes whose words fill all banks once.
static int64_t lanesAtATime(int64_t width, const Memory &memory) {
  return std::max<int64_t>(1, memory.banks * memory.bankBytes / width);
}

BankClocks tilewright::bankClocks(llvm::ArrayRef<int64_t> addresses, int64_t width, const Memory &memory) {
  size_t group = lanesAtATime(width, memory);
  BankClocks clocks;
  llvm::SmallVector<int64_t, 64> words;
  llvm::SmallVector<int64_t, 64> inBank;
  for (size_t first = 0; first < addresses.size(); first += group) {
    words.clear();
    inBank.assign(memory.banks, 0);
    for (size_t i = first; i < std::min(addresses.size(), first + group); ++i)
      for (int64_t byte = 0; byte < std::max<int64_t>(width, memory.bankBytes); byte += memory.bankBytes)
        words.push_back((addresses[i] + byte) / memory.bankBytes);
    llvm::sort(words);
    words.erase(llvm::unique(words), words.end());
    for (int64_t word : words)
      ++inBank[word % memory.banks];
    clocks = clocks + BankClocks{*llvm::max_element(inBank), 1};
  }
  return clocks;
}

namespace {
/// A basis of a space over GF(2), each vector with a highest bit of its own.
class Basis {
public:
  void add(uint64_t vector) {
    for (; vector; vector ^= byBit[llvm::Log2_64(vector)])
      if (uint64_t &own = byBit[llvm::Log2_64(vector)]; !own) {
        own = vector;
        ++rank;
        return;
      }
  }
  int64_t rank = 0;

private:
  std::array<uint64_t, 64> byBit{};
};
} // namespace

/// Whether words and banks of accesses of `width` bytes, aligned to that, are bits of the address.
static bool areBits(int64_t width, const Memory &memory) {
  return llvm::isPowerOf2_64(width) && llvm::isPowerOf2_64(memory.banks) && llvm::isPowerOf2_64(memory.bankBytes);
}

LaneAddresses::LaneAddresses(llvm::SmallVector<int64_t> addresses) : count(addresses.size()) {
  bool isLinear = llvm::isPowerOf2_64(count) && addresses.front() == 0;
  for (size_t lane = 1; isLinear && lane < count; ++lane) {
    size_t rest = lane & (lane - 1); // all its bits but the lowest
    if (!rest)
      bases.push_back(addresses[lane]);
    else
      isLinear = addresses[lane] == (addresses[rest] ^ addresses[lane ^ rest]);
    isLinear &= addresses[lane] >= 0;
  }
  if (isLinear)
    return;
  bases.clear();
  listed = std::move(addresses);
}

int64_t LaneAddresses::leastClocks(int64_t width, const Memory &memory) const {
  return llvm::divideCeil(int64_t(count), lanesAtATime(width, memory));
}

BankClocks LaneAddresses::clocks(int64_t width, const Memory &memory, llvm::function_ref<int64_t(int64_t)> move) const {
  llvm::SmallVector<int64_t, 8> moved = llvm::map_to_vector<8>(bases, move);
  auto isAligned = [&](int64_t address) { return width <= memory.bankBytes || address % width == 0; };
  if (!listed.empty() || count == 0 || !areBits(width, memory) || !llvm::all_of(moved, isAligned)) {
    llvm::SmallVector<int64_t> addresses(listed);
    for (size_t lane = 0; listed.empty() && lane < count; ++lane) {
      addresses.push_back(0);
      for (auto [bit, base] : llvm::enumerate(bases))
        addresses.back() ^= lane >> bit & 1 ? base : 0;
    }
    for (int64_t &address : addresses)
      address = move(address);
    return bankClocks(addresses, width, memory);
  }
  // Other groups of lanes are the first one moved by an XOR, which moves whole banks.
  int64_t groupBits = std::min<int64_t>(moved.size(), llvm::Log2_64(lanesAtATime(width, memory)));
  Basis words, banks;
  auto add = [&](int64_t address) {
    words.add(address / memory.bankBytes);
    banks.add(address / memory.bankBytes % memory.banks);
  };
  for (int64_t base : llvm::ArrayRef(moved).take_front(groupBits))
    add(base);
  for (int64_t byte = memory.bankBytes; byte < width; byte *= 2)
    add(byte);
  int64_t groups = int64_t(1) << (moved.size() - groupBits);
  return BankClocks{int64_t(1) << (words.rank - banks.rank), 1}.times(groups);
}
