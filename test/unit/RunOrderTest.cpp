//===- RunOrderTest.cpp - Which of its runs a lane writes when ------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Results that a group of 128 lanes writes into lines of an engine: lane 4 r + q of
/// a subgroup holds neighbours 2 q and 2 q + 1 of each 8 columns of rows r and r + 8.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/RunOrder.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

namespace run_order_test {

using namespace tilewright;

namespace {

Memory banks(int64_t count = 32) {
  Memory memory;
  memory.banks = count;
  memory.bankBytes = 4;
  return memory;
}

/// Lines of `line` bytes of elements of `bytes`, in the engine's swizzle over a line.
LaneWrites linesOf(int64_t line, int64_t bytes) {
  LaneWrites writes;
  writes.bits = {2 * bytes, 4 * bytes, line, 2 * line, 4 * line, 16 * line, 32 * line};
  for (int64_t column = 0; column < line; column += 8 * bytes)
    for (int64_t row : {0, 8})
      writes.runs.push_back(row * line + column);
  writes.width = 2 * bytes;
  writes.swizzleBits = llvm::Log2_64(line / 16);
  writes.swizzleBase = 4;
  writes.swizzleShift = 3;
  return writes;
}

/// Bank clocks of all writes of all subgroups, lane by lane: at each turn a lane writes the run whose bits the swaps
/// flip. `every`: bytes that were written, each once.
BankClocks written(const LaneWrites &writes, const RunOrder &order, const Memory &memory, std::vector<int> &every) {
  BankClocks clocks;
  int64_t lanes = int64_t(1) << writes.bits.size();
  for (int64_t run : writes.runs)
    for (int64_t first = 0; first < lanes; first += writes.lanes) {
      std::vector<int64_t> addresses;
      for (int64_t lane = first; lane < first + writes.lanes; ++lane) {
        int64_t own = run, offset = 0;
        for (const RunSwap &swap : order.swaps)
          own ^= lane >> swap.bit & 1 ? swap.step : 0;
        for (size_t b = 0; b < writes.bits.size(); ++b)
          offset += lane >> b & 1 ? writes.bits[b] : 0;
        offset += own;
        for (int64_t byte = offset; byte < offset + writes.width; ++byte)
          if (byte < int64_t(every.size()))
            ++every[byte];
        int64_t mask = (16 << writes.swizzleBits) - 16;
        addresses.push_back(offset ^ (offset >> 3 & mask));
      }
      clocks = clocks + bankClocks(addresses, writes.width, memory);
    }
  return clocks;
}

} // namespace

/// Elements of all sizes in lines of all lengths: no bank has more than its part, no element is left out.
TEST(RunOrder, NoLanesMeet) {
  for (int64_t line : {32, 64, 128})
    for (int64_t bytes : {1, 2, 4, 8}) {
      if (line < 8 * bytes)
        continue;
      LaneWrites writes = linesOf(line, bytes);
      RunOrder order = orderRuns(writes, banks(), 4);
      std::vector<int> every(64 * line);
      BankClocks clocks = written(writes, order, banks(), every);
      EXPECT_EQ(clocks.taken, clocks.least) << line << " " << bytes;
      EXPECT_EQ(std::count(every.begin(), every.end(), 1), 64 * line) << line << " " << bytes;
      EXPECT_EQ(clocks.taken, order.clocks.taken * int64_t(writes.runs.size()) * 4) << line << " " << bytes;
      // Elements of less than 4 bytes fill the banks as they are, and so do rows that lanes write as a whole.
      EXPECT_EQ(order.swaps.size(), bytes < 4 || line == 8 * bytes ? 0u : 1u) << line << " " << bytes;
    }
}

/// Sums of 4 bytes: half of each row's lanes write the other half of the line meanwhile.
TEST(RunOrder, SwapsOfSums) {
  EXPECT_EQ(orderRuns(linesOf(128, 4), banks(), 4).swaps, (llvm::SmallVector<RunSwap>{{1, 64}}));
  EXPECT_EQ(orderRuns(linesOf(64, 4), banks(), 4).swaps, (llvm::SmallVector<RunSwap>{{1, 32}}));
  LaneWrites plain = linesOf(128, 4);
  plain.runs.resize(1);
  RunOrder none = orderRuns(plain, banks(), 4);
  EXPECT_TRUE(none.swaps.empty()); // nothing to exchange
  EXPECT_EQ(none.clocks.taken, 2 * none.clocks.least);
}

/// Choices cost instructions: where a chip issues few of them, lanes had better meet.
TEST(RunOrder, ChoicesHaveTheirPrice) {
  LaneWrites writes = linesOf(128, 4);
  writes.bits = {2 * 4, 4 * 4, 128, 256}; // 16 lanes, one clock
  writes.lanes = 16;
  EXPECT_EQ(orderRuns(writes, banks(), 4).swaps.size(), 1u);
  EXPECT_TRUE(orderRuns(writes, banks(), 1).swaps.empty());
}

/// Bits that lanes and runs share are sums, not flips: such writes stay as they are.
TEST(RunOrder, SharedBitsStay) {
  LaneWrites writes = linesOf(128, 4);
  writes.runs = {0, 8, 64, 72};
  EXPECT_TRUE(orderRuns(writes, banks(), 4).swaps.empty());
  writes = linesOf(128, 4);
  writes.bits[2] = 3 * 128;
  EXPECT_TRUE(orderRuns(writes, banks(), 4).swaps.empty());
  EXPECT_TRUE(orderRuns(linesOf(128, 4), banks(0), 4).swaps.empty());
}

} // namespace run_order_test
