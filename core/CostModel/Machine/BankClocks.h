//===- BankClocks.h - Lanes that meet in banks ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Clocks that the banks of a scratchpad take for what lanes access together.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKCLOCKS_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKCLOCKS_H

#include "tilewright/TargetDescription.h"
#include "llvm/ADT/ArrayRef.h"

namespace tilewright {

/// Clocks of accesses, and those that they would take without conflicts.
struct BankClocks {
  int64_t taken = 0, least = 0;
  BankClocks times(int64_t count) const { return {taken * count, least * count}; }
  BankClocks operator+(const BankClocks &other) const { return {taken + other.taken, least + other.least}; }
};

/// One access of `width` bytes by lanes at these addresses: a group of lanes takes all banks once, more where two of
/// its words share a bank.
BankClocks bankClocks(llvm::ArrayRef<int64_t> addresses, int64_t width, const Memory &memory);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_BANKCLOCKS_H
