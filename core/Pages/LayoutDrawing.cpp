//===- LayoutDrawing.cpp - Layouts lane by lane ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A grid of cells, coloured by lane.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/Drawings.h"
#include "core/Pages/Html.h"

#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

/// One colour for each lane, neighbours far apart.
static std::string colour(int64_t lane, int64_t lanes) {
  int64_t hue = lanes <= 1 ? 210 : (lane * 137) % 360;
  return formatv("hsl({0} 65% 55% / {1})", hue, lane % 2 ? "0.32" : "0.5");
}

std::string html::drawLayout(llvm::StringRef title, const UnitOperand &operand) {
  constexpr int64_t mostRows = 32, mostCols = 64, width = 34, height = 18, left = 26, top = 34;
  int64_t rows = std::min(operand.rows, mostRows), cols = std::min(operand.cols, mostCols);
  int64_t lanes = operand.layout.numLanes();
  auto slots = invert(operand.layout, operand.rows, operand.cols);
  std::string svg =
      formatv("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\"><text x=\"0\" y=\"13\">{2}</text>\n",
              std::max<int64_t>(left + cols * width + 4, 420), top + rows * height + 4, escape(title));
  for (int64_t col = 0; col < cols; ++col)
    svg += formatv("<text class=\"soft tiny\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>",
                   left + col * width + width / 2, top - 5, col);
  for (int64_t row = 0; row < rows; ++row) {
    svg += formatv("\n<text class=\"soft tiny\" x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{2}</text>", left - 5,
                   top + row * height + 13, row);
    for (int64_t col = 0; col < cols; ++col) {
      const std::vector<Slot> &holders = slots[row * operand.cols + col];
      if (holders.empty())
        continue;
      std::string label = lanes > 1 ? formatv("{0}:{1}", holders.front().lane, holders.front().element).str()
                                    : std::to_string(holders.front().element);
      svg += formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" fill=\"{4}\" stroke=\"var(--paper)\"/>"
                     "<text class=\"tiny\" x=\"{5}\" y=\"{6}\" text-anchor=\"middle\">{7}{8}</text>",
                     left + col * width, top + row * height, width, height, colour(holders.front().lane, lanes),
                     left + col * width + width / 2, top + row * height + 13, label, holders.size() > 1 ? "+" : "");
    }
  }
  svg += "</svg>\n";
  if (rows < operand.rows || cols < operand.cols)
    svg += formatv("<p class=\"soft\">The first {0} x {1} of {2} x {3}.</p>\n", rows, cols, operand.rows, operand.cols);
  return svg;
}

static const char *residence(Residence residence) {
  switch (residence) {
  case Residence::BroadcastScalar:
    return "a scalar for all lanes of a vector";
  case Residence::VectorRegister:
    return "a vector register";
  case Residence::LaneRegisters:
    return "registers of the lanes";
  case Residence::OpaqueRegister:
    return "a tile register";
  case Residence::Scratchpad:
    return "the scratchpad";
  case Residence::Accumulator:
    return "the accumulator memory";
  }
  return "";
}

std::string html::drawUnit(const MatrixUnit &unit) {
  std::string text =
      formatv("<details class=\"card\"><summary>{0}</summary><p>C[{1} x {2}] += A[{1} x {3}] B[{3} x {2}], "
              "{4} * {5} -> {6}; issue {7}, latency {8} clocks, {9} operations a clock. Cells: lane:element, "
              "+ where several hold it.</p>\n",
              escape(unit.name), unit.m, unit.n, unit.k, elementName(unit.a.element), elementName(unit.b.element),
              elementName(unit.c.element), number(unit.issue), number(unit.latency), number(unit.flopsPerClock()));
  const std::pair<const char *, const UnitOperand *> operands[] = {{"A", &unit.a}, {"B", &unit.b}, {"C", &unit.c}};
  for (auto [name, operand] : operands) {
    std::string title = formatv("{0}: {1} x {2} {3} in {4}", name, operand->rows, operand->cols,
                                elementName(operand->element), residence(operand->residence));
    if (operand->residence == Residence::Scratchpad || operand->residence == Residence::Accumulator)
      text += "<p>" + escape(title) + " " + escape(operand->memory) + "</p>\n";
    else
      text += "<div class=\"wide\">" + drawLayout(title, *operand) + "</div>\n";
  }
  return text + "</details>\n";
}
