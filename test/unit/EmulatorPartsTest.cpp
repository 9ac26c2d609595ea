//===- EmulatorPartsTest.cpp - Fibers, clocks, shadow memory, banks -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emulator's parts alone.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/CoalescingCounters.h"
#include "core/Emulator/Fiber.h"
#include "core/Emulator/Shadow.h"
#include "core/Emulator/Symbols.h"
#include "core/Emulator/UnitRunner.h"
#include "tilewright/Target.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <bit>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <tuple>

namespace emulator_parts_test {

using namespace tilewright;

namespace {

struct PingPong {
  void *main = nullptr, *fiber = nullptr;
  int value = 0;
  double scale = 1;
};

void body(void *argument) {
  auto &state = *static_cast<PingPong *>(argument);
  double kept = state.scale; // lives over the switches, in a register if it can
  for (;;) {
    state.value += static_cast<int>(kept);
    tilewright_fiber_switch(&state.fiber, state.main);
  }
}

} // namespace

TEST(Fiber, KeepsItsStateOverSwitches) {
  FiberStacks stacks;
  ASSERT_TRUE(stacks.reserve(3));
  PingPong states[3];
  for (int i = 0; i < 3; ++i) {
    states[i].scale = i + 1;
    states[i].fiber = tilewright_fiber_prepare(stacks.top(i), body, &states[i]);
  }
  for (int round = 0; round < 1000; ++round)
    for (PingPong &state : states)
      tilewright_fiber_switch(&state.main, state.fiber);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(states[i].value, 1000 * (i + 1));
  EXPECT_TRUE(stacks.contains(1, stacks.top(1) - 8));
  EXPECT_FALSE(stacks.contains(0, stacks.top(1) - 8));
}

namespace {

/// Two lanes and their engines, one granule of 4 bytes at offset 8 in use.
struct Shadowed {
  Agents agents{2, 1, false};
  ShadowMemory shadow;
  Order order[2];
  llvm::DenseSet<uint32_t> none;
  Shadowed() {
    shadow.reset(64, 4, 16, 1);
    for (uint32_t lane = 0; lane < 2; ++lane) {
      order[lane].self = lane;
      order[lane].known = std::make_shared<std::vector<uint32_t>>(agents.count());
    }
  }
  Conflict::Kind access(uint32_t lane, AccessKind kind, uint32_t run = 1) {
    return shadow.access(agents, order[lane], lane, order[lane].clock, run, kind, 8, 4, 0, true, none).kind;
  }
  Conflict::Kind copy(uint32_t lane, uint32_t stamp) {
    auto kindFound =
        shadow.access(agents, order[lane], agents.engine(0, lane), stamp, 1, AccessKind::Write, 8, 4, 0, true, none)
            .kind;
    ++order[lane].clock;
    return kindFound;
  }
  void barrier() {
    std::vector<uint32_t> clocks(agents.count());
    for (Order &one : order) {
      agents.raise(clocks, one);
      ++one.clock;
    }
    auto joined = std::make_shared<std::vector<uint32_t>>(clocks);
    for (Order &one : order)
      one.known = joined;
  }
};

// Hosts with an instruction for it never call this: asked for by name, as code that the JIT links does.
TEST(EmulatorSymbols, RoundsToBfloat) {
  auto symbols = runtimeSymbols();
  auto found =
      llvm::find_if(symbols, [](const auto &symbol) { return llvm::StringRef(symbol.first) == "__truncsfbf2"; });
  ASSERT_NE(found, symbols.end());
  auto truncate = reinterpret_cast<BfloatRegister (*)(float)>(found->second);
  std::mt19937 random(1);
  // Zeros, ties to even both ways, subnormal numbers, the largest one, infinity, NaN whose payload is below bf16's.
  std::vector<uint32_t> all = {0,          0x80000000, 0x3f808000, 0x3f818000, 0x3f818001, 1,
                               0x00018000, 0x7f7fffff, 0xff7f8000, 0x7f800000, 0x7f800001, 0xffc00000};
  for (int i = 0; i < 1000; ++i)
    all.push_back(uint32_t(random()));
  for (uint32_t bits : all) {
    llvm::APFloat right(std::bit_cast<float>(bits));
    bool isNan = right.isNaN(), loses = false;
    right.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &loses);
    uint16_t got = truncate(std::bit_cast<float>(bits))[0];
    if (isNan)
      EXPECT_GT(got & 0x7fff, 0x7f80) << bits;
    else
      EXPECT_EQ(got, right.bitcastToAPInt().getZExtValue()) << bits;
  }
}

} // namespace

TEST(Shadow, WriteThenReadNeedsABarrier) {
  Shadowed s;
  EXPECT_EQ(s.access(0, AccessKind::Read), Conflict::NeverWritten);
  Shadowed t;
  EXPECT_EQ(t.access(0, AccessKind::Write), Conflict::None);
  EXPECT_EQ(t.access(0, AccessKind::Read), Conflict::None);
  EXPECT_EQ(t.access(1, AccessKind::Read), Conflict::AfterWrite);
  Shadowed u;
  u.access(0, AccessKind::Write);
  u.barrier();
  EXPECT_EQ(u.access(1, AccessKind::Read), Conflict::None);
  EXPECT_EQ(u.access(0, AccessKind::Read), Conflict::None);
  EXPECT_EQ(u.access(0, AccessKind::Write), Conflict::AfterRead); // lane 1 may still read
  u.barrier();
  EXPECT_EQ(u.access(1, AccessKind::Write), Conflict::None);
}

TEST(Shadow, CopiesAreKnownAfterTheWaitAndElsewhereAfterTheBarrier) {
  Shadowed s;
  EXPECT_EQ(s.copy(0, 1), Conflict::None);
  s.barrier(); // a barrier alone is no wait
  EXPECT_EQ(s.access(0, AccessKind::Read), Conflict::AfterWrite);
  EXPECT_EQ(s.access(1, AccessKind::Read), Conflict::AfterWrite);
  Shadowed t;
  t.copy(0, 1);
  t.order[0].waited[0] = 1;
  EXPECT_EQ(t.access(0, AccessKind::Read), Conflict::None);
  EXPECT_EQ(t.access(1, AccessKind::Read), Conflict::AfterWrite);
  Shadowed u;
  u.copy(0, 1);
  u.order[0].waited[0] = 1;
  u.barrier();
  EXPECT_EQ(u.access(1, AccessKind::Read), Conflict::None);
  EXPECT_EQ(u.copy(0, 2), Conflict::AfterRead);
}

TEST(Shadow, AtomicAccessesDoNotRaceWithEachOther) {
  Shadowed s;
  s.access(0, AccessKind::Atomic);
  EXPECT_EQ(s.access(1, AccessKind::Atomic), Conflict::None);
  EXPECT_EQ(s.access(0, AccessKind::Write), Conflict::AfterWrite);
  Shadowed t;
  t.access(0, AccessKind::Write, /*run=*/1);
  EXPECT_EQ(t.access(0, AccessKind::Write, /*run=*/2), Conflict::AfterWrite); // another block
}

/// Lanes, copies and atomic updates of all widths, that overlap, with barriers, waits and new runs between them: pieces
/// of a line that come apart and together again find what a cell for each granule does, in every field.
TEST(Shadow, PiecesFindWhatGranulesFind) {
  std::mt19937 random(11);
  auto pick = [&](uint32_t below) { return uint32_t(random() % below); };
  const llvm::DenseSet<uint32_t> none;
  size_t conflicts = 0, clean = 0;
  for (int round = 0; round < 600; ++round) {
    const uint32_t lanes = 2 + pick(5), bytes = 64;
    Agents agents{lanes, 2, pick(4) == 0};
    unsigned granule = 1u << pick(4), line = granule << pick(5);
    bool needsWrite = pick(2);
    uint32_t run = 1, barrierEach = 3 + pick(20);
    ShadowMemory shadow;
    shadow.reset(bytes, granule, line, run);
    ShadowMemory each;
    each.reset(bytes, granule, granule, run);
    std::vector<Order> orders(lanes);
    std::vector<std::array<uint32_t, numEngines>> issued(lanes);
    auto begin = [&] {
      auto known = std::make_shared<std::vector<uint32_t>>(agents.count());
      for (uint32_t lane = 0; lane < lanes; ++lane) {
        orders[lane] = Order();
        orders[lane].self = lane;
        orders[lane].known = known;
        issued[lane] = {};
      }
    };
    begin();
    for (int step = 0; step < 120; ++step) {
      uint32_t lane = pick(lanes);
      Order &order = orders[lane];
      if (pick(barrierEach) == 0) { // of all lanes, or of some
        std::vector<uint32_t> clocks(agents.count());
        std::vector<uint32_t> members;
        for (uint32_t one = 0; one < lanes; ++one)
          if (pick(5))
            members.push_back(one);
        for (uint32_t one : members) {
          agents.raise(clocks, orders[one]);
          ++orders[one].clock;
        }
        auto joined = std::make_shared<std::vector<uint32_t>>(clocks);
        for (uint32_t one : members)
          orders[one].known = joined;
        continue;
      }
      if (pick(12) == 0) {
        unsigned engine = pick(numEngines);
        order.waited[engine] = issued[lane][engine];
        continue;
      }
      if (pick(60) == 0) { // another block; a scratchpad forgets, an array does not
        ++run;
        begin();
        if (needsWrite) {
          shadow.reset(bytes, granule, line, run);
          each.reset(bytes, granule, granule, run);
        }
        continue;
      }
      uint32_t width = std::min(bytes, granule << pick(5));
      uint32_t offset = pick(4) ? pick(bytes / width) * width : pick((bytes - width) / granule + 1) * granule;
      if (pick(8) == 0 && width > 1 && granule > 1) // less than whole granules count as whole ones
        --width;
      AccessKind kind = pick(2) ? AccessKind::Read : pick(4) ? AccessKind::Write : AccessKind::Atomic;
      uint32_t agent = lane, clock = order.clock;
      bool byEngine = kind != AccessKind::Atomic && pick(4) == 0;
      if (byEngine) {
        unsigned engine = pick(numEngines);
        agent = agents.engine(engine, lane);
        clock = ++issued[lane][engine];
      }
      Conflict got = shadow.access(agents, order, agent, clock, run, kind, offset, width, step, needsWrite, none);
      Conflict expected = each.access(agents, order, agent, clock, run, kind, offset, width, step, needsWrite, none);
      if (byEngine)
        ++order.clock;
      auto fields = [](const Conflict &c) {
        return std::make_tuple(c.kind, c.agent, c.clock, c.site, c.otherRun, c.offset);
      };
      ASSERT_EQ(fields(got), fields(expected)) << "round " << round << " step " << step;
      const ShadowCell *cell = shadow.writtenCell(offset, run), *alone = each.writtenCell(offset, run);
      ASSERT_EQ(cell != nullptr, alone != nullptr) << "round " << round << " step " << step;
      if (cell)
        ASSERT_EQ(cell->writeSite, alone->writeSite) << "round " << round << " step " << step;
      ++(got.kind == Conflict::None ? clean : conflicts);
    }
  }
  EXPECT_GT(conflicts, 5000u);
  EXPECT_GT(clean, 5000u);
}

TEST(Shadow, PartsOfALineHaveTheirOwnOrder) {
  Shadowed s;
  auto at = [&](uint32_t lane, AccessKind kind, uint64_t offset, uint64_t bytes, uint32_t site = 0) {
    return s.shadow.access(s.agents, s.order[lane], lane, s.order[lane].clock, 1, kind, offset, bytes, site, true,
                           s.none);
  };
  EXPECT_EQ(at(0, AccessKind::Write, 0, 16).kind, Conflict::None);
  EXPECT_EQ(at(1, AccessKind::Write, 12, 4, /*site=*/7).kind, Conflict::AfterWrite);
  s.barrier();
  EXPECT_EQ(at(1, AccessKind::Write, 4, 4, /*site=*/8).kind, Conflict::None);
  Conflict whole = at(0, AccessKind::Read, 0, 16); // one of its granules is in no order
  EXPECT_EQ(whole.kind, Conflict::AfterWrite);
  EXPECT_EQ(whole.offset, 4u);
  EXPECT_EQ(whole.site, 8u);
  EXPECT_EQ(at(0, AccessKind::Read, 8, 8).kind, Conflict::None);
  EXPECT_EQ(s.shadow.writtenCell(4, 1)->writeSite, 8u);
  EXPECT_EQ(s.shadow.writtenCell(12, 1)->writeSite, 7u);
  EXPECT_EQ(s.shadow.writtenCell(0, 1)->writeSite, 0u);
  EXPECT_EQ(s.shadow.writtenCell(16, 1), nullptr);
  s.barrier();
  EXPECT_EQ(at(0, AccessKind::Write, 0, 16, /*site=*/9).kind, Conflict::None); // together again
  EXPECT_EQ(s.shadow.writtenCell(4, 1)->writeSite, 9u);
  // Reads of both lanes, then a write of a part: both are looked at.
  s.barrier();
  at(0, AccessKind::Read, 0, 16);
  at(1, AccessKind::Read, 0, 16);
  EXPECT_EQ(at(1, AccessKind::Write, 0, 4).kind, Conflict::AfterRead);
  EXPECT_EQ(at(0, AccessKind::Write, 12, 4).kind, Conflict::AfterRead);
}

TEST(Shadow, AnEarlierRunIsForgotten) {
  Shadowed s;
  s.access(0, AccessKind::Write);
  s.access(1, AccessKind::Read);
  s.shadow.reset(64, 4, 16, 2);
  EXPECT_EQ(s.shadow.writtenCell(8, 2), nullptr);
  EXPECT_EQ(s.access(0, AccessKind::Read, /*run=*/2), Conflict::NeverWritten);
  EXPECT_EQ(s.access(0, AccessKind::Write, /*run=*/2), Conflict::None);
}

TEST(CoalescingCounters, Sectors) {
  EXPECT_EQ(countSectors({0, 4, 8, 28}, 4, 32), 1u);
  EXPECT_EQ(countSectors({0, 32, 64, 32}, 4, 32), 3u);
  EXPECT_EQ(countSectors({28}, 8, 32), 2u);
}

TEST(CoalescingCounters, BankConflicts) {
  Banks banks{32, 4};
  std::vector<uint64_t> rows, lines, same(32, 64), wide;
  std::vector<unsigned> lanes;
  for (unsigned i = 0; i < 32; ++i) {
    lanes.push_back(i);
    lines.push_back(4 * i);
    rows.push_back(128 * i);
    wide.push_back(16 * i);
  }
  EXPECT_EQ(banks.cost(lines, lanes, 4).cycles, 1u);
  EXPECT_EQ(banks.cost(rows, lanes, 4).cycles, 32u);
  EXPECT_EQ(banks.cost(rows, lanes, 4).conflicts, 31u);
  EXPECT_EQ(banks.cost(same, lanes, 4).cycles, 1u); // one word for all
  EXPECT_EQ(banks.cost(wide, lanes, 16).cycles, 4u);
  EXPECT_EQ(banks.cost(wide, lanes, 16).conflicts, 0u);
  // Pairs of lanes that the banks serve together need not be neighbours.
  EXPECT_EQ(banks.cost({0, 128, 4, 132}, {0, 1, 2, 3}, 4, {{0, 2}, {1, 3}}).cycles, 2u);
}

TEST(CoalescingCounters, WideAccessesCostWhatTheirWordsCost) {
  Banks banks{32, 4};
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const unsigned words = 2u << random() % 3, span = 1 + random() % 64; // of an access
    // Lanes that the banks serve together, and the same as groups of accesses of single words.
    std::vector<uint64_t> wide, single;
    std::vector<unsigned> lanes, parts;
    for (unsigned lane = 0; lane < 32 / words; ++lane) {
      wide.push_back(uint64_t(random() % span) * words * 4);
      lanes.push_back(lane);
      for (unsigned word = 0; word < words; ++word) {
        single.push_back(wide.back() + word * 4);
        parts.push_back(lane * words + word);
      }
    }
    Banks::Cost cost = banks.cost(wide, lanes, words * 4), expected = banks.cost(single, parts, 4);
    ASSERT_EQ(cost.cycles, expected.cycles) << "round " << round;
    ASSERT_EQ(cost.conflicts, expected.conflicts) << "round " << round;
  }
}

TEST(UnitRunner, AgreesWithTheModelBitByBit) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  std::mt19937 random(7);
  std::set<std::string> done;
  for (const Target *target : TargetRegistry::get().targets()) {
    for (const std::string &name : target->chips()) {
      auto chip = target->describe(name);
      ASSERT_TRUE(static_cast<bool>(chip)) << llvm::toString(chip.takeError());
      for (const MatrixUnit &unit : (*chip)->units()) {
        UnitRunner runner(unit);
        if (runner.inMemory(0) || runner.inMemory(1) || runner.inMemory(2) || !done.insert(unit.name).second)
          continue;
        std::vector<const UnitOperand *> operands{&unit.a, &unit.b, &unit.c};
        llvm::append_range(operands, unit.besides());
        std::vector<char> packed[6];
        std::vector<std::vector<char>> frames(runner.lanes, std::vector<char>(runner.frameBytes()));
        for (int i = 0; i < runner.operands(); ++i) {
          packed[i].resize(fragmentBytes(*operands[i]));
          int64_t elements = operands[i]->layout.numElements();
          // Copies of one position in several slots must agree: values follow the position.
          std::map<std::pair<int64_t, int64_t>, double> values;
          for (int64_t lane = 0; lane < operands[i]->layout.numLanes(); ++lane) {
            for (int64_t element = 0; element < elements; ++element) {
              Position p = operands[i]->layout.at(lane, element);
              double fresh = isFloat(operands[i]->element) ? std::normal_distribution<>()(random) : random() % 2;
              if (operands[i]->element == ElementKind::F8E8M0)
                fresh = std::abs(fresh);
              double value = values.try_emplace({p.row, p.col}, fresh).first->second;
              writeElement(operands[i]->element, packed[i].data(), lane * elements + element, value);
              writeElement(operands[i]->element, frames[lane].data() + runner.registerOffset(i), element, value);
            }
          }
        }
        runUnit(unit, packed[0].data(), packed[1].data(), packed[2].data(), packed[3].data(), packed[4].data(),
                packed[unit.sparsity ? runner.operands() - 1 : 5].data());
        if (runner.laneLocal()) {
          for (int64_t lane = 0; lane < runner.lanes; ++lane)
            runner.runLane(lane, frames[lane].data());
        } else {
          std::vector<char *> addresses;
          for (std::vector<char> &frame : frames)
            addresses.push_back(frame.data());
          runner.run(addresses, [](int, int64_t, int64_t) -> char * { return nullptr; }, true);
        }
        int64_t elements = unit.c.layout.numElements();
        for (int64_t lane = 0; lane < unit.c.layout.numLanes(); ++lane) {
          for (int64_t element = 0; element < elements; ++element) {
            double expected = readElement(unit.c.element, packed[2].data(), lane * elements + element);
            double got = readElement(unit.c.element, frames[lane].data() + runner.registerOffset(2), element);
            ASSERT_EQ(got, expected) << unit.name << " lane " << lane << " element " << element;
          }
        }
      }
    }
  }
  EXPECT_GT(done.size(), 5u);
}

} // namespace emulator_parts_test
