//===- RowBlocks.h - Rows that are transposed together ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rows of a register tile may be neighbours in an array in which its lanes
/// are not: output channels on lanes, channels first in memory. Such rows are
/// transposed in registers in blocks of falling powers of two, and each lane's
/// part of a block is one access. The emitter (ContractionRows.cpp) and the cost
/// model (ContractionTime.cpp) both cut here:
///
///   14 rows of 16 lanes    8 + 4 + 2 rows    16 accesses each, of 8, 4 and 2 elements
///   13 rows of 8 lanes     8 + 4 + 1 rows    8 accesses each, of 8, 4 and 1 element
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_ROWBLOCKS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_ROWBLOCKS_H

#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cstdint>

namespace tilewright {

/// Rows of the next block, of `left` rows (at least 1) of `lanes` lanes.
inline int64_t rowsOfBlock(int64_t left, int64_t lanes) {
  return std::min<int64_t>(lanes, static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(left))));
}

/// Rows of a block that a loop takes from a buffer: its code stays short, and no shuffle leaves a part of 128 bits
/// where sums have 32.
constexpr int64_t rowsFromBuffer = 4;

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_ROWBLOCKS_H
