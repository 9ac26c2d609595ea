//===- TurnedCopy.h - Copies that transpose in registers --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile whose rows in the scratchpad are columns of the array. Each lane loads
/// `across` segments of `along` neighbours, turns that block in its registers and
/// writes `along` segments of rows of the tile:
///
///        array: k x n                      scratchpad: n x k
///   k    a0 a1 a2 a3  <- one load     n    a0 b0   <- one write
///   k+1  b0 b1 b2 b3                  n+1  a1 b1         along = 4
///                                     n+2  a2 b2         across = 2
///                                     n+3  a3 b3
///
/// Of neighbouring lanes the first `near` lie along the array, the next ones
/// along the tile's rows: the fewer, the more rows of the array one load touches
/// (whole sectors of each still), and the more segments of a row one write fills,
/// which keeps banks apart. After `beside` segments of a row lanes lie along the
/// array again: lanes that write in one clock keep banks apart, all of a subgroup
/// fill sectors.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_TURNEDCOPY_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_TURNEDCOPY_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tilewright {

/// The block that a lane turns, in elements; both powers of two.
struct TurnShape {
  int64_t along = 1, across = 1;
};

/// Blocks for `elements` of a lane, with segments of at most 16 bytes, `mostAlong` and `mostAcross` elements: first
/// those with the fewest loads, writes and permutations; of equal ones that with the widest writes.
llvm::SmallVector<TurnShape> turnShapes(int64_t elements, int64_t elementBytes, int64_t mostAlong, int64_t mostAcross);

/// Permutations of two words of 32 bits that turn a lane's `elements`; a lane that loads and writes whole words needs
/// none for elements of 4 bytes, one a word for 2, two a word for 1, and one an element where segments are narrower.
int64_t turnPermutes(const TurnShape &shape, int64_t elements, int64_t elementBytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_TURNEDCOPY_H
