//===- Layout.cpp - Which lane and register holds which element -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Evaluation of layouts and the layouts of one lane that holds a whole matrix.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Layout.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;

int64_t Layout::numElements() const {
  int64_t count = int64_t(1) << elements.size();
  for (const Repetition &repetition : repeats)
    count *= repetition.count;
  return count;
}

Position Layout::at(int64_t lane, int64_t element) const {
  Position position;
  auto combine = [&](const std::vector<Position> &bases, int64_t bits) {
    for (size_t i = 0; i < bases.size(); ++i)
      if (bits >> i & 1) {
        position.row ^= bases[i].row;
        position.col ^= bases[i].col;
      }
  };
  combine(lanes, lane);
  combine(elements, element);
  int64_t rest = element >> elements.size();
  for (const Repetition &repetition : repeats) {
    position.row += rest % repetition.count * repetition.rowStep;
    position.col += rest % repetition.count * repetition.colStep;
    rest /= repetition.count;
  }
  return position;
}

/// Appends the traversal of `extent` positions that are `row`, `col` apart. Bases come before repetitions in the
/// element index, so a dimension after a repetition has to be one too.
static void traverse(Layout &layout, int64_t extent, int64_t row, int64_t col) {
  if (extent == 1)
    return;
  if (!llvm::isPowerOf2_64(extent) || !layout.repeats.empty()) {
    layout.repeats.push_back({extent, row, col});
    return;
  }
  for (int64_t step = 1; step < extent; step *= 2)
    layout.elements.push_back({row * step, col * step});
}

Layout tilewright::rowMajorLayout(int64_t rows, int64_t cols) {
  Layout layout;
  traverse(layout, cols, 0, 1);
  traverse(layout, rows, 1, 0);
  return layout;
}

Layout tilewright::columnMajorLayout(int64_t rows, int64_t cols) {
  Layout layout;
  traverse(layout, rows, 1, 0);
  traverse(layout, cols, 0, 1);
  return layout;
}
