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

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tilewright;
using llvm::formatv;

std::string html::drawPyramid(const TargetDescription &chip, llvm::ArrayRef<Footprint> footprints) {
  constexpr int64_t width = 1000, rowHeight = 46;
  struct Row {
    const Memory *memory;
    const Footprint *tile;
  };
  // The nearest memory on top: descriptions list the largest first.
  std::vector<Row> rows;
  for (auto memory = chip.memories().rbegin(); memory != chip.memories().rend(); ++memory)
    for (const Footprint &footprint : footprints)
      if (footprint.memory == memory->name) {
        rows.push_back({&*memory, &footprint});
        break;
      }
  std::string svg = formatv("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\">\n", width,
                            static_cast<int64_t>(rows.size()) * rowHeight + 4);
  for (auto [index, row] : llvm::enumerate(rows)) {
    double share = static_cast<double>(index + 1) / static_cast<double>(rows.size());
    double box = 360 + (width - 370) * share, x = (width - box) / 2, y = static_cast<double>(index) * rowHeight + 2;
    double filled = row.memory->bytes > 0 ? row.tile->bytes / static_cast<double>(row.memory->bytes) : 0;
    svg += formatv("<rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"{2:f1}\" height=\"{3}\" rx=\"4\" fill=\"var(--panel)\" "
                   "stroke=\"var(--mute)\"/><rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"{4:f1}\" height=\"{3}\" rx=\"4\" "
                   "fill=\"var({5})\" fill-opacity=\"0.4\"/>",
                   x, y, box, rowHeight - 6, std::max(2.0, box * std::min(filled, 1.0)),
                   filled > 1 ? "--bad" : "--accent");
    svg += formatv(
        "<text x=\"{0:f1}\" y=\"{1:f1}\" font-weight=\"600\">{2}  {3} of {4}, {5}%</text><text class=\"soft tiny\" "
        "x=\"{0:f1}\" y=\"{6:f1}\">{7}</text>\n",
        x + 10, y + 17, escape(row.memory->name), bytes(static_cast<int64_t>(row.tile->bytes)),
        bytes(row.memory->bytes), number(100 * filled), y + 33, escape(row.tile->what));
  }
  return svg + "</svg>\n";
}

std::string html::drawRoofline(const TargetDescription &chip, double peak, int64_t members,
                               llvm::ArrayRef<RooflinePoint> points) {
  constexpr double width = 760, height = 380, left = 70, right = 200, top = 26, bottom = 46;
  struct Slope {
    std::string name;
    double bandwidth;
  };
  std::vector<Slope> slopes;
  for (const Memory &memory : chip.memories())
    if (memory.bytesPerClock > 0) {
      bool outermost = !chip.levels().empty() && memory.level == chip.levels().front().name;
      slopes.push_back(
          {memory.name, memory.bytesPerClock * chip.clockMHz() * 1e6 *
                            static_cast<double>(outermost && members == chip.parallelWidth() ? 1 : members)});
    }
  if (slopes.empty() || peak <= 0)
    return "";
  // Three decades around the ridges and the points.
  double lowX = 1e30, highX = 0, lowY = peak;
  for (const Slope &slope : slopes) {
    lowX = std::min(lowX, peak / slope.bandwidth);
    highX = std::max(highX, peak / slope.bandwidth);
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
        left, width - right, y(v), left - 6, y(v) + 4, number(v * 1e-9));
  svg += formatv(
      "\n<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">operations a byte of the arrays</text><text "
      "class=\"soft\" x=\"4\" y=\"11\">Gop/s</text>\n",
      (left + width - right) / 2, height - 8);
  svg += formatv(
      "<line x1=\"{0:f1}\" x2=\"{1}\" y1=\"{2:f1}\" y2=\"{2:f1}\" stroke=\"var(--accent)\" stroke-width=\"2\"/><text "
      "x=\"{3}\" y=\"{4:f1}\">unit: {5} Gop/s</text>\n",
      x(std::max(lowX, peak / llvm::max_element(
                                  slopes, [](const Slope &a, const Slope &b) { return a.bandwidth < b.bandwidth; })
                                  ->bandwidth)),
      width - right, y(peak), width - right + 8, y(peak) + 4, number(peak * 1e-9));
  double label = y(peak) + 24;
  for (auto [index, slope] : llvm::enumerate(slopes)) {
    // From the lower or left border to the ridge.
    double from = std::max(lowX, lowY / slope.bandwidth), ridge = std::min(highX, peak / slope.bandwidth);
    if (from < ridge)
      svg += formatv("<line x1=\"{0:f1}\" y1=\"{1:f1}\" x2=\"{2:f1}\" y2=\"{3:f1}\" stroke=\"var(--accent)\" "
                     "stroke-opacity=\"{4}\" stroke-width=\"1.5\"/><text class=\"tiny\" x=\"{0:f1}\" y=\"{5:f1}\" "
                     "transform=\"translate(4 -4)\">{6}</text>\n",
                     x(from), y(from * slope.bandwidth), x(ridge), y(ridge * slope.bandwidth),
                     index == 0 ? "1" : "0.55", y(from * slope.bandwidth), escape(slope.name));
    svg += formatv("<text class=\"soft\" x=\"{0}\" y=\"{1:f1}\">{2}: {3} GB/s</text>\n", width - right + 8, label,
                   escape(slope.name), number(slope.bandwidth * 1e-9));
    label += 17;
  }
  for (const RooflinePoint &point : points) {
    double px = x(point.operations / point.bytes), py = y(point.operations / point.seconds);
    svg += formatv("<circle cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"5.5\" fill=\"var(--accent2)\" stroke=\"var(--paper)\" "
                   "stroke-width=\"2\"/><text x=\"{0:f1}\" y=\"{2:f1}\" text-anchor=\"middle\">{3} Gop/s</text>\n",
                   px, py, py + 20, number(point.operations / point.seconds * 1e-9));
  }
  return svg + "</svg>\n";
}
