//===- Sweep.cpp - Which designs are looked at ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads axes and expressions, and makes the designs that they span.
///
//===----------------------------------------------------------------------===//

#include "core/Explore/Sweep.h"
#include "tilewright/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace tilewright;
using namespace tilewright::explore;
using llvm::createStringError;
using llvm::formatv;
using llvm::StringRef;

/// Of one axis: a range with a step that is a slip of the finger shall not fill the memory.
static constexpr size_t mostValues = 10000;
/// Of a sweep.
static constexpr size_t mostDesigns = 1000000;

std::string explore::text(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15)
    return std::to_string(static_cast<int64_t>(value));
  std::string result;
  llvm::raw_string_ostream(result) << llvm::format("%.17g", value);
  return result;
}

std::string explore::shortText(double value) {
  for (auto [suffix, unit] : {std::pair("G", 1073741824.0), std::pair("M", 1048576.0), std::pair("K", 1024.0)})
    if (value >= unit && value / unit == std::floor(value / unit))
      return text(value / unit) + suffix;
  std::string result;
  llvm::raw_string_ostream(result) << llvm::format("%.6g", value);
  return value == std::floor(value) ? text(value) : result;
}

//===-- Axes --------------------------------------------------------------===//

std::string Axis::name() const { return llvm::join(paths, " + "); }

/// "256K:4M:x2" or "2:8:+2".
static llvm::Expected<std::vector<double>> parseRange(StringRef range) {
  llvm::SmallVector<StringRef> parts;
  range.split(parts, ':');
  auto fail = [&](const llvm::Twine &why) {
    return createStringError("the range '" + range + "' " + why + "; write FIRST:LAST:xFACTOR or FIRST:LAST:+STEP");
  };
  if (parts.size() != 3)
    return fail("has no step");
  auto first = parseNumber(parts[0]);
  if (!first)
    return first.takeError();
  auto last = parseNumber(parts[1]);
  if (!last)
    return last.takeError();
  StringRef step = parts[2];
  const bool multiplies = step.consume_front("x"), adds = !multiplies && step.consume_front("+");
  if (!multiplies && !adds)
    return fail("has the step '" + parts[2] + "'");
  auto by = parseNumber(step);
  if (!by)
    return by.takeError();
  if (*last < *first)
    return fail("ends before it begins");
  if (multiplies ? *by <= 1 || *first <= 0 : *by <= 0)
    return fail("never ends");
  std::vector<double> values;
  for (double value = *first; value <= *last * (1 + 1e-12); value = multiplies ? value * *by : value + *by) {
    values.push_back(value);
    if (values.size() > mostValues)
      return fail(formatv("has more than {0} values", mostValues).str());
  }
  return values;
}

llvm::Expected<Axis> explore::parseAxis(StringRef option) {
  auto [names, list] = option.split('=');
  Axis axis;
  for (StringRef path : llvm::split(names, '+'))
    axis.paths.push_back(path.trim().str());
  auto fail = [&](const llvm::Twine &why) { return createStringError("--vary '" + option + "': " + why); };
  if (names.trim().empty() || list.trim().empty())
    return fail("it says no field and values; write PATH=VALUE,VALUE or PATH=FIRST:LAST:xFACTOR");
  for (StringRef each : llvm::split(list, ',')) {
    std::vector<double> values;
    if (each.contains(':')) {
      auto range = parseRange(each.trim());
      if (!range)
        return fail(llvm::toString(range.takeError()));
      values = std::move(*range);
    } else {
      auto value = parseNumber(each);
      if (!value)
        return fail(llvm::toString(value.takeError()));
      values.push_back(*value);
    }
    for (double value : values)
      if (!llvm::is_contained(axis.values, value))
        axis.values.push_back(value);
  }
  return axis;
}

//===-- Expressions -------------------------------------------------------===//

namespace {
/// Sums of products of numbers, paths and parentheses. The first error ends it.
class Evaluator {
public:
  Evaluator(StringRef text, const ChipTable &chip) : whole(text), rest(text), chip(chip) {}

  llvm::Expected<double> run() {
    double value = sum();
    if (reason.empty() && !rest.ltrim().empty())
      reason = ("'" + rest.ltrim() + "' is not expected there").str();
    if (reason.empty() && !std::isfinite(value))
      reason = "the value is not finite";
    if (!reason.empty())
      return createStringError("the expression '" + whole + "': " + reason);
    return value;
  }

private:
  bool takes(StringRef word) {
    rest = rest.ltrim();
    return rest.consume_front(word);
  }

  double sum() {
    double value = product();
    while (reason.empty()) {
      if (takes("+"))
        value += product();
      else if (takes("-"))
        value -= product();
      else
        break;
    }
    return value;
  }

  double product() {
    double value = factor();
    while (reason.empty()) {
      if (takes("*"))
        value *= factor();
      else if (takes("/"))
        value /= factor();
      else
        break;
    }
    return value;
  }

  double factor() {
    if (takes("-"))
      return -factor();
    if (takes("(")) {
      double value = sum();
      if (reason.empty() && !takes(")"))
        reason = "a parenthesis is not closed";
      return value;
    }
    rest = rest.ltrim();
    StringRef word = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(word.size());
    if (word.empty()) {
      reason = "a number or a field is missing";
      return 0;
    }
    auto value = llvm::isDigit(word.front()) ? parseNumber(word) : fieldAt(chip, word);
    if (value)
      return *value;
    std::string why = llvm::toString(value.takeError());
    if (reason.empty())
      reason = why;
    return 0;
  }

  StringRef whole, rest;
  const ChipTable &chip;
  std::string reason;
};
} // namespace

llvm::Expected<double> explore::evaluate(StringRef expression, const ChipTable &chip) {
  return Evaluator(expression, chip).run();
}

//===-- Designs -----------------------------------------------------------===//

size_t Sweep::size() const {
  size_t product = 1;
  for (const Axis &axis : axes) {
    product *= axis.values.size();
    if (product > mostDesigns)
      break;
  }
  return axes.empty() ? 1 : product + 1;
}

/// The assignments that make `design` of the chip, with the fields that follow; `table` becomes the design.
static llvm::Expected<std::string> assign(const Sweep &sweep, const Design &design, ChipTable &table) {
  std::string assignments;
  auto set = [&](StringRef path, double value) -> llvm::Error {
    assignments += (assignments.empty() ? "" : ",") + path.str() + "=" + text(value);
    return setField(table, path, value);
  };
  for (auto [axis, value] : llvm::zip(sweep.axes, design.values))
    for (const std::string &path : axis.paths)
      if (llvm::Error error = set(path, value))
        return std::move(error);
  if (!design.values.empty())
    for (const auto &[path, expression] : sweep.derived) {
      auto value = evaluate(expression, table);
      if (!value)
        return value.takeError();
      if (llvm::Error error = set(path, *value))
        return std::move(error);
    }
  return assignments;
}

llvm::Expected<std::vector<Design>> Sweep::designs() const {
  if (size() > mostDesigns)
    return createStringError(formatv("the axes span more than {0} designs; leave out values", mostDesigns).str());
  auto chip = TargetRegistry::get().describe(target);
  if (!chip)
    return chip.takeError();
  const ChipTable base = tableOf(**chip);
  // Fields and expressions are the same for all designs: what is wrong with one of them is said once.
  ChipTable first = base;
  for (const Axis &axis : axes)
    for (const std::string &path : axis.paths)
      if (llvm::Error error = setField(first, path, axis.values.front()))
        return createStringError("--vary: " + llvm::toString(std::move(error)));
  for (const auto &[path, expression] : derived) {
    auto value = evaluate(expression, first);
    if (!value)
      return createStringError("--set: " + llvm::toString(value.takeError()));
    if (auto field = fieldAt(first, path); !field)
      return createStringError("--set: " + llvm::toString(field.takeError()));
  }
  std::vector<Design> result(size());
  for (auto [number, design] : llvm::enumerate(result)) {
    design.number = number;
    size_t rest = number - 1;
    design.values.resize(number ? axes.size() : 0);
    for (size_t i = design.values.size(); i-- > 0; rest /= axes[i].values.size())
      design.values[i] = axes[i].values[rest % axes[i].values.size()];
    ChipTable table = base;
    auto assignments = assign(*this, design, table);
    if (!assignments) {
      design.refusal = llvm::toString(assignments.takeError());
      continue;
    }
    for (const std::string &cost : costs) {
      auto value = evaluate(cost, table);
      if (!value)
        return createStringError("--cost: " + llvm::toString(value.takeError()));
      design.costs.push_back(*value);
    }
    design.target = target + (assignments->empty() ? "" : (target.find('@') == target.npos ? "@" : ",") + *assignments);
    if (auto made = TargetRegistry::get().describe(design.target); !made)
      design.refusal = llvm::toString(made.takeError());
  }
  return result;
}
