//===- Roofline.cpp - Tiles over memories, and a roofline -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two drawings of what the cost model computed.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/Drawings.h"
#include "core/Pages/Html.h"
#include "tilewright/MachineGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tilewright;
using llvm::formatv;

std::string html::drawPyramid(const TargetDescription &chip, llvm::ArrayRef<Footprint> footprints) {
  constexpr int64_t width = 600, rowHeight = 44;
  struct Row {
    const Memory *memory;
    const Footprint *tile; // null: nothing stays there
  };
  // The nearest memory on top: descriptions list the largest first.
  std::vector<Row> rows;
  for (auto memory = chip.memories().rbegin(); memory != chip.memories().rend(); ++memory) {
    const auto *tile =
        llvm::find_if(footprints, [&](const Footprint &footprint) { return footprint.memory == memory->name; });
    // Several register files describe the same registers: those with a tile are enough.
    if (tile != footprints.end() || memory->kind != MemoryKind::RegisterFile)
      rows.push_back({&*memory, tile != footprints.end() ? tile : nullptr});
  }
  std::string svg = formatv("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\">\n", width,
                            static_cast<int64_t>(rows.size()) * rowHeight + 4);
  for (auto [index, row] : llvm::enumerate(rows)) {
    double share = static_cast<double>(index + 1) / static_cast<double>(rows.size());
    double box = 330 + (width - 334) * share, x = (width - box) / 2, y = static_cast<double>(index) * rowHeight + 2;
    double held = row.tile ? row.tile->bytes : 0;
    double filled = row.memory->bytes > 0 ? held / static_cast<double>(row.memory->bytes) : 0;
    svg += formatv("<rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"{2:f1}\" height=\"{3}\" rx=\"4\" fill=\"var(--panel)\" "
                   "stroke=\"var(--mute)\"/>",
                   x, y, box, rowHeight - 6);
    if (row.tile)
      svg +=
          formatv("<rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"{2:f1}\" height=\"{3}\" rx=\"4\" fill=\"var({4})\" "
                  "fill-opacity=\"0.4\"/>",
                  x, y, std::max(2.0, box * std::min(filled, 1.0)), rowHeight - 6, filled > 1 ? "--bad" : "--accent");
    std::string part =
        !row.tile ? bytes(row.memory->bytes)
        : filled < 5e-4
            ? formatv("{0} of {1}", bytes(static_cast<int64_t>(held)), bytes(row.memory->bytes)).str()
            : formatv("{0} of {1}, {2:f1}%", bytes(static_cast<int64_t>(held)), bytes(row.memory->bytes), 100 * filled)
                  .str();
    svg += formatv("<text x=\"{0:f1}\" y=\"{1:f1}\" font-weight=\"600\">{2}  {3}</text><text class=\"soft tiny\" "
                   "x=\"{0:f1}\" y=\"{4:f1}\">{5}</text>\n",
                   x + 10, y + 16, escape(row.memory->name), part, y + 31,
                   row.tile ? escape(row.tile->what) : std::string("no tile stays here: data passes through"));
  }
  return svg + "</svg>\n";
}

namespace {
/// One roof: operations a second that a memory's bandwidth allows grow with operations a byte.
struct Slope {
  std::string name;
  double bandwidth; // bytes a second
};
} // namespace

/// Of `members` cores together.
static std::vector<Slope> slopesOf(const TargetDescription &chip, int64_t members) {
  std::vector<Slope> slopes;
  for (const Memory &memory : chip.memories())
    if (memory.bytesPerClock > 0) {
      bool whole = chip.graph().isOfWholeChip(memory);
      slopes.push_back(
          {memory.name, memory.bytesPerClock * chip.clockMHz() * 1e6 * static_cast<double>(whole ? 1 : members)});
    }
  return slopes;
}

std::string html::drawRoofline(const TargetDescription &chip, double peak, int64_t members,
                               llvm::ArrayRef<RooflinePoint> points) {
  constexpr double width = 600, height = 330, left = 62, right = 190, top = 26, bottom = 46;
  // Lines are told apart by their dashes, also without colours.
  static constexpr const char *dashes[] = {"none", "7 3", "2 3", "9 3 2 3", "1 5", "12 4"};
  std::vector<Slope> slopes = slopesOf(chip, members);
  if (slopes.empty() || peak <= 0)
    return "";
  // Three decades around the ridges and the points.
  double lowX = 1e30, highX = 0, lowY = peak, widest = 0;
  for (const Slope &slope : slopes) {
    lowX = std::min(lowX, peak / slope.bandwidth);
    highX = std::max(highX, peak / slope.bandwidth);
    widest = std::max(widest, slope.bandwidth);
  }
  for (const RooflinePoint &point : points) {
    lowX = std::min(lowX, point.operations / point.bytes);
    highX = std::max(highX, point.operations / point.bytes);
    lowY = std::min(lowY, point.operations / point.seconds);
  }
  lowX = std::pow(10, std::floor(std::log10(lowX / 2)));
  highX = std::pow(10, std::ceil(std::log10(highX * 2)));
  lowY = std::pow(10, std::floor(std::log10(std::min(lowY / 2, peak / 50))));
  double highY = std::pow(10, std::ceil(std::log10(peak * 1.5)));
  auto x = [&](double v) { return left + (width - left - right) * std::log10(v / lowX) / std::log10(highX / lowX); };
  auto y = [&](double v) {
    return height - bottom - (height - top - bottom) * std::log10(v / lowY) / std::log10(highY / lowY);
  };
  std::string svg = formatv("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\">\n", width, height);
  for (double v = lowX; v <= highX * 1.01; v *= 10)
    svg += formatv(
        "<line x1=\"{0:f1}\" x2=\"{0:f1}\" y1=\"{1}\" y2=\"{2}\" stroke=\"var(--line)\"/><text class=\"soft tiny\" "
        "x=\"{0:f1}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>",
        x(v), top, height - bottom, height - bottom + 14, number(v));
  for (double v = lowY; v <= highY * 1.01; v *= 10)
    svg += formatv(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:f1}\" y2=\"{2:f1}\" stroke=\"var(--line)\"/><text class=\"soft tiny\" "
        "x=\"{3}\" y=\"{4:f1}\" text-anchor=\"end\">{5}</text>",
        left, width - right, y(v), left - 6, y(v) + 4, rate(v, "op/s"));
  svg += formatv("\n<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">operations a byte of the arrays"
                 "</text>\n",
                 (left + width - right) / 2, height - 8);
  svg += formatv(
      "<line x1=\"{0:f1}\" x2=\"{1}\" y1=\"{2:f1}\" y2=\"{2:f1}\" stroke=\"var(--accent)\" stroke-width=\"2\"/><text "
      "x=\"{3}\" y=\"{4:f1}\">unit: {5}</text>\n",
      x(std::max(lowX, peak / widest)), width - right, y(peak), width - right + 8, y(peak) + 4, rate(peak, "op/s"));
  double label = y(peak) + 26;
  for (auto [index, slope] : llvm::enumerate(slopes)) {
    const char *dash = dashes[index % std::size(dashes)];
    // From the lower or left border to the ridge.
    double from = std::max(lowX, lowY / slope.bandwidth), ridge = std::min(highX, peak / slope.bandwidth);
    if (from < ridge)
      svg +=
          formatv("<line x1=\"{0:f1}\" y1=\"{1:f1}\" x2=\"{2:f1}\" y2=\"{3:f1}\" stroke=\"var(--accent)\" "
                  "stroke-dasharray=\"{4}\" stroke-width=\"1.5\"><title>{5}</title></line>\n",
                  x(from), y(from * slope.bandwidth), x(ridge), y(ridge * slope.bandwidth), dash, escape(slope.name));
    svg += formatv("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:f1}\" y2=\"{2:f1}\" stroke=\"var(--accent)\" "
                   "stroke-dasharray=\"{3}\" stroke-width=\"1.5\"/><text class=\"soft\" x=\"{4}\" y=\"{5:f1}\">{6}: "
                   "{7}</text>\n",
                   width - right + 8, width - right + 34, label - 4, dash, width - right + 40, label,
                   escape(slope.name), rate(slope.bandwidth, "B/s"));
    label += 17;
  }
  for (const RooflinePoint &point : points) {
    double px = x(point.operations / point.bytes), py = y(point.operations / point.seconds);
    svg += formatv("<circle cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"5.5\" fill=\"var(--accent2)\" stroke=\"var(--paper)\" "
                   "stroke-width=\"2\"/><text class=\"halo\" x=\"{0:f1}\" y=\"{2:f1}\" text-anchor=\"middle\">{3}"
                   "</text>\n",
                   px, py, py + 20, rate(point.operations / point.seconds, "op/s"));
  }
  return svg + "</svg>\n";
}
