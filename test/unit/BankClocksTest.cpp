//===- BankClocksTest.cpp - Conflicts as ranks and as counted words -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ranks of `LaneAddresses` agree with `bankClocks`, which lists every word: for the layouts of all units of all
/// chips in tiles of many row lengths, swizzles and paddings, and for random addresses.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/BankClocks.h"
#include "tilewright/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <random>

namespace bank_clocks_test {

using namespace tilewright;

namespace {

struct Swizzle {
  int64_t bits = 0, base = 0, shift = 0, again = 0;
  int64_t operator()(int64_t offset) const {
    int64_t high = (offset >> shift) ^ (again ? offset >> again : 0);
    return offset ^ (high & (((int64_t(1) << bits) - 1) << base));
  }
};

/// Both ways to count `addresses`.
void expectEqual(llvm::ArrayRef<int64_t> addresses, int64_t width, const Memory &memory, const Swizzle &swizzle) {
  LaneAddresses lanes(llvm::SmallVector<int64_t>{addresses});
  BankClocks counted = bankClocks(llvm::map_to_vector(addresses, swizzle), width, memory);
  BankClocks ranked = lanes.clocks(width, memory, swizzle);
  EXPECT_EQ(ranked, counted) << addresses.size() << " lanes, width " << width << ", swizzle " << swizzle.bits << " "
                             << swizzle.base << " " << swizzle.shift << " " << swizzle.again;
  EXPECT_EQ(lanes.leastClocks(width, memory), counted.least);
}

/// One access of all lanes to `layout`'s elements, in rows of `rowBytes` bytes that are `pitch` apart.
llvm::SmallVector<int64_t> addressesOf(const Layout &layout, int64_t element, int64_t bytes, int64_t pitch) {
  llvm::SmallVector<int64_t> addresses;
  for (int64_t lane = 0; lane < layout.numLanes(); ++lane) {
    Position p = layout.at(lane, element);
    addresses.push_back(p.row * pitch + p.col * bytes);
  }
  return addresses;
}

/// Accesses to the first element of all lanes, in tiles of many shapes.
void expectEqualInTiles(const Layout &layout, int64_t bytes, const Memory &memory) {
  for (int64_t pitch : {32, 64, 128, 256, 512, 80, 144, 264})
    for (int64_t width : {1, 2, 4, 8, 16})
      for (int64_t bits : {0, 1, 3})
        for (int64_t again : {0, 9})
          expectEqual(addressesOf(layout, 0, bytes, pitch), width, memory, {bits, /*base=*/4, /*shift=*/4, again});
}

TEST(BankClocks, RanksAgreeOnTheLayoutsOfAllUnits) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  int64_t layouts = 0;
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &name : target->chips()) {
      auto chip = llvm::cantFail(target->describe(name));
      for (const Memory &memory : chip->memories())
        for (const MatrixUnit &unit : chip->units())
          for (const UnitOperand *operand : {&unit.a, &unit.b, &unit.c})
            if (memory.banks > 0 && operand->residence == Residence::LaneRegisters) {
              expectEqualInTiles(operand->layout, std::max<int64_t>(1, bitWidth(operand->element) / 8), memory);
              ++layouts;
            }
    }
  EXPECT_GT(layouts, 100);
}

TEST(BankClocks, RanksAgreeOnRandomAddresses) {
  std::mt19937 random(7);
  Memory memory;
  for (int trial = 0; trial < 20000; ++trial) {
    memory.banks = trial % 7 ? int64_t(1) << random() % 7 : 3 + random() % 30;
    memory.bankBytes = int64_t(1) << random() % 4;
    int64_t width = int64_t(1) << random() % 6, lanes = int64_t(1) << random() % 7;
    int64_t aligned = trial % 3 ? width : 1;
    llvm::SmallVector<int64_t> addresses = {0};
    for (int64_t bit = 1; bit < lanes; bit *= 2) {
      int64_t base = random() % 4096 * aligned;
      for (int64_t lane = 0; lane < bit; ++lane)
        addresses.push_back(addresses[lane] ^ base);
    }
    if (trial % 5 == 0)
      addresses[random() % lanes] += aligned; // no longer linear, or moved as a whole
    if (trial % 11 == 0)
      addresses.pop_back();
    expectEqual(addresses, width, memory, {int64_t(random() % 4), int64_t(random() % 6), int64_t(random() % 6), 0});
  }
}

/// Eight rows of 64 bytes, read 16 bytes at a time: four of them lie in each half of 32 banks of 4 bytes.
TEST(BankClocks, ASwizzleKeepsRowsApart) {
  Memory memory;
  memory.banks = 32;
  memory.bankBytes = 4;
  LaneAddresses rows({0, 64, 128, 192, 256, 320, 384, 448});
  EXPECT_EQ(rows.clocks(16, memory, Swizzle()), (BankClocks{4, 1}));
  EXPECT_EQ(rows.clocks(16, memory, Swizzle{2, 4, 3, 0}), (BankClocks{1, 1}));
}

} // namespace

} // namespace bank_clocks_test
