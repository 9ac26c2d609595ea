//===- CoalescingCounters.h - Sectors and banks of an access ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Transactions and bank cycles of one instruction of a subgroup, from the
/// addresses of its lanes:
///
///   global      distinct 32-byte sectors touched
///   scratchpad  lanes are served in groups that the banks can feed at once; a group takes as many cycles as the most
///               distinct words in one of its banks. Fewer are impossible, more are conflicts:
///
///               lane:   0  1  2  3           4 banks, words 0 4 8 12: all in bank 0, 4 cycles, 3 of them conflicts
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_COALESCINGCOUNTERS_H
#define TILEWRIGHT_CORE_EMULATOR_COALESCINGCOUNTERS_H

#include "core/CostModel/Machine/Sectors.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace tilewright {

/// Distinct sectors of `bytes` bytes at each address.
uint64_t countSectors(llvm::ArrayRef<uint64_t> addresses, uint64_t bytes, uint64_t sectorBytes);

/// The banks of a scratchpad.
struct Banks {
  unsigned count = 1, bytes = 4;
  struct Cost {
    uint64_t cycles = 0, conflicts = 0;
  };
  /// One access of `bytes` bytes a lane. `lanes`: number in the subgroup of each address's lane, ascending. `groups`:
  /// lanes served together; empty: consecutive lanes, as many as count * bytes serves.
  Cost cost(llvm::ArrayRef<uint64_t> addresses, llvm::ArrayRef<unsigned> lanes, uint64_t accessBytes,
            llvm::ArrayRef<std::vector<unsigned>> groups = {}) const;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_COALESCINGCOUNTERS_H
