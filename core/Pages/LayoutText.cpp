//===- LayoutText.cpp - Layouts as text -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Grids of characters: one cell a position, with the lane and the element that
/// hold it; and one picture for each operation of the algebra.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/LayoutText.h"
#include "core/Analysis/ElementType.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace tilewright;
using llvm::formatv;
using llvm::raw_ostream;

namespace {
/// What is shown of a wide matrix or of many lanes; the rest goes on likewise.
constexpr int64_t mostRows = 32, mostCols = 16, mostLanes = 8, mostElements = 8;
} // namespace

static std::string text(Slot slot) { return formatv("{0}:{1}", slot.lane, slot.element); }
static std::string text(Position p) { return formatv("({0}, {1})", p.row, p.col); }

static void grid(const UnitOperand &operand, raw_ostream &os) {
  auto slots = invert(operand.layout, operand.rows, operand.cols);
  int64_t rows = std::min(operand.rows, mostRows), cols = std::min(operand.cols, mostCols);
  auto cell = [&](int64_t row, int64_t col) {
    const std::vector<Slot> &holders = slots[row * operand.cols + col];
    return holders.empty() ? "-" : text(holders.front()) + (holders.size() > 1 ? "+" : "");
  };
  size_t width = 6;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      width = std::max(width, cell(row, col).size() + 1);
  auto write = [&](std::string shown, size_t wide) { os << llvm::right_justify(shown, wide); };
  os << "inverse: lane:element at each row and column"
     << (slots.front().size() > 1 ? ", + where more lanes hold it" : "") << "\n    ";
  for (int64_t col = 0; col < cols; ++col)
    write(std::to_string(col), width);
  os << "\n";
  for (int64_t row = 0; row < rows; ++row) {
    write(std::to_string(row), 4);
    for (int64_t col = 0; col < cols; ++col)
      write(cell(row, col), width);
    os << "\n";
  }
  if (rows < operand.rows || cols < operand.cols)
    os << formatv("    the first {0} x {1} of {2} x {3}\n", rows, cols, operand.rows, operand.cols);
}

static void bits(llvm::StringRef name, llvm::ArrayRef<Position> bases, raw_ostream &os) {
  for (auto [i, base] : llvm::enumerate(bases))
    os << (i ? "  " : "") << name << " bit " << i << " " << text(base);
  if (!bases.empty())
    os << "\n";
}

static void banks(const UnitOperand &operand, const Memory &memory, raw_ostream &os) {
  int64_t bytes = elementBytes(operand.element), dense = operand.cols * bytes;
  os << formatv("bank phases: clocks in which all lanes read their element 0 from {0} banks of {1} bytes\n",
                memory.banks, memory.bankBytes);
  // As the matrix lies densely, in whole lines of all banks, and in those with 16 bytes after each.
  int64_t line = memory.banks * memory.bankBytes, lines = (dense + line - 1) / line * line;
  for (int64_t row : std::set<int64_t>{dense, lines, lines + 16})
    os << formatv("    rows of {0} bytes: {1}\n", row,
                  bankPhases(operand.layout, 0, bytes, row, memory.banks, memory.bankBytes));
}

std::string tilewright::drawLayout(llvm::StringRef title, const UnitOperand &operand, const Memory *scratchpad) {
  const Layout &layout = operand.layout;
  std::string result;
  llvm::raw_string_ostream os(result);
  os << formatv("{0}: {1} x {2} of {3}, {4} lanes with {5} elements\n", title, operand.rows, operand.cols,
                elementName(operand.element), layout.numLanes(), layout.numElements());
  bits("lane", layout.lanes, os);
  bits("element", layout.elements, os);
  for (const Repetition &each : layout.repeats)
    os << formatv("{0} copies, {1} apart\n", each.count, text(Position{each.rowStep, each.colStep}));
  if (auto times = checkCover(layout, operand.rows, operand.cols))
    os << formatv("cover: each position is held {0} time{1}\n", *times, *times == 1 ? "" : "s");
  else
    os << "cover: " << llvm::toString(times.takeError()) << "\n";
  grid(operand, os);
  os << formatv("runs: elements of a lane side by side, {0} in a row, {1} in a column\n", contiguousElements(layout),
                contiguousElements(layout, /*alongRows=*/true));
  // The matrix of all slots, lane by lane, as one lane's memory.
  if (auto written = compose(layout, rowMajorLayout(layout.numLanes(), layout.numElements()))) {
    int64_t count = std::min<int64_t>(written->numElements(), mostElements);
    os << "composition: if each lane wrote its elements after those of the lane before, in memory would lie\n    ";
    for (int64_t e = 0; e < count; ++e)
      os << text(written->at(0, e)) << " ";
    os << (count < written->numElements() ? "..\n" : "\n");
  }
  if (scratchpad && scratchpad->banks > 0)
    banks(operand, *scratchpad, os);
  return result;
}

llvm::Expected<std::string> tilewright::drawConversion(llvm::StringRef fromName, const UnitOperand &from,
                                                       llvm::StringRef toName, const UnitOperand &to) {
  if (from.rows != to.rows || from.cols != to.cols)
    return llvm::createStringError(formatv("{0} is {1} x {2} and {3} is {4} x {5}: a conversion is between layouts of "
                                           "one matrix",
                                           fromName, from.rows, from.cols, toName, to.rows, to.cols));
  auto sources = conversion(from.layout, to.layout, to.rows, to.cols);
  if (!sources)
    return sources.takeError();
  std::string result;
  llvm::raw_string_ostream os(result);
  int64_t elements = to.layout.numElements(), own = 0, apart = 0;
  for (auto [i, slot] : llvm::enumerate(*sources)) {
    own += slot.lane == int64_t(i) / elements;
    apart |= slot.lane ^ (int64_t(i) / elements);
  }
  os << formatv("conversion of {0} to {1}: of {2} elements {3} stay in their lane\n", fromName, toName, sources->size(),
                own);
  if (apart) {
    os << "lanes that shuffle differ in bits";
    for (int bit = 0; bit < 63; ++bit)
      if (apart >> bit & 1)
        os << " " << bit;
    os << "\n";
  }
  int64_t lanes = std::min<int64_t>(to.layout.numLanes(), mostLanes), shown = std::min(elements, mostElements);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    os << llvm::format("lane %2d takes", int(lane));
    for (int64_t e = 0; e < shown; ++e)
      os << llvm::format("%7s", text((*sources)[lane * elements + e]).c_str());
    os << (shown < elements ? " ..\n" : "\n");
  }
  return result;
}
