//===- HtmlReport.cpp - Results of a conformance run as a page ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A grid of operation by type with one square a case, failures with their commands,
/// and measured beside modelled times.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Report.h"
#include "core/Pages/Html.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

using namespace tilewright;
using namespace tilewright::conformance;
using html::escape;
using llvm::formatv;

static std::string tile(const char *name, size_t count) {
  return formatv("<div class=\"tile\"><b class=\"{0}\">{1}</b>{0}</div>\n", name, count);
}

/// One square; it says what it is when pointed at, and leads to its failure.
static std::string dot(const Result &result, size_t index) {
  const Outcome &outcome = result.outcome;
  std::string title = result.one->name() + ": " + nameOf(outcome.status);
  if (!outcome.message.empty())
    title += ", " + outcome.message;
  else if (result.one->program)
    title += formatv(", {0:f3} of the tolerance", outcome.worst).str();
  std::string square = formatv("<span class=\"dot {0}\" title=\"{1}\"></span>", nameOf(outcome.status), escape(title));
  return outcome.status == Status::Failed ? formatv("<a href=\"#f{0}\">{1}</a>", index, square).str() : square;
}

/// Operations down, types across.
static std::string grid(const Report &report, llvm::StringRef family) {
  std::map<std::pair<std::string, std::string>, std::string> cells;
  std::vector<std::string> ops, types;
  double worst = 0;
  for (auto [index, result] : llvm::enumerate(report.results)) {
    const Case &one = *result.one;
    if (one.family != family)
      continue;
    if (!llvm::is_contained(ops, one.op))
      ops.push_back(one.op);
    const std::string &type = family == "unit" ? one.layout : one.types; // units: what was asked of them
    if (!llvm::is_contained(types, type))
      types.push_back(type);
    cells[{one.op, type}] += dot(result, index);
    if (std::isfinite(result.outcome.worst))
      worst = std::max(worst, result.outcome.worst);
  }
  if (ops.empty())
    return "";
  // The longer list goes down.
  bool transposed = types.size() > ops.size();
  std::string text = "<h3>" + family.str() + "</h3>\n<div class=\"wide\"><table><tr><th></th>";
  for (const std::string &across : transposed ? ops : types)
    text += "<th>" + escape(across) + "</th>";
  text += "</tr>\n";
  for (const std::string &down : transposed ? types : ops) {
    text += "<tr><td>" + escape(down) + "</td>";
    for (const std::string &across : transposed ? ops : types)
      text += "<td><div class=\"dots\">" + cells[transposed ? std::pair(across, down) : std::pair(down, across)] +
              "</div></td>";
    text += "</tr>\n";
  }
  text += "</table></div>\n";
  if (worst > 0)
    text += formatv("<p class=\"soft\">Largest error: {0:f3} of its tolerance.</p>\n", worst);
  return text;
}

static std::string list(const Report &report, Status status) {
  std::string text;
  for (auto [index, result] : llvm::enumerate(report.results)) {
    if (result.outcome.status != status)
      continue;
    text += formatv("<div class=\"card\" id=\"f{0}\"><b class=\"{1}\">{2}</b><p>{3}</p>", index, nameOf(status),
                    escape(result.one->name()), escape(result.outcome.message));
    if (status == Status::Failed)
      text += "<pre>" + escape(report.command(*result.one)) + "</pre>";
    if (result.one->program)
      text += "<details><summary>program</summary><pre>" + escape(result.one->program->text) + "</pre></details>";
    text += "</div>\n";
  }
  return text;
}

static std::string times(const Report &report) {
  double most = 0;
  for (const Result &result : report.results)
    most = std::max({most, result.outcome.seconds, result.outcome.seconds > 0 ? result.outcome.modelledSeconds : 0});
  std::string text = "<table><tr><th>program</th><th class=\"n\">measured</th><th class=\"n\">modelled</th><th "
                     "style=\"width:22rem\"></th><th class=\"n\">Gop/s</th><th class=\"n\">of the model</th></tr>\n";
  for (const Result &result : report.results) {
    const Outcome &outcome = result.outcome;
    if (outcome.seconds <= 0)
      continue;
    text += formatv(
        "<tr><td>{0}</td><td class=\"n\">{1}</td><td class=\"n\">{2}</td><td><div class=\"bar\" "
        "style=\"width:{3:f1}%\"></div><div class=\"bar two\" style=\"width:{4:f1}%;margin-top:2px\"></div></td>"
        "<td class=\"n\">{5:f1}</td><td class=\"n\">{6}</td></tr>\n",
        escape(result.one->name()), html::seconds(outcome.seconds),
        outcome.modelledSeconds > 0 ? html::seconds(outcome.modelledSeconds) : "-", 100 * outcome.seconds / most,
        100 * outcome.modelledSeconds / most, result.one->program->operations / outcome.seconds * 1e-9,
        outcome.modelledSeconds > 0 ? formatv("{0:f0} %", 100 * outcome.modelledSeconds / outcome.seconds).str() : "-");
  }
  return text +
         "</table>\n<p class=\"soft\">Above: measured, median of a call. Below: what the cost model expects.</p>\n";
}

std::string conformance::toHtml(const Report &report) {
  std::string body = "<div class=\"tiles\">";
  for (Status status : {Status::Passed, Status::Failed, Status::Refused, Status::Skipped})
    body += tile(nameOf(status), report.count(status));
  body += "</div>\n";
  if (report.count(Status::Failed))
    body += html::section("failures", "Failures", list(report, Status::Failed));
  std::string grids =
      "<p>One square is one program or unit: a shape, a layout. Point at it for its name and error.</p>\n";
  for (const char *family : families)
    grids += grid(report, family);
  body += html::section("coverage", "Coverage", grids);
  if (llvm::any_of(report.results, [](const Result &result) { return result.outcome.seconds > 0; }))
    body += html::section("times", "Achieved against modelled time", times(report));
  if (report.count(Status::Refused))
    body += html::section("refused", "Refused by the compiler", list(report, Status::Refused));
  std::string lead = formatv("{0} run, {1} cases on the device '{2}' in {3:f1} s.", report.mode, report.results.size(),
                             report.device, report.seconds);
  if (std::vector<std::string> often = report.refusedTooOften(); !often.empty())
    lead += formatv(" The compiler refuses more than {0}% of the cases of {1}.", report.mostRefused,
                    llvm::join(often, ", "));
  return html::page("Conformance of " + report.target, lead, body);
}
