//===- ChipPage.cpp - A chip as a page ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The drawing, then every number with its source.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/ChipPage.h"
#include "core/Pages/Drawings.h"
#include "core/Pages/Html.h"

#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using html::escape;
using html::number;
using llvm::formatv;

static std::string memories(const TargetDescription &chip) {
  std::string text =
      "<div class=\"wide tight\"><table><tr><th>memory</th><th>of each</th><th class=\"n\">capacity</th><th "
      "class=\"n\">read</th><th class=\"n\">write</th><th class=\"n\">streaming</th><th "
      "class=\"n\">latency</th><th>source</th></tr>\n";
  for (const Memory &memory : chip.memories())
    text +=
        formatv("<tr><td>{0}</td><td>{1}</td><td class=\"n\">{2}</td><td class=\"n\">{3}</td><td class=\"n\">{4}</td>"
                "<td class=\"n\">{5}</td><td class=\"n\">{6}</td><td class=\"soft\">{7}</td></tr>\n",
                escape(memory.name), escape(memory.level), html::bytes(memory.bytes), number(memory.bytesPerClock),
                number(memory.writeBytesPerClock), number(memory.streamingWriteBytesPerClock), number(memory.latency),
                escape(memory.source));
  return text +
         "</table></div>\n<p class=\"soft\">Bytes per clock of one member of the level; latency in clocks.</p>\n";
}

static std::string engines(const TargetDescription &chip) {
  std::string text =
      "<div class=\"wide tight\"><table><tr><th>engine</th><th>from</th><th>to</th><th class=\"n\">bytes per "
      "clock</th><th class=\"n\">latency</th><th>completion</th><th>source</th></tr>\n";
  for (const CopyEngine &copy : chip.copies())
    text += formatv(
        "<tr><td>{0}</td><td>{1}</td><td>{2}</td><td class=\"n\">{3}</td><td class=\"n\">{4}</td><td>{5}</td><td "
        "class=\"soft\">{6}</td></tr>\n",
        escape(copy.name), escape(copy.from), escape(copy.to), number(copy.bytesPerClock), number(copy.latency),
        copy.completion == Completion::AtOnce      ? "at once"
        : copy.completion == Completion::WaitGroup ? "wait for groups"
                                                   : "barrier",
        escape(copy.source));
  return text + "</table></div>\n";
}

static std::string units(const TargetDescription &chip) {
  double most = 1;
  for (const MatrixUnit &unit : chip.units())
    most = std::max(most, unit.flopsPerClock());
  std::string text =
      "<div class=\"wide tight\"><table><tr><th>unit</th><th>m x n x k</th><th>types</th><th class=\"n\">issue</th><th "
      "class=\"n\">latency</th><th class=\"n\">operations a clock</th><th "
      "style=\"width:12rem\"></th><th>source</th></tr>\n";
  for (const MatrixUnit &unit : chip.units())
    text += formatv(
        "<tr><td>{0}</td><td>{1} x {2} x {3}</td><td>{4} * {5} &rarr; {6}</td><td class=\"n\">{7}</td><td "
        "class=\"n\">{8}</td><td class=\"n\">{9}</td><td><div class=\"bar\" style=\"width:{10:f1}%\"></div></td><td "
        "class=\"soft\">{11}</td></tr>\n",
        escape(unit.name), unit.m, unit.n, unit.k, elementName(unit.a.element), elementName(unit.b.element),
        elementName(unit.c.element), number(unit.issue), number(unit.latency), number(unit.flopsPerClock()),
        100 * unit.flopsPerClock() / most, escape(unit.source));
  return text + "</table></div>\n";
}

static std::string rates(const TargetDescription &chip) {
  std::string text = "<table><tr><th>instruction</th><th class=\"n\">per clock</th><th>source</th></tr>\n";
  for (const Rate &rate : chip.rates())
    text += formatv("<tr><td>{0}</td><td class=\"n\">{1}</td><td class=\"soft\">{2}</td></tr>\n", escape(rate.op),
                    number(rate.perClock), escape(rate.source));
  return text + "</table>\n";
}

std::string html::chipPage(const TargetDescription &chip) {
  std::string name = (chip.target() + ":" + chip.chip()).str(), body = drawChip(chip);
  body += section("memories", "Memories", memories(chip));
  if (!chip.copies().empty())
    body += section("engines", "Copy engines", engines(chip));
  if (!chip.units().empty()) {
    std::string layouts = units(chip) + "<h3>Layouts, lane by lane</h3>\n";
    for (const MatrixUnit &unit : chip.units())
      layouts += drawUnit(unit);
    body += section("units", "Matrix units", layouts);
  }
  if (!chip.rates().empty())
    body += section("rates", "Instructions", rates(chip));
  std::string lead = chip.summary().str() + (chip.summary().empty() ? "" : "; ") + number(chip.clockMHz()) + " MHz";
  return page(name, lead, body);
}
