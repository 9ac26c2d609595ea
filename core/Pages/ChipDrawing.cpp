//===- ChipDrawing.cpp - A chip as a drawing ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Levels as nested boxes, memories as bars, copy engines as arrows.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/Drawings.h"
#include "core/Pages/Html.h"
#include "tilewright/MachineGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tilewright;
using llvm::formatv;

namespace {

constexpr int64_t fullWidth = 1000, header = 26, barHeight = 24, gap = 8, inset = 16, arrows = 190;

class ChipDrawing {
public:
  explicit ChipDrawing(const TargetDescription &chip) : chip(chip), whole(chip.graph().sharesOutermost()) {}

  std::string draw() {
    int64_t bottom = level(0, 0, 0, whole || chip.levels().empty() ? 1 : chip.levels().front().count) + 6;
    arrowsOf();
    bottom = std::max(bottom, lastLabel + 8);
    return llvm::formatv(
               "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\"><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" "
               "refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
               "fill=\"var(--accent2)\"/></marker></defs>\n",
               fullWidth, bottom)
               .str() +
           svg + "</svg>\n";
  }

private:
  /// Draws level `index` and what is inside from `y` on; the y below it. `members`: of this level on the whole chip; 0:
  /// not told, since several may share one place.
  int64_t level(size_t index, int64_t depth, int64_t y, int64_t members) {
    if (index == chip.levels().size())
      return y;
    const Level &one = chip.levels()[index];
    int64_t x = depth * inset, width = fullWidth - arrows - 2 * x, start = y;
    std::string inside;
    std::swap(inside, svg);
    y += header;
    for (const Memory &memory : chip.memories())
      if (memory.level == one.name) {
        bar(memory, x + inset, y, width - 2 * inset, members);
        y += barHeight + gap;
      }
    // The units belong to the level whose members issue them together, or to one thread.
    std::string units = unitsOf(one.name, index + 1 == chip.levels().size());
    if (!units.empty()) {
      svg += formatv("<text class=\"soft\" x=\"{0}\" y=\"{1}\">{2}</text>\n", x + inset, y + 13, units);
      y += barHeight;
    }
    // What runs together runs on one member of the outermost level.
    y = level(index + 1, depth + 1, y, index == 0 ? one.count : one.kind == LevelKind::Concurrent ? members : 0);
    std::swap(inside, svg);
    svg += formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" rx=\"5\" fill=\"var(--panel)\" "
                   "stroke=\"var(--mute)\"/><text x=\"{4}\" y=\"{5}\" font-weight=\"600\">{6}</text>"
                   "<text class=\"soft\" x=\"{7}\" y=\"{5}\" text-anchor=\"end\">{8}, {9}</text>\n",
                   x, start, width, y - start + gap, x + inset, start + 17, html::escape(one.name), x + width - inset,
                   html::counted(one.count, "member"), kind(one.kind))
               .str() +
           inside;
    return y + gap + 2;
  }

  static const char *kind(LevelKind kind) {
    switch (kind) {
    case LevelKind::Parallel:
      return "independent";
    case LevelKind::Concurrent:
      return "together";
    case LevelKind::Lockstep:
      return "in lockstep";
    case LevelKind::Single:
      return "by itself";
    }
    return "";
  }

  std::string unitsOf(llvm::StringRef levelName, bool innermost) const {
    size_t count = 0;
    double most = 0;
    for (const MatrixUnit &unit : chip.units())
      if (unit.scopeLevel == levelName || (unit.scopeLevel.empty() && innermost)) {
        ++count;
        most = std::max(most, unit.flopsPerClock());
      }
    return count ? formatv("{0}, up to {1} operations a clock", html::counted(count, "matrix unit"), html::number(most))
                       .str()
                 : "";
  }

  void bar(const Memory &memory, int64_t x, int64_t y, int64_t width, int64_t members) {
    // From a KiB to a TiB over the width.
    double share =
        std::clamp(std::log2(static_cast<double>(std::max<int64_t>(memory.bytes, 1024)) / 512) / 31, 0.03, 1.0);
    std::string text = memory.name + "  " + html::bytes(memory.bytes);
    if (memory.kind == MemoryKind::RegisterFile)
      text += formatv(", {0} x {1} bytes", memory.entries, memory.entryBytes);
    if (memory.banks)
      text += formatv(", {0} banks of {1} bytes", memory.banks, memory.bankBytes);
    if (memory.bytesPerClock > 0) {
      double rate = memory.bytesPerClock * chip.clockMHz() * 1e6;
      text += "   " + html::rate(rate, "B/s");
      if (members > 1)
        text += " each, " + html::rate(rate * static_cast<double>(members), "B/s") + " all";
      if (memory.latency > 0)
        text += formatv(", {0} clocks", html::number(memory.latency));
    }
    svg += formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" rx=\"3\" fill=\"var(--accent)\" "
                   "fill-opacity=\"0.3\"/><text x=\"{4}\" y=\"{5}\">{6}</text>\n",
                   x, y, static_cast<int64_t>(static_cast<double>(width) * share), barHeight, x + 8, y + 16,
                   html::escape(text));
    places[memory.name] = {x + width, y + barHeight / 2};
  }

  /// The copy engines from the top to the bottom, each with its name beside its arrow.
  void arrowsOf() {
    struct Arrow {
      const CopyEngine *copy;
      int64_t x1, y1, x2, y2, middle = 0; // where it is farthest from the boxes
    };
    std::vector<Arrow> all;
    for (const CopyEngine &copy : chip.copies()) {
      auto from = places.find(copy.from), to = places.find(copy.to);
      if (from != places.end() && to != places.end())
        all.push_back({&copy, from->second.first, from->second.second, to->second.first, to->second.second});
    }
    llvm::stable_sort(all, [](const Arrow &a, const Arrow &b) { return a.y1 + a.y2 < b.y1 + b.y2; });
    for (auto [index, arrow] : llvm::enumerate(all)) {
      int64_t out = fullWidth - arrows + 44 + 16 * static_cast<int64_t>(index % 5);
      arrow.y2 += arrow.y2 == arrow.y1 ? 6 : 0;
      arrow.middle = (arrow.x1 + arrow.x2 + 6 * out) / 8;
      svg += formatv("<path d=\"M{0} {1} C{2} {1} {2} {3} {4} {3}\" fill=\"none\" stroke=\"var(--accent2)\" "
                     "stroke-width=\"1.5\" marker-end=\"url(#tip)\"><title>{5}: {6} to {7}</title></path>",
                     arrow.x1, arrow.y1, out, arrow.y2, arrow.x2, html::escape(arrow.copy->name),
                     html::escape(arrow.copy->from), html::escape(arrow.copy->to));
    }
    // Names right of all arrows that pass at their height.
    for (const Arrow &arrow : all) {
      lastLabel = std::max((arrow.y1 + arrow.y2) / 2 + 4, lastLabel + 14);
      int64_t x = 0;
      for (const Arrow &other : all)
        if (std::min(other.y1, other.y2) - 14 < lastLabel && lastLabel < std::max(other.y1, other.y2) + 14)
          x = std::max(x, other.middle);
      svg += formatv("<text class=\"tiny halo\" x=\"{0}\" y=\"{1}\">{2}</text>\n", std::max(x, arrow.middle) + 6,
                     lastLabel, html::escape(arrow.copy->name));
    }
  }

  const TargetDescription &chip;
  std::string svg;
  bool whole; // memories of the outermost level are of the whole chip
  int64_t lastLabel = 0;
  llvm::StringMap<std::pair<int64_t, int64_t>> places; // right end of each memory's box
};

} // namespace

std::string html::drawChip(const TargetDescription &chip) { return ChipDrawing(chip).draw(); }
