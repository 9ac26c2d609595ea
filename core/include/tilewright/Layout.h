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

/// One lane that holds a row-major rows x cols matrix (powers of two by bases, else by repetition).
Layout rowMajorLayout(int64_t rows, int64_t cols);
/// One lane that holds the matrix column by column.
Layout columnMajorLayout(int64_t rows, int64_t cols);

} // namespace tilewright

#endif // TILEWRIGHT_LAYOUT_H
