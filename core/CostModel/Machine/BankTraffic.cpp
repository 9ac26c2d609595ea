//===- BankTraffic.cpp - Engines that want the same banks -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks through the rows of an instruction clock by clock.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/BankTraffic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace tilewright;

/// Banks that fit the bits of a set.
static constexpr int64_t mostBanks = 64;

uint64_t tilewright::banksOf(int64_t address, int64_t bytes, const Memory &memory) {
  if (memory.banks < 1 || memory.banks > mostBanks || memory.bankBytes < 1 || bytes < 1)
    return 0;
  int64_t first = address / memory.bankBytes, last = (address + bytes - 1) / memory.bankBytes;
  uint64_t banks = 0;
  for (int64_t word = first; word <= last && word < first + memory.banks; ++word)
    banks |= uint64_t(1) << (word % memory.banks);
  return banks;
}

UnitTraffic tilewright::trafficOf(const MatrixUnit &unit, RowStream a, RowStream b, bool loads) {
  const bool holdsA = unit.stationary == 'A';
  UnitTraffic traffic;
  traffic.moving = holdsA ? b : a;
  traffic.movingRows = std::max<int64_t>(1, std::ceil(traffic.moving.rows / std::max(1.0, unit.issue)));
  if (unit.stationary && loads) {
    traffic.stationary = holdsA ? a : b;
    traffic.stationaryRows =
        std::max<int64_t>(1, std::ceil(traffic.stationary.rows / std::max(1.0, unit.loadStationary)));
  }
  return traffic;
}

/// Reads `stream` from `clock` on, up to `together` rows a clock; the first clock after it. Rows of one word are one
/// access.
static int64_t walk(const RowStream &stream, int64_t together, const Memory &memory, int64_t clock,
                    llvm::function_ref<uint64_t(int64_t)> taken) {
  // Banks that others never let go would hold the unit for ever.
  const int64_t most = clock + mostBanks * (stream.rows + 1);
  for (int64_t row = 0; row < stream.rows && clock < most; ++clock) {
    uint64_t others = taken(clock), own = 0;
    for (int64_t i = 0; i < together && row < stream.rows; ++i, ++row) {
      int64_t address = stream.address + row * stream.pitch;
      uint64_t banks = banksOf(address, stream.rowBytes, memory);
      bool isSameWord = address / memory.bankBytes == (address - stream.pitch) / memory.bankBytes;
      if ((banks & others) || ((banks & own) && !isSameWord))
        break;
      own |= banks;
    }
  }
  return clock;
}

int64_t tilewright::bankWaits(const UnitTraffic &traffic, const Memory &memory,
                              llvm::function_ref<uint64_t(int64_t)> taken) {
  if (memory.banks < 1 || memory.banks > mostBanks || memory.bankBytes < 1)
    return 0;
  int64_t clock = walk(traffic.stationary, traffic.stationaryRows, memory, 0, taken);
  clock = walk(traffic.moving, traffic.movingRows, memory, clock, taken);
  int64_t least = llvm::divideCeil(traffic.stationary.rows, traffic.stationaryRows) +
                  llvm::divideCeil(traffic.moving.rows, traffic.movingRows);
  return std::max<int64_t>(0, clock - least);
}

double tilewright::waitingShare(const UnitTraffic &traffic, double clocks, double bytesPerClock, const Memory &memory) {
  if (memory.banks < 1 || memory.banks > mostBanks || memory.bankBytes < 1 || bytesPerClock <= 0)
    return 0;
  const auto beat = std::max<int64_t>(1, static_cast<int64_t>(bytesPerClock));
  const int64_t period = std::max<int64_t>(1, memory.banks * memory.bankBytes / beat);
  double waits = 0;
  for (int64_t offset = 0; offset < period; ++offset)
    waits += bankWaits(traffic, memory, [&](int64_t clock) { return banksOf((clock + offset) * beat, beat, memory); });
  waits /= period;
  return waits / (clocks + waits);
}

double tilewright::beatsOf(int64_t rows, int64_t rowBytes, double bytesPerClock, int64_t alignBytes) {
  if (bytesPerClock <= 0)
    return 0;
  const double row = rowBytes / bytesPerClock;
  return rows * (alignBytes > 1 ? std::ceil(row) : row);
}
