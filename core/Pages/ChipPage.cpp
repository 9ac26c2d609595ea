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
#include "tilewright/MachineGraph.h"

#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using html::breakable;
using html::escape;
using html::number;
using llvm::formatv;

/// "-" for what a memory does not have.
static std::string orNone(double value) { return value > 0 ? number(value) : "-"; }

static std::string memories(const TargetDescription &chip) {
  std::string text =
      "<div class=\"wide tight\"><table><tr><th>memory</th><th>of each</th><th class=\"n\">capacity</th><th "
      "class=\"n\">read</th><th class=\"n\">write</th><th class=\"n\">streaming</th><th "
      "class=\"n\">latency</th><th>source</th></tr>\n";
  for (const Memory &memory : chip.memories())
    text +=
        formatv("<tr><td>{0}</td><td>{1}</td><td class=\"n\">{2}</td><td class=\"n\">{3}</td><td class=\"n\">{4}</td>"
                "<td class=\"n\">{5}</td><td class=\"n\">{6}</td><td class=\"soft\">{7}</td></tr>\n",
                escape(memory.name), escape(memory.level), html::bytes(memory.bytes), orNone(memory.bytesPerClock),
                orNone(memory.writeBytesPerClock), orNone(memory.streamingWriteBytesPerClock), orNone(memory.latency),
                memory.kind == MemoryKind::RegisterFile ? "" : escape(memory.source));
  return text + std::string("</table></div>\n<p class=\"soft\">Bytes per clock of one member of the level") +
         (chip.graph().sharesOutermost() ? ", of the whole chip at the outermost one" : "") +
         "; latency in clocks.</p>\n";
}

static std::string engines(const TargetDescription &chip) {
  std::string text =
      "<div class=\"wide tight\"><table><tr><th>engine</th><th>from</th><th>to</th><th class=\"n\">bytes per "
      "clock</th><th class=\"n\">latency</th><th>completion</th><th>one command</th><th>source</th></tr>\n";
  for (const CopyEngine &copy : chip.copies()) {
    std::string command = html::counted(copy.maxRank, "dimension");
    if (llvm::is_contained(copy.arrangements, "transpose"))
      command += ", transposes";
    if (copy.alignBytes > 1)
      command += formatv(", addresses aligned to {0} bytes", copy.alignBytes);
    if (copy.burstBytes)
      command += formatv(", rows of up to {0} bytes", copy.burstBytes);
    if (copy.queueDepth)
      command += formatv(", {0} in the queue", copy.queueDepth);
    text += formatv(
        "<tr><td>{0}</td><td>{1}</td><td>{2}</td><td class=\"n\">{3}</td><td class=\"n\">{4}</td><td>{5}</td><td "
        "class=\"soft\">{6}</td><td class=\"soft\">{7}</td></tr>\n",
        escape(copy.name), escape(copy.from), escape(copy.to), number(copy.bytesPerClock), number(copy.latency),
        copy.completion == Completion::AtOnce      ? "at once"
        : copy.completion == Completion::WaitGroup ? "wait for groups"
                                                   : "barrier",
        command, escape(copy.source));
  }
  return text + "</table></div>\n";
}

static std::string units(const TargetDescription &chip) {
  double most = 1;
  for (const MatrixUnit &unit : chip.units())
    most = std::max(most, unit.flopsPerClock());
  // A column that only some chips fill.
  const bool hasQueues = llvm::any_of(chip.units(), [](const MatrixUnit &unit) { return unit.queueDepth != 0; });
  auto ofQueue = [&](llvm::StringRef tag, const std::string &content) {
    return hasQueues ? formatv("<{0} class=\"n\">{1}</{0}>", tag, content).str() : std::string();
  };
  std::string text =
      "<div class=\"wide tight\"><table><tr><th>unit</th><th>m x n x k</th><th>types</th><th class=\"n\">issue</th><th "
      "class=\"n\">latency</th>" +
      ofQueue("th", "in the queue") + "<th class=\"n\">operations a clock</th><th>source</th></tr>\n";
  std::string source; // of the row before
  for (const MatrixUnit &unit : chip.units()) {
    text += formatv("<tr><td class=\"name\">{0}</td><td>{1} x {2} x {3}</td><td>{4} * {5} &rarr; {6}</td><td "
                    "class=\"n\">{7}</td><td "
                    "class=\"n\">{8}</td>{9}<td class=\"n\">{10}<div class=\"bar\" "
                    "style=\"width:{11:f1}%;margin-left:auto\"></div></td><td "
                    "class=\"soft\">{12}</td></tr>\n",
                    breakable(unit.name), unit.m, unit.n, unit.k, elementName(unit.a.element),
                    elementName(unit.b.element), elementName(unit.c.element), number(unit.issue), number(unit.latency),
                    ofQueue("td", unit.queueDepth ? number(unit.queueDepth) : "any"), number(unit.flopsPerClock()),
                    100 * unit.flopsPerClock() / most, escape(unit.source == source ? "as above" : unit.source));
    source = unit.source;
  }
  return text + "</table></div>\n";
}

static std::string vectorOps(const TargetDescription &chip) {
  std::string text = "<div class=\"wide tight\"><table><tr><th>instruction</th><th>kind</th><th>types</th><th "
                     "class=\"n\">elements</th><th>with</th><th class=\"n\">issue</th><th "
                     "class=\"n\">latency</th><th>source</th></tr>\n";
  for (const VectorOp &op : chip.vectorOps()) {
    std::string parts;
    auto add = [&](bool has, const std::string &part) {
      if (has)
        parts += (parts.empty() ? "" : ", ") + part;
    };
    add(op.scale, "scale");
    add(op.zeroPoint, "zero point");
    add(op.saturates, "saturation");
    add(!op.rounding.empty(), "rounding: " + op.rounding);
    add(op.entries > 0, "a table of " + std::to_string(op.entries));
    text += formatv(
        "<tr><td>{0}</td><td>{1}</td><td>{2} &rarr; {3}</td><td class=\"n\">{4}</td><td class=\"soft\">{5}</td><td "
        "class=\"n\">{6}</td><td class=\"n\">{7}</td><td class=\"soft\">{8}</td></tr>\n",
        escape(op.name), escape(op.kind), elementName(op.from), elementName(op.to), op.lanes, escape(parts),
        number(op.issue), number(op.latency), escape(op.source));
  }
  return text + "</table></div>\n";
}

static std::string numbers(const TargetDescription &chip) {
  std::string text = "<table><tr><th>field</th><th class=\"n\">value</th><th>unit</th><th>source</th></tr>\n";
  for (const Fact &fact : chip.numbers()) {
    const NumberField &field = fieldOf(fact.number);
    text += formatv("<tr><td>{0}</td><td class=\"n\">{1}</td><td>{2}</td><td class=\"soft\">{3}</td></tr>\n",
                    field.name, number(fact.value), unitName(field.unit), escape(fact.source));
  }
  return text + "</table>\n";
}

std::string html::chipPage(const TargetDescription &chip) {
  std::string name = (chip.target() + ":" + chip.chip()).str(), body = drawChip(chip);
  body += section("memories", "Memories", memories(chip));
  if (!chip.copies().empty())
    body += section("engines", "Copy engines", engines(chip));
  if (!chip.units().empty()) {
    std::string layouts = units(chip) + "<h3>Layouts, lane by lane</h3>\n";
    std::vector<const MatrixUnit *> all;
    for (const MatrixUnit &unit : chip.units())
      all.push_back(&unit);
    layouts += drawUnits(all);
    body += section("units", "Matrix units", layouts);
  }
  if (!chip.vectorOps().empty())
    body += section("vector-ops", "Vector unit", vectorOps(chip));
  if (!chip.numbers().empty())
    body += section("rates", "Numbers", numbers(chip));
  std::string lead = chip.summary().str() + (chip.summary().empty() ? "" : "; ") + number(chip.clockMHz()) + " MHz";
  return page(name, lead, body);
}
