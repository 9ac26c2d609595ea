//===- Report.cpp - An exploration as text, JSON and CSV ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Explore/Report.h"
#include "core/Pages/Html.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace tilewright;
using namespace tilewright::explore;
namespace json = llvm::json;

/// Rows of the front that the text shows.
static constexpr size_t shownDesigns = 20;

std::vector<std::string> explore::programNames(const Exploration &exploration) {
  std::vector<std::string> names;
  for (const std::string &path : exploration.options.programs)
    names.push_back(llvm::sys::path::stem(path).str());
  return names;
}

std::vector<std::pair<std::string, size_t>> explore::refusals(const Exploration &exploration) {
  llvm::StringMap<size_t> counts;
  for (const Outcome &each : exploration.outcomes) {
    std::string why = each.refusal();
    // What differs from design to design is its own name.
    if (size_t at = why.find(each.design.target); at != why.npos && !each.design.target.empty())
      why.replace(at, each.design.target.size(), exploration.sweep.target);
    if (!why.empty())
      ++counts[why];
  }
  std::vector<std::pair<std::string, size_t>> result;
  for (const auto &entry : counts)
    result.emplace_back(entry.first().str(), entry.second);
  llvm::sort(result,
             [](const auto &a, const auto &b) { return std::pair(b.second, a.first) < std::pair(a.second, b.first); });
  return result;
}

//===-- JSON --------------------------------------------------------------===//

static json::Object toObject(const std::map<std::string, double> &numbers) {
  json::Object result;
  for (const auto &[key, value] : numbers)
    result[key] = value;
  return result;
}

static json::Object describe(const Estimate &estimate, const std::string &name) {
  json::Object result{{"program", name}};
  if (!estimate.refusal.empty()) {
    result["refused"] = estimate.refusal;
    return result;
  }
  result["seconds"] = estimate.seconds;
  result["operations"] = estimate.operations;
  result["utilisation"] = estimate.utilisation();
  result["unit_seconds"] = toObject(estimate.units);
  result["bytes"] = toObject(estimate.bytes);
  result["binds"] = toObject(estimate.binds);
  if (!estimate.unknown.empty()) {
    json::Array places;
    for (const std::string &place : estimate.unknown)
      places.push_back(place);
    result["counted_once"] = std::move(places);
  }
  json::Array kernels;
  for (const Piece &piece : estimate.pieces)
    kernels.push_back(json::Object{{"kernel", piece.kernel},
                                   {"location", piece.location},
                                   {"decision", piece.decision},
                                   {"unit", piece.unit},
                                   {"seconds", piece.seconds},
                                   {"runs", piece.runs},
                                   {"operations", piece.operations},
                                   {"busy", toObject(piece.busy)},
                                   {"bytes", toObject(piece.bytes)},
                                   {"binds", piece.binds}});
  result["kernels"] = std::move(kernels);
  return result;
}

json::Object explore::toJson(const Exploration &exploration) {
  const Sweep &sweep = exploration.sweep;
  const std::vector<std::string> names = programNames(exploration);
  json::Array axes, costs, programs, designs;
  for (const Axis &axis : sweep.axes) {
    json::Array fields, values;
    for (const std::string &path : axis.paths)
      fields.push_back(path);
    for (double value : axis.values)
      values.push_back(value);
    axes.push_back(json::Object{{"fields", std::move(fields)}, {"values", std::move(values)}});
  }
  for (const std::string &cost : sweep.costs)
    costs.push_back(cost);
  for (const std::string &path : exploration.options.programs)
    programs.push_back(path);
  for (const Outcome &outcome : exploration.outcomes) {
    json::Array values, own, each;
    for (double value : outcome.design.values)
      values.push_back(value);
    for (double cost : outcome.design.costs)
      own.push_back(cost);
    for (auto [estimate, name] : llvm::zip(outcome.programs, names))
      each.push_back(describe(estimate, name));
    json::Object design{{"design", static_cast<int64_t>(outcome.design.number)},
                        {"target", outcome.design.target},
                        {"values", std::move(values)},
                        {"costs", std::move(own)},
                        {"front", outcome.isOnFront},
                        {"programs", std::move(each)}};
    if (std::string why = outcome.refusal(); !why.empty())
      design["refused"] = why;
    if (auto seconds = outcome.seconds())
      design["seconds"] = *seconds;
    designs.push_back(std::move(design));
  }
  return json::Object{{"target", sweep.target},        {"programs", std::move(programs)},
                      {"axes", std::move(axes)},       {"costs", std::move(costs)},
                      {"designs", std::move(designs)}, {"elapsed_seconds", exploration.elapsed}};
}

//===-- CSV ---------------------------------------------------------------===//

/// A field as RFC 4180 has it.
static std::string quoted(llvm::StringRef text) {
  if (text.find_first_of(",\"\n") == text.npos)
    return text.str();
  std::string result = "\"";
  for (char c : text)
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string explore::toCsv(const Exploration &exploration) {
  const std::vector<std::string> names = programNames(exploration);
  std::set<std::string> edges;
  for (const Outcome &outcome : exploration.outcomes)
    for (const Estimate &estimate : outcome.programs)
      for (const auto &[edge, bytes] : estimate.bytes)
        edges.insert(edge);
  std::string csv = "design";
  for (const Axis &axis : exploration.sweep.axes)
    csv += "," + quoted(axis.name());
  for (const std::string &cost : exploration.sweep.costs)
    csv += "," + quoted("cost " + cost);
  csv += ",front,program,seconds,operations,utilisation,binds";
  for (const std::string &edge : edges)
    csv += "," + quoted("bytes " + edge);
  csv += ",refused\n";
  for (const Outcome &outcome : exploration.outcomes) {
    std::string begin = std::to_string(outcome.design.number);
    for (size_t i = 0; i < exploration.sweep.axes.size(); ++i)
      begin += "," + (i < outcome.design.values.size() ? text(outcome.design.values[i]) : "");
    for (size_t i = 0; i < exploration.sweep.costs.size(); ++i)
      begin += "," + (i < outcome.design.costs.size() ? text(outcome.design.costs[i]) : "");
    begin += outcome.isOnFront ? ",1," : ",0,";
    for (size_t i = 0; i < names.size(); ++i) {
      csv += begin + quoted(names[i]) + ",";
      const Estimate *estimate = i < outcome.programs.size() ? &outcome.programs[i] : nullptr;
      if (estimate && estimate->refusal.empty()) {
        csv += text(estimate->seconds) + "," + text(estimate->operations) + "," + text(estimate->utilisation()) + "," +
               quoted(bindsMost(estimate->binds));
        for (const std::string &edge : edges) {
          auto moved = estimate->bytes.find(edge);
          csv += "," + (moved == estimate->bytes.end() ? "0" : text(moved->second));
        }
        csv += ",\n";
        continue;
      }
      csv += std::string(3 + edges.size(), ',');
      csv += "," + quoted(estimate && !estimate->refusal.empty() ? estimate->refusal : outcome.refusal()) + "\n";
    }
  }
  return csv;
}

//===-- Text --------------------------------------------------------------===//

static void printRow(const Exploration &exploration, const Outcome &outcome, llvm::raw_ostream &os) {
  os << llvm::format("%7zu %10s %5.0f%%", outcome.design.number, html::seconds(*outcome.seconds()).c_str(),
                     100 * outcome.utilisation());
  for (double cost : outcome.design.costs)
    os << llvm::format(" %12s", shortText(cost).c_str());
  os << llvm::format("   %-18s", bindsMost(outcome.binds()).c_str());
  for (auto [axis, value] : llvm::zip(exploration.sweep.axes, outcome.design.values))
    os << " " << llvm::join(axis.paths, "+") << "=" << shortText(value);
  os << (outcome.design.values.empty() ? " as it is" : "") << "\n";
}

void explore::printTable(const Exploration &exploration, llvm::raw_ostream &os) {
  size_t refused = llvm::count_if(exploration.outcomes, [](const Outcome &each) { return !each.seconds(); });
  os << llvm::formatv("{0} designs of {1} for {2}, {3} refused, planned in {4}\n", exploration.outcomes.size(),
                      exploration.sweep.target, llvm::join(programNames(exploration), ", "), refused,
                      html::seconds(exploration.elapsed));
  os << "\n";
  std::vector<const Outcome *> front = exploration.front();
  os << "The front: no other design is as good in time"
     << (exploration.sweep.costs.empty() ? "" : " and cost, and better in one") << "\n";
  os << " design       time  units";
  for (const std::string &cost : exploration.sweep.costs)
    os << llvm::format(" %12s", cost.size() > 12 ? ("..." + cost.substr(cost.size() - 9)).c_str() : cost.c_str());
  os << "   binds              fields\n";
  for (const Outcome *each : llvm::ArrayRef(front).take_front(shownDesigns))
    printRow(exploration, *each, os);
  if (front.size() > shownDesigns)
    os << llvm::formatv("  ... and {0} more: --csv and --html have all\n", front.size() - shownDesigns);
  if (!exploration.outcomes.front().isOnFront && exploration.outcomes.front().seconds()) {
    os << "The chip as it is:\n";
    printRow(exploration, exploration.outcomes.front(), os);
  }
  const std::vector<std::pair<std::string, size_t>> reasons = refusals(exploration);
  for (const auto &[why, count] : llvm::ArrayRef(reasons).take_front(shownDesigns))
    os << llvm::formatv("Refused {0}: {1}\n", html::counted(static_cast<int64_t>(count), "design"), why);
}
