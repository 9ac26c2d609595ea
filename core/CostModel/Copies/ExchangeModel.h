//===- ExchangeModel.h - Elements that lanes shuffle ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lanes of a subgroup that access global memory are gathered into sectors. How a
/// unit shares out its result may leave each access a part of every sector that it
/// touches, so that the next ones touch them again. Lanes shuffle elements before:
/// one bit of the element's number changes places with one of the lane's, and then
/// the next one, as long as the sectors that it saves take longer than the exchange.
///
/// Rows of a known pitch, two units with 8 columns each, elements of 2 bytes:
///
///   lane    0           1           2             3                0            1              2          3
///   holds   a0 a1       a2 a3       a4 a5         a6 a7       ->   a0 a1 a2 a3  a8 .. a11      a4 .. a7   a12 .. a15
///           a8 a9       a10 a11     a12 a13       a14 a15
///   stores  16 bytes of a row, twice                               32 bytes of it, once
///
/// Unaligned rows, of which a lane moves single elements:
///
///   lane    0       1      ..   4       5              0    1     4    5
///   holds   a0 a1   a2 a3       b0 b1   b2 b3     ->   a0   a2    a1   a3
///                                                      b0   b2    b1   b3
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_EXCHANGEMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_EXCHANGEMODEL_H

#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright {

/// A position in the box or matrix that an access covers, or a place in an array.
using Point = llvm::SmallVector<int64_t, 4>;

/// How points are shared out: bit b of the worker's number contributes `bits[b]`, element e `elements[e]`.
struct SharedPoints {
  llvm::SmallVector<Point> bits, elements;
};

/// Whether a bit of the worker's number moves nothing: two of them have the same.
inline bool standsStill(llvm::ArrayRef<int64_t> bit) {
  return llvm::all_of(bit, [](int64_t step) { return step == 0; });
}

/// Elements of one lane at consecutive addresses.
struct LaneRun {
  unsigned first = 0, count = 1; // elements
};

/// Bit `element` of the element's number and bit `lane` of the lane's change places.
struct LaneSwap {
  unsigned element = 0, lane = 0;
  bool operator==(const LaneSwap &other) const { return element == other.element && lane == other.lane; }
};

/// Swaps one after the other, and then the order in which a lane has its elements: its i-th one was `order[i]`, so that
/// neighbours of a row follow each other.
struct LaneExchange {
  llvm::SmallVector<LaneSwap> swaps; // none: lanes keep what they have
  llvm::SmallVector<int64_t> order;
  size_t sectors = 0; // that all accesses touch
  double clocks = 0;  // of accesses and exchange
};

/// Clocks of a multiprocessor.
struct ExchangePrices {
  double sector = 0;   // of global memory that an access touches
  double access = 0;   // of a subgroup's lanes
  double exchange = 0; // of 4 bytes of each lane
  double choice = 0;   // of each lane between two values of 4 bytes
  int64_t sectorBytes = 1;
};
ExchangePrices exchangePrices(const TargetDescription &chip, const LaneHierarchy &hierarchy);

/// `points` after `exchange`; all that were shared out alike change alike.
SharedPoints exchanged(SharedPoints points, const LaneExchange &exchange);

/// The places of a fragment's elements over its lanes: (row, column) each.
SharedPoints pointsOf(const Layout &layout);

/// The elements 0 .. `count` - 1 in runs, each the longest power of two of at most 16 of which `fits` says so; a single
/// one always does.
llvm::SmallVector<LaneRun> longestRuns(unsigned count, llvm::function_ref<bool(LaneRun run)> fits);

/// Runs of at most `maxBytes` in rows whose beginnings are multiples of `multiple` elements, a power of two.
llvm::SmallVector<LaneRun> runsOfRows(const SharedPoints &places, int64_t elementBytes, int64_t multiple,
                                      int64_t maxBytes);

/// The exchange with which accesses to elements at `places` (of an array, whose last dimension lies together) take the
/// fewest clocks. Only the low `laneBits` bits of the worker's number are lanes that may exchange. `runsAfter`: what
/// one access moves after an exchange. Places in all dimensions but the last one are rows of their own, which begin at
/// sectors.
LaneExchange planExchange(const SharedPoints &places, int64_t elementBytes, unsigned laneBits,
                          const ExchangePrices &prices,
                          llvm::function_ref<llvm::SmallVector<LaneRun>(const LaneExchange &)> runsAfter);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_EXCHANGEMODEL_H
