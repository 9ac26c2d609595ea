//===- Page.cpp - An exploration as a page --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One function a section.
///
//===----------------------------------------------------------------------===//

#include "core/Explore/Page.h"
#include "core/Explore/Plot.h"
#include "core/Explore/Report.h"
#include "core/Pages/Html.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace tilewright;
using namespace tilewright::explore;
using html::escape;
using llvm::formatv;

/// Designs of the front that have rows of bytes and rooflines, and rows of the last table.
static constexpr size_t shownFront = 12, shownRows = 60;
/// A cost whose largest value is that many times its smallest is drawn on a logarithmic axis.
static constexpr double logarithmicFrom = 8;

/// Of a row of plots, as wide as one.
static constexpr const char *cell = "<div style=\"flex:1 1 20rem;max-width:25rem\">";

/// A path or an expression, which may be broken after each dot.
static std::string breakable(llvm::StringRef words) {
  std::string text = escape(words);
  for (size_t at = text.find('.'); at != text.npos; at = text.find('.', at + 1))
    text.insert(at + 1, "<wbr>");
  return text;
}

/// "2.00 x".
static std::string times(double ratio) { return formatv("{0:f2} x", ratio).str(); }

/// "levels.core.count = 8, memory.scratchpad.bytes = 512K".
static std::string changesOf(const Exploration &exploration, const Outcome &outcome) {
  if (outcome.design.values.empty())
    return "the chip as it is";
  std::vector<std::string> words;
  for (auto [axis, value] : llvm::zip(exploration.sweep.axes, outcome.design.values))
    words.push_back(axis.name() + " = " + shortText(value));
  return llvm::join(words, ", ");
}

/// The chip as it is, if it has a time, and the first designs of the front.
static std::vector<const Outcome *> shownOf(const Exploration &exploration) {
  std::vector<const Outcome *> shown;
  if (exploration.outcomes.front().seconds())
    shown.push_back(&exploration.outcomes.front());
  for (const Outcome *each : exploration.front())
    if (each != &exploration.outcomes.front() && shown.size() <= shownFront)
      shown.push_back(each);
  return shown;
}

static std::string legend(llvm::ArrayRef<std::pair<std::string, std::string>> entries) {
  std::string text = "<p class=\"soft\">";
  for (const auto &[colour, word] : entries)
    text += "<span style=\"display:inline-block;width:.8em;height:.8em;border-radius:2px;background:var(" + colour +
            ")\"></span> " + escape(word) + "&emsp;";
  return text + "</p>\n";
}

//===-- The front ---------------------------------------------------------===//

static std::string drawFront(const Exploration &exploration, size_t cost) {
  Series others, front, base;
  std::vector<const Outcome *> best = exploration.front();
  auto add = [&](Series &series, const Outcome &outcome, bool isLabelled) {
    series.points.emplace_back(outcome.design.costs[cost], *outcome.seconds());
    series.labels.push_back(isLabelled ? std::to_string(outcome.design.number) : "");
    series.titles.push_back(formatv("design {0}: {1}, {2}", outcome.design.number, html::seconds(*outcome.seconds()),
                                    changesOf(exploration, outcome)));
  };
  double least = HUGE_VAL, most = 0;
  std::set<double> costs;
  for (const Outcome &outcome : exploration.outcomes) {
    if (!outcome.seconds())
      continue;
    costs.insert(outcome.design.costs[cost]);
    least = std::min(least, outcome.design.costs[cost]);
    most = std::max(most, outcome.design.costs[cost]);
    if (outcome.design.values.empty())
      add(base, outcome, false);
    else if (!outcome.isOnFront)
      add(others, outcome, false);
  }
  size_t step = (best.size() + 7) / 8;
  for (auto [index, outcome] : llvm::enumerate(best))
    add(front, *outcome, index % std::max<size_t>(1, step) == 0);
  others.colour = "--mute";
  others.radius = 2.2;
  front.radius = 4;
  // With several costs the front is no line in the plane of one.
  front.dash = exploration.sweep.costs.size() == 1 ? "solid" : "";
  base.colour = "--accent2";
  base.radius = 5;
  PlotAxis x{"", shortText, least > 0 && most / least >= logarithmicFrom, {}, {}};
  for (double value : costs)
    if (x.values.empty() || value >= x.values.back() + (most - least) / 7 ||
        (x.isLogarithmic && std::log(value / x.values.back()) >= std::log(most / least) / 7))
      x.values.push_back(value); // far enough from the one before for its text
  PlotAxis y{"", html::seconds, true, {}, {}};
  return cell + ("<h3>time against " + breakable(exploration.sweep.costs[cost]) + "</h3>" +
                 plot(x, y, {others, base, front}) + "</div>");
}

static std::string frontSection(const Exploration &exploration) {
  std::string body;
  if (!exploration.sweep.costs.empty()) {
    body += "<p>Each dot is a design: one call of every program. The designs of the front have their numbers; no other "
            "is as good in time and cost.</p>\n<div class=\"row\">";
    for (size_t cost = 0; cost < exploration.sweep.costs.size(); ++cost)
      body += drawFront(exploration, cost);
    body += "</div>\n" + legend({{"--accent", "the front"}, {"--accent2", "the chip as it is"}, {"--mute", "others"}});
  } else {
    body += "<p>No cost was named (<code>--cost</code>), so the front is the fastest design.</p>\n";
  }
  return html::section("front", "Time and cost", body);
}

//===-- Fields ------------------------------------------------------------===//

namespace {
/// Of the designs with one value of an axis: the fastest, and the middle one.
struct AtValue {
  double best = HUGE_VAL, median = HUGE_VAL;
};
} // namespace

static std::vector<std::optional<AtValue>> overAxis(const Exploration &exploration, size_t axis) {
  std::vector<std::optional<AtValue>> result;
  for (double value : exploration.sweep.axes[axis].values) {
    std::vector<double> seconds;
    for (const Outcome &outcome : exploration.outcomes)
      if (outcome.seconds() && !outcome.design.values.empty() && outcome.design.values[axis] == value)
        seconds.push_back(*outcome.seconds());
    llvm::sort(seconds);
    result.push_back(seconds.empty() ? std::nullopt
                                     : std::optional(AtValue{seconds.front(), seconds[seconds.size() / 2]}));
  }
  return result;
}

static std::string fieldsSection(const Exploration &exploration) {
  if (exploration.sweep.axes.empty())
    return "";
  std::string bars, plots;
  double widest = 1;
  std::vector<std::pair<double, std::string>> spreads;
  for (auto [index, axis] : llvm::enumerate(exploration.sweep.axes)) {
    Series best, median;
    double least = HUGE_VAL, most = 0;
    PlotAxis x{"", shortText, false, {}, {}}, y{"", html::seconds, false, {}, {}};
    for (double value : axis.values)
      x.categories.push_back(shortText(value));
    for (auto [place, at] : llvm::enumerate(overAxis(exploration, index))) {
      if (!at)
        continue;
      best.points.emplace_back(place, at->best);
      best.titles.push_back(shortText(axis.values[place]) + ": " + html::seconds(at->best));
      median.points.emplace_back(place, at->median);
      median.titles.push_back(shortText(axis.values[place]) + ": " + html::seconds(at->median));
      least = std::min(least, at->best);
      most = std::max(most, at->best);
    }
    if (best.points.empty())
      continue;
    best.dash = "solid";
    median.dash = "4 3";
    median.colour = "--mute";
    spreads.emplace_back(most / least, axis.name());
    widest = std::max(widest, most / least);
    plots += cell + ("<h3>" + breakable(axis.name()) + "</h3>" + plot(x, y, {median, best}) + "</div>");
  }
  llvm::sort(spreads, [](const auto &a, const auto &b) {
    return std::pair(-a.first, a.second) < std::pair(-b.first, b.second);
  });
  for (const auto &[spread, name] : spreads)
    bars += formatv("<tr><td style=\"overflow-wrap:anywhere\">{0}</td><td class=\"n\">{1}</td><td><div class=\"bar\" "
                    "style=\"width:{2:f1}%\"></div></td></tr>\n",
                    breakable(name), times(spread), widest > 1 ? 100 * (spread - 1) / (widest - 1) : 0);
  return html::section(
      "fields", "How much each field matters",
      "<p>The fastest design with each value of a field; the other fields are free.</p>\n"
      "<table style=\"width:100%;max-width:44rem;table-layout:fixed\"><tr><th style=\"width:48%\">field</th>"
      "<th class=\"n\">worst over best</th><th></th></tr>" +
          bars + "</table>\n<div class=\"row\">" + plots + "</div>\n" +
          legend({{"--accent", "the fastest design"}, {"--mute", "the middle one"}}));
}

//===-- What binds --------------------------------------------------------===//

static std::string bindsSection(const Exploration &exploration) {
  static constexpr const char *colours[] = {"--accent", "--accent2", "--good", "--warn", "--bad", "--soft", "--mute"};
  std::set<std::string> parts;
  std::vector<const Outcome *> shown = shownOf(exploration);
  for (const Outcome *outcome : shown)
    for (const auto &[part, seconds] : outcome->binds())
      parts.insert(part);
  auto colourOf = [&](const std::string &part) {
    return colours[std::min<size_t>(std::distance(parts.begin(), parts.find(part)), std::size(colours) - 1)];
  };
  std::string rows;
  for (const Outcome *outcome : shown) {
    std::string bar;
    for (const auto &[part, seconds] : outcome->binds())
      bar += formatv("<span title=\"{0}: {1}\" "
                     "style=\"display:inline-block;height:1rem;width:{2:f2}%;background:var({3})\"></span>",
                     escape(part), html::seconds(seconds), 100 * seconds / *outcome->seconds(), colourOf(part));
    rows += formatv(
        "<tr><td class=\"n\">{0}</td><td class=\"n\">{1}</td><td class=\"n\">{2:f0}%</td><td style=\"width:60%\">"
        "<div style=\"white-space:nowrap;line-height:0\">{3}</div></td></tr>\n",
        outcome->design.number, html::seconds(*outcome->seconds()), 100 * outcome->utilisation(), bar);
  }
  std::vector<std::pair<std::string, std::string>> entries;
  for (const std::string &part : parts)
    entries.emplace_back(colourOf(part), part);
  return html::section(
      "binds", "What binds",
      "<p>Of the time of each design, the part of the chip that its kernels wait for. Latency: no part is busy for "
      "half of a kernel's time. Units: how long a matrix unit is busy.</p>\n" +
          legend(entries) +
          "<table style=\"width:100%\"><tr><th class=\"n\">design</th><th class=\"n\">time</th><th class=\"n\">"
          "units</th><th></th></tr>" +
          rows + "</table>\n");
}

//===-- Bytes -------------------------------------------------------------===//

static std::string bytesSection(const Exploration &exploration) {
  std::vector<const Outcome *> shown = shownOf(exploration);
  std::set<std::string> edges;
  for (const Outcome *outcome : shown)
    for (const Estimate &program : outcome->programs)
      for (const auto &[edge, bytes] : program.bytes)
        edges.insert(edge);
  std::string head = "<tr><th class=\"n\">design</th>", rows;
  for (const std::string &edge : edges)
    head += "<th class=\"n\">" + escape(edge) + "</th>";
  head += "</tr>";
  for (const Outcome *outcome : shown) {
    rows += formatv("<tr><td class=\"n\">{0}</td>", outcome->design.number);
    for (const std::string &edge : edges) {
      double sum = 0;
      for (const Estimate &program : outcome->programs)
        if (auto moved = program.bytes.find(edge); moved != program.bytes.end())
          sum += moved->second;
      rows += "<td class=\"n\">" + html::bytes(static_cast<int64_t>(sum)) + "</td>";
    }
    rows += "</tr>\n";
  }
  return html::section("bytes", "Bytes by edge",
                       "<p>What the plans move between memories in one call of every program.</p>\n<div "
                       "class=\"wide\"><table class=\"dense\">" +
                           head + rows + "</table></div>\n");
}

//===-- Rooflines ---------------------------------------------------------===//

static std::string drawRoofs(const Exploration &exploration, const Outcome &outcome) {
  auto chip = TargetRegistry::get().describe(outcome.design.target);
  if (!chip) {
    llvm::consumeError(chip.takeError());
    return "";
  }
  const Memory *backing = (*chip)->graph().backing();
  const Level *parallel = (*chip)->graph().parallelLevel();
  double members = parallel ? static_cast<double>(parallel->count) : 1, clock = (*chip)->clockMHz() * 1e6, peak = 0;
  std::string unitName;
  Series points;
  double low = HUGE_VAL, high = 0;
  for (auto [program, name] : llvm::zip(outcome.programs, programNames(exploration))) {
    double bytes = program.backingBytes(**chip);
    for (const auto &[used, seconds] : program.units)
      if (const MatrixUnit *unit = (*chip)->unit(used); unit && unit->flopsPerClock() * clock * members > peak) {
        peak = unit->flopsPerClock() * clock * members;
        unitName = used;
      }
    if (bytes <= 0 || program.operations <= 0)
      continue;
    double intensity = program.operations / bytes, rate = program.operations / program.seconds;
    points.points.emplace_back(intensity, rate);
    points.labels.push_back(name);
    points.titles.push_back(formatv("{0}: {1}, {2:f1} operations a byte", name, html::rate(rate, "op/s"), intensity));
    low = std::min(low, intensity);
    high = std::max(high, intensity);
  }
  if (!backing || backing->bytesPerClock <= 0 || peak <= 0 || points.points.empty())
    return "";
  double slope = backing->bytesPerClock * clock * ((*chip)->graph().isOfWholeChip(*backing) ? 1 : members);
  double ridge = peak / slope, from = std::min(low, ridge) / 3, to = std::max(high, ridge) * 3;
  Series roof;
  roof.points = {{from, from * slope}, {ridge, peak}, {to, peak}};
  roof.dash = "solid";
  roof.radius = 0;
  points.colour = "--accent2";
  points.radius = 5;
  PlotAxis x{"operations a byte of " + backing->name, html::number, true, {}, {}};
  PlotAxis y{"", [](double v) { return html::rate(v, "op/s"); }, true, {}, {}};
  return formatv("{7}<h3>design {0}</h3><p class=\"soft\">{1}; {2}: {3}, {4}: {5}</p>{6}</div>\n",
                 outcome.design.number, escape(changesOf(exploration, outcome)), escape(unitName),
                 html::rate(peak, "op/s"), escape(backing->name), html::rate(slope, "B/s"), plot(x, y, {roof, points}),
                 cell);
}

static std::string roofsSection(const Exploration &exploration) {
  std::string body;
  for (const Outcome *outcome : shownOf(exploration))
    body += drawRoofs(exploration, *outcome);
  if (body.empty())
    return "";
  return html::section(
      "roofs", "Rooflines",
      "<p>What the fastest unit that the programs use could compute, and the memory behind it deliver; the dots "
      "are the programs.</p>\n<div class=\"row\">" +
          body + "</div>\n");
}

//===-- Tables ------------------------------------------------------------===//

static std::string tableSection(const Exploration &exploration) {
  std::vector<const Outcome *> order;
  for (const Outcome &outcome : exploration.outcomes)
    if (outcome.seconds())
      order.push_back(&outcome);
  llvm::stable_sort(order, [](const Outcome *a, const Outcome *b) { return *a->seconds() < *b->seconds(); });
  std::string head = "<tr><th class=\"n\">design</th><th class=\"n\">time</th>", rows;
  const std::vector<std::string> names = programNames(exploration);
  if (names.size() > 1)
    for (const std::string &name : names)
      head += "<th class=\"n\">" + escape(name) + "</th>";
  for (const std::string &cost : exploration.sweep.costs)
    head += "<th class=\"n\">" + breakable(cost) + "</th>";
  for (const Axis &axis : exploration.sweep.axes)
    head += "<th class=\"n\">" + breakable(axis.name()) + "</th>";
  for (const Outcome *outcome : llvm::ArrayRef(order).take_front(shownRows)) {
    rows += formatv("<tr{0}><td class=\"n\">{1}</td><td class=\"n\">{2}</td>",
                    outcome->isOnFront ? " class=\"chosen\"" : "", outcome->design.number,
                    html::seconds(*outcome->seconds()));
    if (names.size() > 1)
      for (const Estimate &program : outcome->programs)
        rows += "<td class=\"n\">" + html::seconds(program.seconds) + "</td>";
    for (double cost : outcome->design.costs)
      rows += "<td class=\"n\">" + shortText(cost) + "</td>";
    for (size_t i = 0; i < exploration.sweep.axes.size(); ++i)
      rows +=
          "<td class=\"n\">" + (outcome->design.values.empty() ? "-" : shortText(outcome->design.values[i])) + "</td>";
    rows += "</tr>\n";
  }
  std::string body = "<div class=\"wide\"><table class=\"dense\">" + head + "</tr>" + rows + "</table></div>\n";
  if (order.size() > shownRows)
    body +=
        formatv("<p class=\"soft\">The fastest {0} of {1}; --csv and --json have all.</p>\n", shownRows, order.size());
  return html::section("designs", "Designs", body);
}

static std::string refusedSection(const Exploration &exploration) {
  std::string rows;
  for (const auto &[why, count] : refusals(exploration))
    rows += formatv("<tr><td class=\"n\">{0}</td><td>{1}</td></tr>\n", count, escape(why));
  if (rows.empty())
    return "";
  return html::section("refused", "Refused designs",
                       "<p>They break a rule of the records, or a program has no code there.</p>\n<table "
                       "style=\"overflow-wrap:anywhere\"><tr><th "
                       "class=\"n\">designs</th><th>why</th></tr>" +
                           rows + "</table>\n");
}

std::string explore::toHtml(const Exploration &exploration) {
  std::string lead = formatv("{0} designs of {1} for {2}", exploration.outcomes.size(), exploration.sweep.target,
                             llvm::join(programNames(exploration), ", "));
  std::string body;
  if (auto front = exploration.front(); !front.empty()) {
    const Outcome &base = exploration.outcomes.front(), &best = *front.front();
    body += "<p>The fastest is design " + std::to_string(best.design.number) + ", " +
            escape(changesOf(exploration, best)) + ": " + html::seconds(*best.seconds());
    if (base.seconds())
      body += ", where the chip as it is takes " + html::seconds(*base.seconds()) + " (" +
              times(*base.seconds() / *best.seconds()) + ")";
    body +=
        ". All times are those of the cost models; <code>--emit N -o FILE</code> writes the code of design N.</p>\n";
    body += frontSection(exploration) + fieldsSection(exploration) + bindsSection(exploration) +
            bytesSection(exploration) + roofsSection(exploration) + tableSection(exploration);
  } else {
    body += "<p>No design has a time.</p>\n";
  }
  return html::page("Designs compared", lead, body + refusedSection(exploration));
}
