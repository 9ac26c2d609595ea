//===- Chips.h - Tables of the CPU chips ------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tables of this folder's chips, and the one of the machine we run on.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TARGETS_CPU_CHIPS_H
#define TILEWRIGHT_TARGETS_CPU_CHIPS_H

#include "tilewright/ChipTable.h"

namespace tilewright::cpu {

/// The chips of Chips.td.
const std::vector<ChipTable> &chips();
/// The CPU that this process runs on: features and caches as found, rates measured, of its family, or generic.
ChipTable host();

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGETS_CPU_CHIPS_H
