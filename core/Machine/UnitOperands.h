//===- UnitOperands.h - Where a unit finds its operands ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Questions about the record of a unit that several stages ask.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_UNITOPERANDS_H
#define TILEWRIGHT_CORE_MACHINE_UNITOPERANDS_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Whether the unit reads A, B or both in a scratchpad by itself.
inline bool readsScratchpad(const MatrixUnit &unit) {
  return unit.a.residence == Residence::Scratchpad || unit.b.residence == Residence::Scratchpad;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_UNITOPERANDS_H
