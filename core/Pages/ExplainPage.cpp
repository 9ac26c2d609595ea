//===- ExplainPage.cpp - Decisions as a page ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One section a decision, then the program.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/ExplainPage.h"
#include "core/Pages/Drawings.h"
#include "core/Pages/Html.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace tilewright;
using html::breakable;
using html::escape;
using html::number;
using llvm::formatv;
namespace json = llvm::json;

static std::vector<std::string> keysOf(const json::Object &object) {
  std::vector<std::string> keys;
  for (const auto &entry : object)
    keys.push_back(entry.first.str());
  llvm::sort(keys);
  return keys;
}

static std::string valueText(const json::Value &value) {
  if (auto text = value.getAsString())
    return text->empty() ? "none" : text->str();
  if (auto truth = value.getAsBoolean())
    return *truth ? "yes" : "no";
  if (auto integer = value.getAsInteger())
    return std::to_string(*integer);
  if (auto real = value.getAsNumber())
    return number(*real);
  if (const json::Array *list = value.getAsArray()) {
    std::string text;
    for (const json::Value &each : *list)
      text += (text.empty() ? "" : " x ") + valueText(each);
    return text;
  }
  if (const json::Object *object = value.getAsObject()) { // "loads 8, writes 0"
    std::string text;
    for (const std::string &key : keysOf(*object))
      text += (text.empty() ? "" : ", ") + key + " " + valueText(*object->get(key));
    return text;
  }
  return "unknown";
}

static std::string fieldText(llvm::StringRef key, const json::Value &value) {
  if (key == "seconds" && value.getAsNumber())
    return html::seconds(*value.getAsNumber());
  if (key.ends_with("_bytes") && value.getAsInteger())
    return html::bytes(*value.getAsInteger());
  return valueText(value);
}

static std::string fields(llvm::StringRef title, const json::Object *object) {
  if (!object || object->empty())
    return "";
  std::string text = "<h3>" + title.str() + "</h3><table>";
  for (const std::string &key : keysOf(*object))
    text += "<tr><td class=\"soft\">" + escape(key) + "</td><td>" + escape(fieldText(key, *object->get(key))) +
            "</td></tr>";
  return text + "</table>\n";
}

/// The candidates, the chosen one marked; fields that all share are left out.
static std::string candidates(const json::Array *list, const json::Object *choice) {
  if (!list) // nothing was to be chosen
    return "";
  if (list->empty())
    return "<p class=\"soft\">No other candidate was recorded.</p>\n";
  std::vector<const json::Object *> rows;
  for (const json::Value &each : *list)
    if (const json::Object *object = each.getAsObject())
      rows.push_back(object);
  std::vector<std::string> columns;
  for (const std::string &key : rows.empty() ? std::vector<std::string>() : keysOf(*rows.front()))
    if (key != "seconds" && !rows.front()->getObject(key) && llvm::any_of(rows, [&](const json::Object *row) {
          const json::Value *one = row->get(key);
          return !one || valueText(*one) != valueText(*rows.front()->get(key));
        }))
      columns.push_back(key);
  // What names a plan (tiles, the unit) stands before its numbers.
  llvm::stable_sort(columns, [&](const std::string &one, const std::string &other) {
    auto names = [&](const std::string &key) {
      const json::Value *value = rows.front()->get(key);
      return value && (value->getAsArray() || value->getAsString());
    };
    return names(one) > names(other);
  });
  double best = 0;
  for (const json::Object *row : rows)
    if (double seconds = row->getNumber("seconds").value_or(0); best == 0 || seconds < best)
      best = seconds;
  std::string text = "<h3>candidates</h3><div class=\"wide dense\"><table><tr><th></th><th "
                     "class=\"n\">modelled</th><th class=\"n\">of the "
                     "fastest</th>";
  auto isNumber = [&](const std::string &column) {
    const json::Value *value = rows.front()->get(column);
    return value && value->getAsNumber();
  };
  for (const std::string &column : columns)
    text += std::string(isNumber(column) ? "<th class=\"n\">" : "<th>") + breakable(column) + "</th>";
  text += "</tr>\n";
  bool marked = false;
  for (const json::Object *row : rows) {
    double seconds = row->getNumber("seconds").value_or(0);
    bool chosen = !marked && choice && llvm::all_of(columns, [&](const std::string &column) {
      const json::Value *a = row->get(column), *b = choice->get(column);
      return a && b && valueText(*a) == valueText(*b);
    });
    marked |= chosen;
    text += formatv("<tr{0}><td class=\"passed\">{3}</td><td class=\"n\">{1}</td><td class=\"n\">{2}</td>",
                    chosen ? " class=\"chosen\"" : "", html::seconds(seconds),
                    best > 0 ? formatv("{0:f3}", seconds / best).str() : "-", chosen ? "chosen" : "");
    for (const std::string &column : columns)
      text += std::string(isNumber(column) ? "<td class=\"n\">" : "<td>") +
              breakable(row->get(column) ? fieldText(column, *row->get(column)) : "") + "</td>";
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

/// "layer.mlir:7:14" for "dir/layer.mlir":7:14; a call site names the call too.
static std::string place(llvm::StringRef location) {
  llvm::StringRef rest = location;
  if (rest.consume_front("callsite(") && rest.consume_back(")")) {
    auto [callee, caller] = rest.split(" at ");
    return place(callee) + ", called at " + place(caller);
  }
  if (!rest.consume_front("\""))
    return location.str();
  auto [file, position] = rest.split("\"");
  return llvm::sys::path::filename(file).str() + position.str();
}

static std::string decision(const TargetDescription &chip, const json::Object &record) {
  const json::Object *choice = record.getObject("choice"), *traffic = record.getObject("traffic");
  std::string text =
      "<div class=\"row\"><div>" + fields("inputs", record.getObject("inputs")) + fields("choice", choice) + "</div>";
  if (traffic && traffic->getArray("footprints")) { // of a plan with tiles
    std::vector<html::Footprint> footprints;
    if (const json::Array *list = traffic->getArray("footprints"))
      for (const json::Value &each : *list)
        if (const json::Object *one = each.getAsObject())
          footprints.push_back({one->getString("memory").value_or("").str(), one->getString("what").value_or("").str(),
                                one->getNumber("bytes").value_or(0)});
    text += "<div><h3>tiles over memories</h3>" + html::drawPyramid(chip, footprints);
    const MatrixUnit *unit = choice ? chip.unit(choice->getString("unit").value_or("")) : nullptr;
    html::RooflinePoint point{"", traffic->getNumber("operations").value_or(0),
                              traffic->getNumber("array_bytes").value_or(0),
                              choice ? choice->getNumber("seconds").value_or(0) : 0};
    if (unit && point.operations > 0 && point.bytes > 0 && point.seconds > 0) {
      // Programs of one thread use one core; launches use the whole chip.
      int64_t members = choice->getInteger("threads").value_or(chip.parallelWidth());
      double peak = unit->flopsPerClock() * chip.clockMHz() * 1e6 * static_cast<double>(members);
      text += "<h3>roofline, modelled</h3>" + html::drawRoofline(chip, peak, members, {point});
    }
    text += "</div>";
  }
  text += "</div>\n";
  text += candidates(record.getArray("candidates"), choice);
  if (auto reason = record.getString("reason"))
    text += "<p>" + escape(*reason) + "</p>\n";
  return text;
}

std::string html::explainPage(const TargetDescription &chip, const Explanation &explanation) {
  std::string body;
  std::set<std::string> units;
  for (auto [index, entry] : llvm::enumerate(explanation.decisions)) {
    const json::Object *record = entry.getAsObject();
    if (!record)
      continue;
    std::string heading = formatv("{0}. {1}, {2}", index + 1, record->getString("decision").value_or("decision"),
                                  place(record->getString("location").value_or("")));
    body += section(formatv("d{0}", index).str(), heading, decision(chip, *record));
    if (const json::Object *choice = record->getObject("choice"))
      if (auto unit = choice->getString("unit"))
        units.insert(unit->str());
  }
  if (explanation.decisions.empty())
    body += "<p>The cost models had nothing to decide.</p>\n";
  body += section("nests", "The program before and after",
                  "<div class=\"row\"><div><h3>affine nests (stage 2)</h3><pre>" + escape(explanation.before) +
                      "</pre></div><div><h3>optimised (stage 3)</h3><pre>" + escape(explanation.after) +
                      "</pre></div></div>\n");
  std::vector<const MatrixUnit *> used;
  for (const std::string &name : units)
    if (const MatrixUnit *unit = chip.unit(name))
      used.push_back(unit);
  std::string drawings = drawUnits(used);
  if (!drawings.empty())
    body += section("units", "Units in use, lane by lane", drawings);
  std::string lead = formatv("{0} for {1}:{2}, {3}", explanation.file, chip.target(), chip.chip(),
                             counted(static_cast<int64_t>(explanation.decisions.size()), "decision"));
  return page("Why the code is as it is", lead, body);
}
