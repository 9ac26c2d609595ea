//===- BankClocks.h - Bank conflicts ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Clocks that the banks of a scratchpad take for what lanes access together.
///
/// Layouts, tiles whose rows are powers of two and swizzles are linear over GF(2): the address of a lane is the XOR of
/// the addresses of its number's bits. So are the words of an access, and the bank of a word is some of its bits. Of
/// 2^w words, of which banks tell 2^b apart, each bank in use holds 2^(w - b): the degree of a conflict is a
/// difference of two ranks, and no address is listed:
///
///   lane bit     0        1        2           words: rank 3      banks: rank 2 (the low five bits of a word)
///   word         00001    00010    100000      a conflict of degree 2^(3 - 2) = 2
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKCLOCKS_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKCLOCKS_H

#include "tilewright/TargetDescription.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright {

/// Clocks of accesses, and those that they would take without conflicts.
struct BankClocks {
  int64_t taken = 0, least = 0;
  BankClocks times(int64_t count) const { return {taken * count, least * count}; }
  BankClocks operator+(const BankClocks &other) const { return {taken + other.taken, least + other.least}; }
  bool operator==(const BankClocks &) const = default;
};

/// One access of `width` bytes by lanes at these addresses: a group of lanes takes all banks once, more where two of
/// its words share a bank. Lists and sorts the words.
BankClocks bankClocks(llvm::ArrayRef<int64_t> addresses, int64_t width, const Memory &memory);

/// What lanes access together: by bits of their number where that is linear, else lane by lane.
class LaneAddresses {
public:
  /// Finds out whether they are linear: as many as a power of two, each the XOR of those of its number's bits.
  explicit LaneAddresses(llvm::SmallVector<int64_t> addresses);

  size_t size() const { return count; }
  /// `move`, applied to each address, is linear over GF(2), as a swizzle is.
  BankClocks clocks(int64_t width, const Memory &memory, llvm::function_ref<int64_t(int64_t)> move) const;
  /// Without conflicts: a lower bound of `clocks`, whatever moves them.
  int64_t leastClocks(int64_t width, const Memory &memory) const;

private:
  size_t count;
  llvm::SmallVector<int64_t> listed;   // of each lane, where they are not linear
  llvm::SmallVector<int64_t, 8> bases; // of each bit of a lane's number
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKCLOCKS_H
