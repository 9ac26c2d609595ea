//===- SliceModelTest.cpp - Subgroups that share out k ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order of an exchange for every unit of every chip that runs lanes, how much
/// of it the scratchpad holds at a time, and registers counted by issue slot.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SliceModel.h"
#include "LaunchFixture.h"
#include "core/CostModel/Machine/BankClocks.h"
#include "core/CostModel/Schedules/LaneRegisters.h"
#include "core/CostModel/Schedules/PlanRanking.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include <set>

namespace slice_model_test {

using namespace mlir;
using namespace tilewright;
using namespace tilewright::test;

namespace {

using Chip = std::shared_ptr<const TargetDescription>;

/// Calls `visit` for each chip that runs lanes.
void eachChip(llvm::function_ref<void(const TargetDescription &, const LaneHierarchy &)> visit) {
  programContext();
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &name : target->chips()) {
      auto chip = llvm::cantFail(target->describe(name));
      if (chip->graph().hasBlocks()) {
        SCOPED_TRACE((target->name() + ":" + name).str());
        visit(*chip, LaneHierarchy::of(chip->graph()));
      }
    }
}

int64_t bytesOf(const UnitOperand &operand) { return std::max<int64_t>(1, bitWidth(operand.element) / 8); }

/// Units whose k slices may share out: several steps of k, and all operands in registers of a subgroup.
bool hasSteps(const MatrixUnit &unit) {
  return unit.k > 1 && unit.scopeCount == 1 && unit.c.residence == Residence::LaneRegisters;
}

/// A plan of `slices` with a ring of `ring` bytes on `unit`.
LaneContractionPlan planOf(const MatrixUnit &unit, int64_t slices, int64_t ring) {
  LaneContractionPlan plan;
  plan.unit = &unit;
  plan.subgroupsM = 2;
  plan.subgroupsN = 1;
  plan.subgroupsK = slices;
  plan.tilesM = 4;
  plan.tilesN = 2;
  plan.sharedBytes = ring;
  return plan;
}

} // namespace

TEST(SliceModel, OrdersAreBijectionsWithoutConflicts) {
  int units = 0;
  eachChip([&](const TargetDescription &chip, const LaneHierarchy &hierarchy) {
    const Memory &scratchpad = *chip.memory(hierarchy.scratchpad);
    for (const MatrixUnit &unit : chip.units()) {
      if (!hasSteps(unit))
        continue;
      SCOPED_TRACE(unit.name);
      ++units;
      const Layout &layout = unit.c.layout;
      int64_t bytes = bytesOf(unit.c), lanes = layout.numLanes(), elements = layout.numElements();
      auto order = exchangeOrder(layout, bytes, &programContext());
      ASSERT_TRUE(order);
      AffineMap map = AffineMap::get(2, 0, *order);
      auto at = [&](int64_t row, int64_t col) { return map.compose(ArrayRef<int64_t>{row, col}).front(); };
      std::set<int64_t> places;
      for (int64_t row = 0; row < unit.c.rows; ++row)
        for (int64_t col = 0; col < unit.c.cols; ++col)
          places.insert(at(row, col));
      EXPECT_EQ(int64_t(places.size()), unit.c.rows * unit.c.cols);
      EXPECT_EQ(*places.begin(), 0);
      EXPECT_EQ(*places.rbegin(), unit.c.rows * unit.c.cols - 1);
      // Vectors of a lane, and lanes that access them together.
      int64_t count = std::min<int64_t>(elements, 16 / bytes);
      for (int64_t first = 0; first < elements; first += count) {
        SmallVector<int64_t> addresses;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          auto placeOf = [&](int64_t element) {
            Position position = layout.at(lane, element);
            return at(position.row, position.col);
          };
          int64_t begin = placeOf(first);
          EXPECT_EQ(begin % count, 0) << "lane " << lane;
          for (int64_t e = 1; e < count; ++e)
            EXPECT_EQ(placeOf(first + e), begin + e) << "lane " << lane;
          addresses.push_back(begin * bytes);
        }
        BankClocks clocks = bankClocks(addresses, count * bytes, scratchpad);
        EXPECT_EQ(clocks.taken, clocks.least) << "elements from " << first;
      }
    }
  });
  EXPECT_GE(units, 50);
}

/// The first 4 bytes of each lane are those of a row: neighbours lie 4 elements apart, which 16 bytes of lane 0 fill.
TEST(SliceModel, SixteenBytesOfALaneThenLanes) {
  Layout layout;
  layout.lanes = {{1, 0}, {2, 0}, {0, 8}};
  layout.elements = {{0, 1}, {0, 2}, {0, 4}};
  auto placesOf = [&](int64_t bytes) {
    AffineMap map = AffineMap::get(2, 0, *exchangeOrder(layout, bytes, &programContext()));
    std::vector<int64_t> places;
    for (int64_t element = 0; element < 8; ++element)
      places.push_back(map.compose(ArrayRef<int64_t>{0, element}).front());
    for (int64_t lane : {1, 2, 4}) {
      Position position = layout.at(lane, 0);
      places.push_back(map.compose(ArrayRef<int64_t>{position.row, position.col}).front());
    }
    return places;
  };
  EXPECT_EQ(placesOf(4), (std::vector<int64_t>{0, 1, 2, 3, 32, 33, 34, 35, 4, 8, 16}));
  EXPECT_EQ(placesOf(8), (std::vector<int64_t>{0, 1, 16, 17, 32, 33, 48, 49, 2, 4, 8}));
  EXPECT_EQ(placesOf(2), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32}));
}

/// A bit that moves both indices has no place.
TEST(SliceModel, BitsOfBothIndicesHaveNoOrder) {
  Layout layout;
  layout.lanes = {{1, 1}, {2, 0}};
  layout.elements = {{0, 1}};
  EXPECT_FALSE(exchangeOrder(layout, 4, &programContext()));
  layout.lanes = {{1, 0}, {3, 0}};
  EXPECT_FALSE(exchangeOrder(layout, 4, &programContext()));
}

TEST(SliceModel, ExchangesFitTheRing) {
  eachChip([&](const TargetDescription &chip, const LaneHierarchy &hierarchy) {
    for (const MatrixUnit &unit : chip.units()) {
      if (!hasSteps(unit))
        continue;
      SCOPED_TRACE(unit.name);
      EXPECT_EQ(planSliceExchange(planOf(unit, 1, 4096)).units, 0);
      EXPECT_EQ(planSliceExchange(planOf(unit, 1, 4096)).bytes, 0);
      for (int64_t slices : {2, 4}) {
        // Of one unit of both subgroups of each slice but the first.
        int64_t unitBytes = (slices - 1) * 2 * unit.c.rows * unit.c.cols * bytesOf(unit.c);
        for (auto [ring, units] : {std::pair(8 * unitBytes, 8),
                                   {8 * unitBytes - 1, 4},
                                   {4 * unitBytes, 4},
                                   {2 * unitBytes, 2},
                                   {3 * unitBytes, 2},
                                   {unitBytes, 1},
                                   {unitBytes - 1, 1},
                                   {int64_t(1), 1}}) {
          SliceExchange exchange = planSliceExchange(planOf(unit, slices, ring));
          EXPECT_EQ(exchange.units, units);
          EXPECT_EQ(exchange.rounds, 8 / units);
          EXPECT_EQ(exchange.bytes, units * unitBytes);
          EXPECT_LE(exchange.bytes, std::max(ring, unitBytes));
          EXPECT_EQ(exchange.moved, 8.0 * unitBytes);
        }
      }
    }
  });
}

/// Each round waits for a write and a read; bytes go both ways.
TEST(SliceModel, ClocksOfExchanges) {
  SliceExchange exchange;
  exchange.units = 1;
  exchange.rounds = 3;
  exchange.moved = 1024;
  exchange.subgroups = 2;
  exchange.instructions = 40;
  Memory scratchpad = *llvm::cantFail(TargetRegistry::get().describe("nvidia:A100"))->memory("shared");
  scratchpad.bytesPerClock = 128;
  scratchpad.latency = 20;
  // Two subgroups of each block: one block fills two of four issue slots, two blocks all, three wait for each other.
  EXPECT_DOUBLE_EQ(exchange.clocks(scratchpad, 4, 1), 16 + 40 + 120);
  EXPECT_DOUBLE_EQ(exchange.clocks(scratchpad, 4, 2), 2 * 16 + 40 + 120);
  EXPECT_DOUBLE_EQ(exchange.clocks(scratchpad, 4, 3), 3 * 16 + 60 + 120);
  EXPECT_DOUBLE_EQ(SliceExchange().clocks(scratchpad, 4, 2), 0);
}

/// Of plans of one time that with the fewest slices is taken; where waves keep their order, those that are slower by
/// less than 3%, too, and none with more slices for fewer instructions alone.
TEST(SliceModel, SlicesAreTakenForTime) {
  programContext();
  auto chip = llvm::cantFail(TargetRegistry::get().describe("amd:MI300X"));
  const MatrixUnit &unit = *llvm::find_if(chip->units(), hasSteps);
  auto slicesOf = [&](double seconds, bool keepsOrder) {
    LaneContractionPlan whole = planOf(unit, 1, 4096), sliced = planOf(unit, 2, 4096);
    for (LaneContractionPlan *plan : {&whole, &sliced}) {
      plan->loadsAhead = keepsOrder;
      plan->instructions.products = 4;
      plan->instructions.loop = plan == &whole ? 1000 : 0;
    }
    whole.seconds = 1;
    sliced.seconds = seconds;
    PlanRanking ranking;
    ranking.add(whole, 0, /*beside=*/2);
    ranking.add(sliced, 0, /*beside=*/1);
    return ranking.take()->subgroupsK;
  };
  for (bool keepsOrder : {false, true}) {
    EXPECT_EQ(slicesOf(1, keepsOrder), 1);
    EXPECT_EQ(slicesOf(1.001, keepsOrder), 1);
    EXPECT_EQ(slicesOf(0.96, keepsOrder), 2);
  }
  EXPECT_EQ(slicesOf(0.98, false), 2);
  EXPECT_EQ(slicesOf(0.98, true), 1);
}

/// A subgroup's registers lie in the part of one issue slot.
TEST(SliceModel, RegistersOfIssueSlots) {
  programContext();
  auto describe = [](llvm::StringRef name) { return llvm::cantFail(TargetRegistry::get().describe(name)); };
  // 512 registers of each of 64 lanes in a slot, of four: one subgroup of 300, two of 256, three of 170.
  auto wide = describe("amd:MI300X");
  for (auto [registers, together] : {std::pair(300, 4), {257, 4}, {256, 8}, {170, 12}, {171, 8}, {128, 16}})
    for (int64_t subgroups : {1, 2, 3, 4, 5, 8, 16})
      EXPECT_EQ(blocksInRegisters(*wide, registers, 64, subgroups), together / subgroups)
          << registers << " " << subgroups;
  // 512 of each of 32 lanes.
  auto narrow = describe("nvidia:A100");
  for (auto [registers, together] : {std::pair(255, 8), {168, 12}, {128, 16}, {64, 32}})
    for (int64_t subgroups : {1, 2, 4, 8, 16})
      EXPECT_EQ(blocksInRegisters(*narrow, registers, 32, subgroups), together / subgroups)
          << registers << " " << subgroups;
}

} // namespace slice_model_test
