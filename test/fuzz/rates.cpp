//===- rates.cpp - Fuzzes the reader of measured rates --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The input is the text of a rates file. Whatever it says, the chip's numbers
/// stay positive and finite, so that no cost model divides by nothing.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/Chips.h"

#include <cmath>
#include <cstdlib>

using namespace tilewright;

static void require(bool holds) {
  if (!holds)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const ChipTable recorded = [] {
    ChipTable chip = cpu::recordedChips().front();
    chip.cpu = "acme1"; // what the files of the corpus are for
    return chip;
  }();
  ChipTable chip = recorded;
  llvm::Expected<bool> applied = cpu::applyRates(chip, {reinterpret_cast<const char *>(data), size});
  if (!applied)
    llvm::consumeError(applied.takeError());
  require(chip.clockMHz > 0 && std::isfinite(chip.clockMHz));
  for (const MatrixUnit &unit : chip.units)
    require(unit.issue > 0 && unit.latency >= unit.issue && std::isfinite(unit.latency));
  for (const Fact &fact : chip.numbers)
    require(fact.value >= 0 && std::isfinite(fact.value));
  for (const Memory &memory : chip.memories)
    require(std::isfinite(memory.bytesPerClock) && std::isfinite(memory.latency));
  return 0;
}
