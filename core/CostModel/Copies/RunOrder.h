//===- RunOrder.h - Which of its runs a lane writes when --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A lane writes what it holds of a fragment in runs of neighbouring elements. Where
/// an engine prescribes how the tile lies, lanes that write the same run at a time
/// may have a bank conflict; then some of them write another run meanwhile. Sums of 4 bytes,
/// lane 4 r + q holds elements 2 q and 2 q + 1 of each 8 columns of row r, the engine
/// flips segments of 16 bytes by the number of the row; 16 lanes could write 128 bytes,
/// 8 segments, in one clock (r.q: lanes of row r with q = 0, 1 or 2, 3):
///
///   segment of the banks    0    1    2    3    4    5    6    7
///   all write column 2 q    0.0  0.2  2.0  2.2                        two rows in a segment: 2 clocks
///                           1.2  1.0  3.2  3.0
///   q = 2, 3: 2 q + 16      0.0  1.0  2.0  3.0  1.2  0.2  3.2  2.2    1 clock; afterwards these write column 2 q,
///                                                                     and the others 2 q + 16
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_RUNORDER_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_RUNORDER_H

#include "core/CostModel/Machine/BankClocks.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright {

/// How lanes write into a tile. Offsets are those of a dense tile, bytes, before it is swizzled.
struct LaneWrites {
  llvm::SmallVector<int64_t> bits; // by which each bit of the lane's number moves a write
  llvm::SmallVector<int64_t> runs; // of the first lane
  int64_t width = 4;               // of a run, bytes
  int64_t lanes = 32;              // of a subgroup: they write together
  int64_t swizzleBits = 0, swizzleBase = 0, swizzleShift = 0;
};

/// Lanes whose number has bit `bit` set write the runs that are `step` bytes apart, a power of two, in the other order.
struct RunSwap {
  unsigned bit = 0;
  int64_t step = 0;
  bool operator==(const RunSwap &other) const { return bit == other.bit && step == other.step; }
};

struct RunOrder {
  llvm::SmallVector<RunSwap> swaps; // none: all lanes write the same run
  BankClocks clocks;                // of one run of a subgroup
};

/// The order that takes the least time: clocks of `memory`'s banks, and a choice for every 4 bytes and swap, of which
/// `issueSlots` are made a clock. No swaps where bits of lanes and runs are not apart.
RunOrder orderRuns(const LaneWrites &writes, const Memory &memory, double issueSlots);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_RUNORDER_H
