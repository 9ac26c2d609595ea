//===- Layout.cpp - Algebra of layouts --------------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Layouts have at most a few thousand slots, so every question is answered by
/// visiting them: one definition, `Layout::at`, decides all others.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

using namespace tilewright;
using llvm::formatv;

int64_t Layout::numElements() const {
  int64_t count = int64_t(1) << elements.size();
  for (const Repetition &repeat : repeats)
    count *= repeat.count;
  return count;
}

Position Layout::at(int64_t lane, int64_t element) const {
  Position position;
  for (auto [bit, base] : llvm::enumerate(lanes)) {
    if ((lane >> bit) & 1) {
      position.row ^= base.row;
      position.col ^= base.col;
    }
  }
  for (auto [bit, base] : llvm::enumerate(elements)) {
    if ((element >> bit) & 1) {
      position.row ^= base.row;
      position.col ^= base.col;
    }
  }
  int64_t rest = element >> elements.size();
  for (const Repetition &repeat : repeats) {
    int64_t index = rest % repeat.count;
    rest /= repeat.count;
    position.row += index * repeat.rowStep;
    position.col += index * repeat.colStep;
  }
  return position;
}

llvm::Error tilewright::checkLayout(const Layout &layout) {
  constexpr int64_t maxBases = 16, maxStep = int64_t(1) << 20, maxSlots = int64_t(1) << 24;
  auto outside = [](int64_t value) { return value < 0 || value > maxStep; };
  int64_t slots = 1;
  for (const std::vector<Position> *bases : {&layout.lanes, &layout.elements}) {
    if (bases->size() > maxBases)
      return llvm::createStringError(
          formatv("at most {0} bases each for lanes and elements, not {1}", maxBases, bases->size()));
    for (const Position &base : *bases)
      if (outside(base.row) || outside(base.col))
        return llvm::createStringError(
            formatv("the base ({0}, {1}) is negative or above {2}", base.row, base.col, maxStep));
    slots <<= bases->size();
  }
  for (const Repetition &repeat : layout.repeats) {
    if (repeat.count < 1)
      return llvm::createStringError(formatv("a repetition has count {0}, must be at least 1", repeat.count));
    if (repeat.count > maxSlots || outside(repeat.rowStep) || outside(repeat.colStep))
      return llvm::createStringError(formatv("the repetition ({0}, {1}, {2}) is negative or too large", repeat.count,
                                             repeat.rowStep, repeat.colStep));
    slots *= repeat.count;
    if (slots > maxSlots)
      break;
  }
  if (slots > maxSlots)
    return llvm::createStringError(formatv("more than {0} elements over all lanes", maxSlots));
  return llvm::Error::success();
}

llvm::Expected<int64_t> tilewright::checkCover(const Layout &layout, int64_t rows, int64_t cols) {
  constexpr int64_t maxExtent = int64_t(1) << 16, maxPositions = int64_t(1) << 24;
  if (llvm::Error error = checkLayout(layout))
    return error;
  if (rows < 1 || cols < 1 || rows > maxExtent || cols > maxExtent || rows * cols > maxPositions)
    return llvm::createStringError(formatv("{0} x {1} is no matrix that a layout can hold", rows, cols));
  std::vector<int64_t> held(rows * cols, 0);
  for (int64_t lane = 0; lane < layout.numLanes(); ++lane) {
    for (int64_t element = 0; element < layout.numElements(); ++element) {
      Position p = layout.at(lane, element);
      if (p.row < 0 || p.row >= rows || p.col < 0 || p.col >= cols)
        return llvm::createStringError(
            formatv("lane {0}, element {1} holds position ({2}, {3}) outside the {4} x {5} matrix", lane, element,
                    p.row, p.col, rows, cols));
      ++held[p.row * cols + p.col];
    }
  }
  for (int64_t index = 0; index < rows * cols; ++index) {
    if (held[index] == 0)
      return llvm::createStringError(
          formatv("no lane holds position ({0}, {1}) of the {2} x {3} matrix", index / cols, index % cols, rows, cols));
    if (held[index] != held[0])
      return llvm::createStringError(formatv("position ({0}, {1}) is held {2} times, position (0, 0) {3} times",
                                             index / cols, index % cols, held[index], held[0]));
  }
  return held.empty() ? 0 : held[0];
}

std::vector<std::vector<Slot>> tilewright::invert(const Layout &layout, int64_t rows, int64_t cols) {
  std::vector<std::vector<Slot>> slots(rows * cols);
  for (int64_t lane = 0; lane < layout.numLanes(); ++lane) {
    for (int64_t element = 0; element < layout.numElements(); ++element) {
      Position p = layout.at(lane, element);
      if (p.row >= 0 && p.row < rows && p.col >= 0 && p.col < cols)
        slots[p.row * cols + p.col].push_back({lane, element});
    }
  }
  return slots;
}

llvm::Expected<std::vector<Slot>> tilewright::conversion(const Layout &from, const Layout &to, int64_t rows,
                                                         int64_t cols) {
  std::vector<std::vector<Slot>> sources = invert(from, rows, cols);
  std::vector<Slot> result;
  for (int64_t lane = 0; lane < to.numLanes(); ++lane) {
    for (int64_t element = 0; element < to.numElements(); ++element) {
      Position p = to.at(lane, element);
      bool inside = p.row >= 0 && p.row < rows && p.col >= 0 && p.col < cols;
      if (!inside || sources[p.row * cols + p.col].empty())
        return llvm::createStringError(
            formatv("position ({0}, {1}) of the target layout is not held by the source layout", p.row, p.col));
      const std::vector<Slot> &candidates = sources[p.row * cols + p.col];
      auto own = llvm::find_if(candidates, [&](const Slot &slot) { return slot.lane == lane; });
      result.push_back(own == candidates.end() ? candidates.front() : *own);
    }
  }
  return result;
}

std::optional<Layout> tilewright::compose(const Layout &outer, const Layout &inner) {
  if (!inner.repeats.empty() || !outer.repeats.empty())
    return std::nullopt; // addition does not distribute over XOR
  Layout result;
  auto image = [&](const Position &p, std::vector<Position> &bases) {
    if (p.row < 0 || p.row >= outer.numLanes() || p.col < 0 || p.col >= outer.numElements())
      return false;
    bases.push_back(outer.at(p.row, p.col));
    return true;
  };
  for (const Position &base : inner.lanes) {
    if (!image(base, result.lanes))
      return std::nullopt;
  }
  for (const Position &base : inner.elements) {
    if (!image(base, result.elements))
      return std::nullopt;
  }
  return result;
}

Layout tilewright::transpose(Layout layout) {
  for (Position &base : layout.lanes)
    std::swap(base.row, base.col);
  for (Position &base : layout.elements)
    std::swap(base.row, base.col);
  for (Repetition &repeat : layout.repeats)
    std::swap(repeat.rowStep, repeat.colStep);
  return layout;
}

Layout tilewright::sideBySide(Layout layout, int64_t cols, int64_t count) {
  auto isPower = [](int64_t number) { return (number & (number - 1)) == 0; };
  if (!layout.repeats.empty() || !isPower(cols) || !isPower(count)) {
    layout.repeats.push_back({count, 0, cols});
    return layout;
  }
  for (int64_t step = 1; step < count; step *= 2)
    layout.elements.push_back({0, step * cols});
  return layout;
}

/// True if every aligned group of `width` elements of every lane is a run of columns (rows).
static bool isContiguous(const Layout &layout, int64_t width, bool alongRows) {
  for (int64_t lane = 0; lane < layout.numLanes(); ++lane) {
    for (int64_t first = 0; first < layout.numElements(); first += width) {
      Position start = layout.at(lane, first);
      for (int64_t i = 1; i < width; ++i) {
        Position expected = {start.row + (alongRows ? i : 0), start.col + (alongRows ? 0 : i)};
        if (!(layout.at(lane, first + i) == expected))
          return false;
      }
    }
  }
  return true;
}

int64_t tilewright::contiguousElements(const Layout &layout, bool alongRows) {
  for (int64_t width = layout.numElements(); width > 1; --width) {
    if (layout.numElements() % width == 0 && isContiguous(layout, width, alongRows))
      return width;
  }
  return 1;
}

int64_t tilewright::bankPhases(const Layout &layout, int64_t element, int64_t elementBytes, int64_t rowBytes,
                               int64_t banks, int64_t bankBytes) {
  std::map<int64_t, std::set<int64_t>> words; // bank -> words asked of it; equal words are one broadcast
  for (int64_t lane = 0; lane < layout.numLanes(); ++lane) {
    Position p = layout.at(lane, element);
    int64_t word = (p.row * rowBytes + p.col * elementBytes) / bankBytes;
    words[word % banks].insert(word);
  }
  int64_t phases = 0;
  for (const auto &[bank, distinct] : words)
    phases = std::max<int64_t>(phases, distinct.size());
  return phases;
}

/// Appends `count` steps of (rowStep, colStep): bases if a power of two and no repetition precedes, else a repetition.
static void appendSteps(Layout &layout, int64_t count, int64_t rowStep, int64_t colStep) {
  if (count == 1)
    return;
  if (layout.repeats.empty() && llvm::isPowerOf2_64(count)) {
    for (int64_t step = 1; step < count; step *= 2)
      layout.elements.push_back({rowStep * step, colStep * step});
    return;
  }
  layout.repeats.push_back({count, rowStep, colStep});
}

Layout tilewright::rowMajorLayout(int64_t rows, int64_t cols) {
  Layout layout;
  appendSteps(layout, cols, 0, 1);
  appendSteps(layout, rows, 1, 0);
  return layout;
}

Layout tilewright::columnMajorLayout(int64_t rows, int64_t cols) { return transpose(rowMajorLayout(cols, rows)); }
