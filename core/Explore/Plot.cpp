//===- Plot.cpp - Small plots as SVG --------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Explore/Plot.h"
#include "core/Pages/Html.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tilewright;
using namespace tilewright::explore;
using html::escape;
using llvm::formatv;

static constexpr double width = 380, height = 270, left = 74, right = 14, top = 10, bottom = 44;
/// Ticks of an axis, at most.
static constexpr size_t mostTicks = 7;

namespace {
/// The range of an axis and where it lies in the drawing.
class Scale {
public:
  Scale(const PlotAxis &axis, double least, double most, double from, double to)
      : axis(axis), low(least), high(most), from(from), to(to) {
    if (!axis.categories.empty()) {
      low = -0.5;
      high = static_cast<double>(axis.categories.size()) - 0.5;
    } else if (axis.isLogarithmic) {
      low = least / 1.15;
      high = most * 1.15;
    } else {
      low = std::min(0.0, least);
      high = most > low ? low + (most - low) * 1.05 : low + 1;
    }
  }

  double operator()(double value) const {
    double part = axis.isLogarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + (to - from) * part;
  }

  /// Round numbers, 1, 2 or 5 times a power of ten.
  std::vector<double> ticks() const {
    std::vector<double> result;
    if (!axis.categories.empty()) {
      size_t step = (axis.categories.size() + mostTicks - 1) / mostTicks;
      for (size_t i = 0; i < axis.categories.size(); i += step)
        result.push_back(static_cast<double>(i));
      return result;
    }
    if (!axis.values.empty()) {
      size_t step = (axis.values.size() + mostTicks - 1) / mostTicks;
      for (size_t i = 0; i < axis.values.size(); i += step)
        result.push_back(axis.values[i]);
      return result;
    }
    if (axis.isLogarithmic) {
      for (const std::vector<double> &steps : {std::vector<double>{1, 2, 5}, {1, 3}, {1}}) {
        result.clear();
        for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
          for (double step : steps)
            if (decade * step >= low && decade * step <= high)
              result.push_back(decade * step);
        if (result.size() <= mostTicks)
          break;
      }
      // Less than a decade may hold no round number.
      return result.size() < 2 ? std::vector<double>{low * 1.15, high / 1.15} : result;
    }
    double raw = (high - low) / 5, decade = std::pow(10, std::floor(std::log10(raw)));
    double step = decade * (raw / decade < 1.5 ? 1 : raw / decade < 3.5 ? 2 : raw / decade < 7.5 ? 5 : 10);
    for (double value = std::ceil(low / step) * step; value <= high; value += step)
      result.push_back(value);
    return result;
  }

  std::string text(double value) const {
    if (axis.categories.empty())
      return axis.format(value);
    return axis.categories[static_cast<size_t>(value)];
  }

private:
  const PlotAxis &axis;
  double low, high, from, to;
};
} // namespace

static std::string draw(const Series &series, const Scale &x, const Scale &y) {
  std::string svg;
  if (!series.dash.empty()) {
    std::string path;
    for (const auto &[px, py] : series.points)
      path += formatv("{0:f1},{1:f1} ", x(px), y(py));
    svg +=
        formatv("<polyline points=\"{0}\" fill=\"none\" stroke=\"var({1})\" stroke-width=\"1.5\"{2}/>\n", path,
                series.colour, series.dash == "solid" ? "" : formatv(" stroke-dasharray=\"{0}\"", series.dash).str());
  }
  if (series.radius > 0)
    for (auto [index, point] : llvm::enumerate(series.points)) {
      svg += formatv("<circle cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"{2}\" fill=\"var({3})\">", x(point.first),
                     y(point.second), series.radius, series.colour);
      svg += index < series.titles.size() ? "<title>" + escape(series.titles[index]) + "</title>" : "";
      svg += "</circle>\n";
    }
  for (auto [label, point] : llvm::zip(series.labels, series.points)) {
    bool isRight = x(point.first) > width - right - 80;
    svg += label.empty() ? ""
                         : formatv("<text style=\"paint-order:stroke;stroke:var(--paper);stroke-width:3px\" "
                                   "x=\"{0:f1}\" y=\"{1:f1}\" text-anchor=\"{2}\">{3}</text>\n",
                                   x(point.first) + (isRight ? -7 : 7), y(point.second) - 5, isRight ? "end" : "start",
                                   escape(label))
                               .str();
  }
  return svg;
}

std::string explore::plot(const PlotAxis &xAxis, const PlotAxis &yAxis, llvm::ArrayRef<Series> series) {
  double lowX = HUGE_VAL, highX = -HUGE_VAL, lowY = HUGE_VAL, highY = -HUGE_VAL;
  for (const Series &each : series)
    for (const auto &[px, py] : each.points) {
      lowX = std::min(lowX, px);
      highX = std::max(highX, px);
      lowY = std::min(lowY, py);
      highY = std::max(highY, py);
    }
  if (lowX > highX)
    return "";
  const Scale x(xAxis, lowX, highX, left, width - right), y(yAxis, lowY, highY, height - bottom, top);
  std::string svg = formatv("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\">\n", width, height);
  for (double tick : x.ticks())
    svg +=
        formatv("<line x1=\"{0:f1}\" x2=\"{0:f1}\" y1=\"{1}\" y2=\"{2}\" stroke=\"var(--line)\"/><text class=\"soft\" "
                "x=\"{0:f1}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                x(tick), top, height - bottom, height - bottom + 16, escape(x.text(tick)));
  for (double tick : y.ticks())
    svg +=
        formatv("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:f1}\" y2=\"{2:f1}\" stroke=\"var(--line)\"/><text class=\"soft\" "
                "x=\"{3}\" y=\"{4:f1}\" text-anchor=\"end\">{5}</text>\n",
                left, width - right, y(tick), left - 6, y(tick) + 4, escape(y.text(tick)));
  if (!xAxis.label.empty())
    svg += formatv("<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>\n",
                   (left + width - right) / 2, height - 8, escape(xAxis.label));
  for (const Series &each : series)
    svg += draw(each, x, y);
  return svg + "</svg>\n";
}
