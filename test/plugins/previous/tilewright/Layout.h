//===- Layout.h - Which lane and register holds which element ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A layout maps (lane, element) of a register fragment to (row, column) of a
/// matrix. It is linear over GF(2) in the bits of lane and element: bit i of the
/// lane contributes `lanes[i]`, bit j of the element `elements[j]`, and all
/// contributions are XOR-ed. A list of strided repetitions extends it to shapes
/// that are no power of two: repetition r multiplies the element count by
/// `count` and adds i * (rowStep, colStep).
///
/// Elements are numbered with the bases as low bits, then the repetitions, the
/// first one fastest:
///
///   elements = [(1,0)], repeats = [3 x (0,1)]      e: 0 1 2 3 4 5
///                                          row, col: 00 10 01 11 02 12
///
/// A layout may hold a position several times (a broadcast), but each position
/// equally often: it then *covers* its matrix evenly.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LAYOUT_H
#define TILEWRIGHT_LAYOUT_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright {

/// A position in a matrix or a step between two, in elements.
struct Position {
  int64_t row = 0, col = 0;
  friend bool operator==(const Position &, const Position &) = default;
};

struct Repetition {
  int64_t count = 1, rowStep = 0, colStep = 0;
  friend bool operator==(const Repetition &, const Repetition &) = default;
};

struct Layout {
  std::vector<Position> lanes, elements;
  std::vector<Repetition> repeats;

  int64_t numLanes() const { return int64_t(1) << lanes.size(); }
  /// Elements that one lane holds.
  int64_t numElements() const;
  /// Position of element `element` of lane `lane`.
  Position at(int64_t lane, int64_t element) const;
  friend bool operator==(const Layout &, const Layout &) = default;
};

/// One place of a fragment: element `element` of lane `lane`.
struct Slot {
  int64_t lane = 0, element = 0;
  friend bool operator==(const Slot &, const Slot &) = default;
};

/// Whether the numbers of a layout can be meant: counts of at least 1, no negative position or step, and no more slots
/// than any fragment has. What follows expects it; `checkCover` asks first.
llvm::Error checkLayout(const Layout &layout);

/// How many slots hold each position of a rows x cols matrix; an error names the first position that lies
/// outside, is missing, or is held more or less often than position (0, 0).
llvm::Expected<int64_t> checkCover(const Layout &layout, int64_t rows, int64_t cols);

/// The inverse: for each position of a rows x cols matrix, row by row, the slots that hold it, in the order of
/// (lane, element). Positions outside are left out.
std::vector<std::vector<Slot>> invert(const Layout &layout, int64_t rows, int64_t cols);

/// The conversion from `from` to `to`, both of one rows x cols matrix: for each slot of `to` (lane-major) a slot of
/// `from` that holds the same position, the same lane where one exists. Error if `from` lacks a position.
llvm::Expected<std::vector<Slot>> conversion(const Layout &from, const Layout &to, int64_t rows, int64_t cols);

/// The layout whose slots hold `inner`'s positions after `outer` took them for (lane, element): outer(inner(slot)).
/// Defined where `inner` has no repetitions and its positions are slots of `outer`; nullopt otherwise.
std::optional<Layout> compose(const Layout &outer, const Layout &inner);

/// Rows and columns exchanged: the layout of the transposed matrix.
Layout transpose(Layout layout);

/// `count` matrices of `layout`, `cols` columns each, side by side: a lane's elements of one follow those of the one
/// before.
Layout sideBySide(Layout layout, int64_t cols, int64_t count);

/// The most consecutive elements of a lane that lie on consecutive columns (or rows with `alongRows`), for every
/// lane and every aligned group: the widest memory access that needs no shuffle.
int64_t contiguousElements(const Layout &layout, bool alongRows = false);

/// Cycles that one access of element `element` by all lanes takes in a memory of `banks` banks of `bankBytes`, with the
/// matrix stored row-major at `rowBytes` a row: the largest number of distinct words that fall into one bank.
int64_t bankPhases(const Layout &layout, int64_t element, int64_t elementBytes, int64_t rowBytes, int64_t banks,
                   int64_t bankBytes);

/// One lane that holds a row-major rows x cols matrix (powers of two by bases, else by repetition).
Layout rowMajorLayout(int64_t rows, int64_t cols);
/// One lane that holds the matrix column by column.
Layout columnMajorLayout(int64_t rows, int64_t cols);

} // namespace tilewright

#endif // TILEWRIGHT_LAYOUT_H
