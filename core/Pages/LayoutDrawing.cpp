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

#include "llvm/ADT/STLExtras.h"
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
    // The style says how large a cell is: drawings of wide units have thousands of them.
    svg += formatv("\n<text class=\"soft tiny\" x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{2}</text><g class=\"cells\" "
                   "transform=\"translate({3} {4})\">",
                   left - 5, top + row * height + 13, row, left, top + row * height);
    for (int64_t col = 0; col < cols; ++col) {
      const std::vector<Slot> &holders = slots[row * operand.cols + col];
      if (holders.empty())
        continue;
      std::string label = lanes > 1 ? formatv("{0}:{1}", holders.front().lane, holders.front().element).str()
                                    : std::to_string(holders.front().element);
      svg +=
          formatv("<rect x=\"{0}\" fill=\"{1}\"/><text x=\"{2}\" y=\"13\">{3}{4}</text>", col * width,
                  colour(holders.front().lane, lanes), col * width + width / 2, label, holders.size() > 1 ? "+" : "");
    }
    svg += "</g>";
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

/// Whether the drawings of both would be the same.
static bool alike(const MatrixUnit &one, const MatrixUnit &other) {
  auto same = [](const UnitOperand &a, const UnitOperand &b) {
    return a.residence == b.residence && a.rows == b.rows && a.cols == b.cols && a.layout == b.layout &&
           a.memory == b.memory;
  };
  return same(one.a, other.a) && same(one.b, other.b) && same(one.c, other.c);
}

static std::string oneLine(const MatrixUnit &unit) {
  return formatv("<p>{0}: C[{1} x {2}] += A[{1} x {3}] B[{3} x {2}], {4} * {5} -> {6}; issue {7}, latency {8} clocks, "
                 "{9} operations a clock.</p>\n",
                 html::escape(unit.name), unit.m, unit.n, unit.k, elementName(unit.a.element),
                 elementName(unit.b.element), elementName(unit.c.element), html::number(unit.issue),
                 html::number(unit.latency), html::number(unit.flopsPerClock()));
}

std::string html::drawUnits(llvm::ArrayRef<const MatrixUnit *> units) {
  std::vector<std::vector<const MatrixUnit *>> groups;
  for (const MatrixUnit *unit : units) {
    auto group = llvm::find_if(groups, [&](const auto &members) { return alike(*members.front(), *unit); });
    if (group == groups.end())
      groups.push_back({unit});
    else
      group->push_back(unit);
  }
  std::string text;
  struct Drawing {
    std::string title;
    const UnitOperand *operand;
    std::string unit;
  };
  std::vector<Drawing> drawn; // units of several widths share the layouts of an operand
  for (const std::vector<const MatrixUnit *> &group : groups) {
    std::string names, lines;
    for (const MatrixUnit *unit : group) {
      names += (names.empty() ? "" : ", ") + escape(unit->name);
      lines += oneLine(*unit);
    }
    text += "<details class=\"card\"><summary>" + names + "</summary>\n" + lines;
    const MatrixUnit &unit = *group.front();
    std::vector<std::pair<const char *, const UnitOperand *>> operands{{"A", &unit.a}, {"B", &unit.b}, {"C", &unit.c}};
    if (unit.sparsity)
      operands.emplace_back("index of A", &unit.sparsity->index);
    if (unit.scales) {
      if (unit.scales->hasA())
        operands.emplace_back("scales of A", &unit.scales->a);
      if (unit.scales->hasB())
        operands.emplace_back("scales of B", &unit.scales->b);
    }
    bool cells = false; // whether something is drawn here
    for (auto [name, operand] : operands) {
      bool inMemory = operand->residence == Residence::Scratchpad || operand->residence == Residence::Accumulator;
      std::string title =
          formatv("{0}: {1} x {2} in {3}", name, operand->rows, operand->cols, residence(operand->residence));
      if (inMemory && !operand->memory.empty())
        text += "<p>" + escape(title) + " \"" + escape(operand->memory) + "\"</p>\n";
      else if (inMemory)
        text += "<p>" + escape(title) + "</p>\n";
      else if (auto same = llvm::find_if(
                   drawn, [&](const Drawing &d) { return d.title == title && d.operand->layout == operand->layout; });
               same != drawn.end()) {
        text += "<p>" + escape(title) + ": as of " + escape(same->unit) + "</p>\n";
      } else {
        text += "<div class=\"wide\">" + drawLayout(title, *operand) + "</div>\n";
        drawn.push_back({title, operand, unit.name});
        cells = true;
      }
    }
    if (cells)
      text += "<p class=\"soft\">Cells: lane:element, + where several hold it.</p>\n";
    text += "</details>\n";
  }
  return text;
}
