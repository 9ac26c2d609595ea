//===- RunOrder.cpp - Which of its runs a lane writes when ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the clocks of all exchanges of two runs, and of pairs of them.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/RunOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;

/// Swaps beyond which no lane's choice is looked for: each one is a choice for every word.
static constexpr size_t mostSwaps = 2;

/// Clocks of the first subgroup's first run. Any other run, or another subgroup, flips the same bits of all addresses
/// and so takes as many: sums of bits that are apart are XORs, and so is a swizzle.
static BankClocks clocksOf(const LaneWrites &writes, llvm::ArrayRef<RunSwap> swaps, const Memory &memory) {
  llvm::SmallVector<int64_t> addresses;
  for (int64_t lane = 0; lane < std::min(writes.lanes, int64_t(1) << writes.bits.size()); ++lane) {
    int64_t offset = 0;
    for (auto [b, bit] : llvm::enumerate(writes.bits))
      offset += lane >> b & 1 ? bit : 0;
    for (const RunSwap &swap : swaps)
      offset ^= lane >> swap.bit & 1 ? swap.step : 0;
    addresses.push_back(offset);
  }
  const int64_t mask = ((int64_t(1) << writes.swizzleBits) - 1) << writes.swizzleBase;
  return LaneAddresses(std::move(addresses)).clocks(writes.width, memory, [&](int64_t offset) {
    return offset ^ (offset >> writes.swizzleShift & mask);
  });
}

/// Distances at which every run has a partner and which no lane's bit has; empty where bits are not apart.
static llvm::SmallVector<int64_t> stepsOf(const LaneWrites &writes) {
  int64_t lanes = 0, used = 0;
  for (int64_t bit : writes.bits) {
    if (bit < 0 || (bit && !llvm::isPowerOf2_64(bit)) || (lanes & bit))
      return {};
    lanes |= bit;
  }
  for (int64_t run : writes.runs)
    used |= run;
  if (used & lanes)
    return {};
  llvm::SmallVector<int64_t> steps;
  for (int64_t step = writes.width; step <= used; step *= 2)
    if (llvm::all_of(writes.runs, [&](int64_t run) { return llvm::is_contained(writes.runs, run ^ step); }))
      steps.push_back(step);
  return steps;
}

RunOrder tilewright::orderRuns(const LaneWrites &writes, const Memory &memory, double issueSlots) {
  RunOrder best;
  if (memory.banks <= 0 || memory.bankBytes <= 0)
    return best;
  best.clocks = clocksOf(writes, {}, memory);
  double words = double(llvm::divideCeil(writes.width, 4)); // of a lane's register each
  llvm::SmallVector<int64_t> steps = stepsOf(writes);
  auto time = [&](const RunOrder &order) {
    return order.clocks.taken + order.swaps.size() * words / std::max(1.0, issueSlots);
  };
  auto extend = [&](const RunOrder &from, auto &&self) -> void {
    if (from.clocks.taken == from.clocks.least || from.swaps.size() == mostSwaps)
      return;
    for (unsigned bit = from.swaps.empty() ? 0 : from.swaps.back().bit; bit < writes.bits.size(); ++bit)
      for (int64_t step : steps) {
        // Each bit of a lane and each distance once, so that choices are made one after the other.
        if (llvm::any_of(from.swaps, [&](const RunSwap &swap) { return swap.bit == bit || swap.step == step; }))
          continue;
        RunOrder next = from;
        next.swaps.push_back({bit, step});
        next.clocks = clocksOf(writes, next.swaps, memory);
        if (time(next) < time(best))
          best = next;
        self(next, self);
      }
  };
  extend(RunOrder(best), extend);
  return best;
}
