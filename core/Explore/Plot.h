//===- Plot.h - Small plots as SVG ------------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Points and lines over two axes, as wide as a phone shows without making letters smaller.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EXPLORE_PLOT_H
#define TILEWRIGHT_CORE_EXPLORE_PLOT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>
#include <vector>

namespace tilewright::explore {

/// One axis: what it is called, and how its numbers are written.
struct PlotAxis {
  std::string label;
  std::function<std::string(double)> format;
  bool isLogarithmic = false;
  std::vector<std::string> categories; // with them, values are positions 0, 1, 2, ..
  std::vector<double> values;          // where ticks may stand; empty: at round numbers
};

struct Series {
  std::vector<std::pair<double, double>> points;
  std::vector<std::string> labels; // beside the points; empty: none
  std::vector<std::string> titles; // shown where the pointer rests
  std::string colour = "--accent";
  std::string dash;  // of the line through the points; "solid", "4 3"; empty: no line
  double radius = 3; // 0: no dots
};

/// The plot; empty where no series has a point.
std::string plot(const PlotAxis &x, const PlotAxis &y, llvm::ArrayRef<Series> series);

} // namespace tilewright::explore

#endif // TILEWRIGHT_CORE_EXPLORE_PLOT_H
