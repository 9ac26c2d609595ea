//===- Report.cpp - Results of a conformance run --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Table and JSON.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>

using namespace tilewright;
using namespace tilewright::conformance;

size_t Report::count(Status status) const {
  return llvm::count_if(results, [&](const Result &result) { return result.outcome.status == status; });
}

std::vector<std::string> Report::refusedTooOften() const {
  std::vector<std::string> found;
  for (const char *family : families) {
    size_t ran = 0, refused = 0;
    for (const Result &result : results) {
      bool counts = result.one->family == family && result.outcome.status != Status::Skipped;
      ran += counts;
      refused += counts && result.outcome.status == Status::Refused;
    }
    if (refused * 100 > ran * mostRefused)
      found.push_back(family);
  }
  return found;
}

std::string Report::command(const Case &one) const {
  return "tw-conformance " + options + " --filter='" + one.name() + "' --keep=failed";
}

/// Number of results of each status.
using Counts = std::array<size_t, 4>;

/// "12" or "11 / 12": passed of all that ran; "-" where nothing did.
static std::string cell(const Counts &counts) {
  size_t ran = counts[0] + counts[1] + counts[2];
  if (ran == 0)
    return "-";
  std::string text = counts[0] == ran ? std::to_string(ran) : llvm::formatv("{0}/{1}", counts[0], ran).str();
  return text + (counts[1] ? "!" : "");
}

void conformance::printTable(const Report &report, llvm::raw_ostream &os) {
  std::map<std::string, Counts> totals;
  std::map<std::pair<std::string, std::string>, Counts> grid; // family, type of the first operand
  std::vector<std::string> types;
  for (const Result &result : report.results) {
    std::string type = llvm::StringRef(result.one->types).split('.').first.str();
    if (!llvm::is_contained(types, type))
      types.push_back(type);
    ++grid[{result.one->family, type}][static_cast<size_t>(result.outcome.status)];
    ++totals[result.one->family][static_cast<size_t>(result.outcome.status)];
  }
  os << llvm::formatv("{0} on {1}, {2} cases, {3:f1} s\n\n{4,-14}", report.target, report.device, report.results.size(),
                      report.seconds, "");
  auto column = [&](const std::string &type, const std::string &text) {
    os << llvm::right_justify(text, std::max<unsigned>(8, type.size() + 2));
  };
  for (const std::string &type : types)
    column(type, type);
  os << llvm::formatv("{0,8}\n", "all");
  for (const char *family : families) {
    if (!totals.count(family))
      continue;
    os << llvm::formatv("{0,-14}", family);
    for (const std::string &type : types)
      column(type, cell(grid[{family, type}]));
    os << llvm::formatv("{0,8}\n", cell(totals[family]));
  }
  for (auto [status, title] : {std::pair(Status::Refused, "refused by the compiler"), {Status::Failed, "FAILED"}}) {
    if (report.count(status) == 0)
      continue;
    os << "\n" << title << "\n";
    for (const Result &result : report.results) {
      if (result.outcome.status != status)
        continue;
      os << "  " << result.one->name() << "\n    " << result.outcome.message << "\n";
      if (status == Status::Failed)
        os << "    " << report.command(*result.one) << "\n";
    }
  }
  bool timed = llvm::any_of(report.results, [](const Result &result) { return result.outcome.seconds > 0; });
  if (timed)
    os << llvm::formatv("\n{0,-56}{1,12}{2,12}{3,12}\n", "times", "measured", "modelled", "Gop/s");
  for (const Result &result : report.results)
    if (result.outcome.seconds > 0)
      os << llvm::formatv("{0,-56}{1,9} us{2,9} us{3,12}\n", result.one->name(),
                          llvm::formatv("{0:f1}", result.outcome.seconds * 1e6),
                          llvm::formatv("{0:f1}", result.outcome.modelledSeconds * 1e6),
                          llvm::formatv("{0:f1}", result.one->program->operations / result.outcome.seconds * 1e-9));
  os << llvm::formatv("\n{0} passed, {1} failed, {2} refused, {3} skipped\n", report.count(Status::Passed),
                      report.count(Status::Failed), report.count(Status::Refused), report.count(Status::Skipped));
  if (std::vector<std::string> often = report.refusedTooOften(); !often.empty())
    os << llvm::formatv("REFUSED: more than {0}% of the cases of {1}, which --max-refused={0} forbids\n",
                        report.mostRefused, llvm::join(often, ", "));
}

llvm::json::Object conformance::toJson(const Report &report) {
  llvm::json::Array cases;
  for (const Result &result : report.results) {
    const Case &one = *result.one;
    const Outcome &outcome = result.outcome;
    llvm::json::Object object{{"name", one.name()},
                              {"family", one.family},
                              {"op", one.op},
                              {"types", one.types},
                              {"shape", one.shape},
                              {"layout", one.layout},
                              {"status", nameOf(outcome.status)}};
    if (!outcome.message.empty())
      object["message"] = llvm::json::fixUTF8(outcome.message);
    if (outcome.status == Status::Failed)
      object["command"] = report.command(one);
    if (one.program)
      object["error_over_tolerance"] =
          std::isfinite(outcome.worst) ? llvm::json::Value(outcome.worst) : llvm::json::Value(nullptr);
    if (!outcome.kernels.empty())
      object["kernels"] = llvm::cantFail(llvm::json::parse(outcome.kernels));
    if (!outcome.fusion.empty())
      object["fusion"] = llvm::cantFail(llvm::json::parse(outcome.fusion));
    if (outcome.compileSeconds > 0)
      object["compile_seconds"] = outcome.compileSeconds;
    if (outcome.seconds > 0)
      object["seconds"] = outcome.seconds;
    if (outcome.modelledSeconds > 0)
      object["modelled_seconds"] = outcome.modelledSeconds;
    cases.push_back(std::move(object));
  }
  auto number = [&](Status status) { return static_cast<int64_t>(report.count(status)); };
  return llvm::json::Object{{"target", report.target},
                            {"device", report.device},
                            {"mode", report.mode},
                            {"seconds", report.seconds},
                            {"passed", number(Status::Passed)},
                            {"failed", number(Status::Failed)},
                            {"refused", number(Status::Refused)},
                            {"skipped", number(Status::Skipped)},
                            {"max_refused_percent", static_cast<int64_t>(report.mostRefused)},
                            {"refused_too_often", llvm::json::Array(report.refusedTooOften())},
                            {"cases", std::move(cases)}};
}
