//===- BankTraffic.h - Engines that want the same banks ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A bank of a scratchpad serves one access a clock. A unit that reads its operands row by row waits where a copy
/// engine holds the bank of the next row. Both walk through the banks, the unit faster than the engine, so a unit that
/// has met the engine follows it at the engine's pace:
///
///   clock          0  1  2  3  4  5  6  7  8
///   copy engine    4  4  5  5  6  6  7  7  8      two clocks for each word of a bank
///   unit           2  3  -  4* ...                 * the bank of its next row, free two clocks later
///
/// The emulator knows what each engine does in each clock; the plan takes the mean over all offsets of the two walks.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKTRAFFIC_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKTRAFFIC_H

#include "tilewright/TargetDescription.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright {

/// Rows of a scratchpad: addresses and sizes in bytes.
struct RowStream {
  int64_t address = 0, pitch = 0, rows = 0, rowBytes = 0;
};

/// What one instruction of a unit reads out of the scratchpad: first the operand that stays in it, then a row of the
/// other one after the other.
struct UnitTraffic {
  RowStream stationary; // no rows: the unit holds it
  RowStream moving;
  int64_t stationaryRows = 1, movingRows = 1; // in a clock, at most
};

/// The banks of bytes [address, address + bytes) as bits; none where the memory has no banks or more than 64.
uint64_t banksOf(int64_t address, int64_t bytes, const Memory &memory);

/// The traffic of an instruction of `unit` with A and B at these addresses and row pitches; `loads`: the stationary
/// operand is read too.
UnitTraffic trafficOf(const MatrixUnit &unit, RowStream a, RowStream b, bool loads);

/// Clocks of an instruction of `unit` beyond `issue` and `loadStationary`, which it spends waiting for banks. `taken`:
/// the banks that others hold in a clock, counted from the start of the instruction.
int64_t bankWaits(const UnitTraffic &traffic, const Memory &memory, llvm::function_ref<uint64_t(int64_t)> taken);

/// The part of the clocks in which a copy engine of `bytesPerClock` fills or reads the scratchpad, row after row
/// without gaps, that an instruction with `traffic` and `clocks` waits for banks; the mean over all offsets.
double waitingShare(const UnitTraffic &traffic, double clocks, double bytesPerClock, const Memory &memory);

/// Clocks in which an engine moves data: whole beats of `bytesPerClock` for each row, since no beat has bytes of two.
/// An engine that addresses every byte (`alignBytes` 1) is taken to put rows together.
double beatsOf(int64_t rows, int64_t rowBytes, double bytesPerClock, int64_t alignBytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKTRAFFIC_H
