//===- tw-targets.cpp - Targets, chips and units, shown ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   tw-targets                          all targets and their chips
///   tw-targets cpu                      the chips of one target with their units
///   tw-targets acme:one                 all facts of one chip
///   tw-targets acme:one --draw=UNIT:c [--as=UNIT:a]   the layout of an operand; its conversion to another
///
/// `--json` prints the same for scripts; `--load-target=lib.so` adds a plugin.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/ChipPage.h"
#include "core/Pages/Html.h"
#include "core/Pages/LayoutText.h"
#include "core/Tools/Command.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;
using llvm::formatv;
using llvm::raw_ostream;
namespace cl = llvm::cl;
namespace json = llvm::json;

namespace {
struct Arguments {
  cl::OptionCategory category{"tw-targets options"};
  cl::opt<std::string> what{cl::Positional, cl::desc("[TARGET[:CHIP]]"), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print JSON"), cl::cat(category)};
  cl::opt<bool> html{"html", cl::desc("Print one page that draws the chip"), cl::cat(category)};
  cl::opt<std::string> draw{"draw", cl::desc("Draw the layout of an operand (a, b or c) of a unit of the chip"),
                            cl::value_desc("UNIT:OPERAND"), cl::cat(category)};
  cl::opt<std::string> as{"as", cl::desc("With --draw: how its elements become those of another operand"),
                          cl::value_desc("UNIT:OPERAND"), cl::cat(category)};
  cl::opt<bool> measure{"measure", cl::Hidden}; // of earlier versions
  cl::list<std::string> plugins{"load-target", cl::desc("Load a target plugin"), cl::value_desc("library"),
                                cl::cat(category)};
};
} // namespace

static void printChip(const TargetDescription &chip, raw_ostream &os) {
  os << chip.target() << ":" << chip.chip() << "  " << llvm::format("%.0f MHz", chip.clockMHz()) << "\n";
  CodegenTarget codegen = chip.codegen();
  if (!codegen.triple.empty())
    os << "  code    " << codegen.triple << ", " << codegen.cpu << "\n";
  os << "  levels ";
  for (const Level &level : chip.levels())
    os << " " << level.count << " x " << level.name;
  os << "\n  memories: the level that each belongs to, bytes, bytes per clock, clocks\n";
  for (const Memory &memory : chip.memories()) {
    os << llvm::format("    %-11s %-9s %-10s", memory.name.c_str(), memory.level.c_str(),
                       html::bytes(memory.bytes).c_str());
    if (memory.kind == MemoryKind::RegisterFile)
      os << llvm::format(" %lld registers of %lld bytes\n", static_cast<long long>(memory.entries),
                         static_cast<long long>(memory.entryBytes));
    else
      os << llvm::format(" read %6.1f  write %6.1f  streaming write %6.1f  latency %5.0f   ", memory.bytesPerClock,
                         memory.writeBytesPerClock, memory.streamingWriteBytesPerClock, memory.latency)
         << memory.source << "\n";
  }
  for (const CopyEngine &copy : chip.copies())
    os << llvm::format("    %-22s", copy.name.c_str()) << copy.from << " to " << copy.to
       << llvm::format("  %.1f bytes per clock, latency %.0f   ", copy.bytesPerClock, copy.latency) << copy.source
       << "\n";
  if (!chip.units().empty())
    os << "  units                   m x n x k        types                  issue  latency  operations per clock\n";
  for (const MatrixUnit &unit : chip.units()) {
    std::string shape = formatv("{0} x {1} x {2}", unit.m, unit.n, unit.k);
    std::string types = formatv("{0} * {1} -> {2}", elementName(unit.a.element), elementName(unit.b.element),
                                elementName(unit.c.element));
    os << llvm::format("    %-22s %-15s %-22s %6.2f %7.2f %9.0f      ", unit.name.c_str(), shape.c_str(), types.c_str(),
                       unit.issue, unit.latency, unit.flopsPerClock())
       << unit.source << "\n";
  }
  if (!chip.numbers().empty())
    os << "  numbers\n";
  for (const Fact &fact : chip.numbers()) {
    const NumberField &field = fieldOf(fact.number);
    os << llvm::format("    %-20s %8.3f %-11s  ", field.name.data(), fact.value, unitName(field.unit).data())
       << fact.source << "\n";
  }
}

/// Targets with their chips, or one target's chips with their units.
static int list(llvm::ArrayRef<const Target *> targets, bool withUnits, bool asJson) {
  json::Array all;
  for (const Target *target : targets) {
    json::Array chips;
    if (!asJson)
      llvm::outs() << target->name() << "  " << target->summary() << "\n";
    std::vector<std::string> names = target->chips();
    if (target->defaultChip() != names.front())
      names.insert(names.begin(), target->defaultChip());
    for (const std::string &name : names) {
      auto chip = target->describe(name);
      if (!chip)
        return fail(chip.takeError());
      if (asJson && withUnits)
        chips.push_back(toJson(**chip));
      else if (asJson)
        chips.push_back(name);
      else {
        std::vector<std::string> units;
        for (const MatrixUnit &unit : (*chip)->units())
          units.push_back(unit.name.substr(unit.name.find('.') + 1));
        llvm::outs() << llvm::format("  %-27s ", (target->name() + ":" + name).str().c_str())
                     << (withUnits ? llvm::join(units, " ") : (*chip)->summary()) << "\n";
      }
    }
    all.push_back(json::Object{{"target", target->name()},
                               {"summary", target->summary()},
                               {"defaultChip", target->defaultChip()},
                               {"chips", std::move(chips)}});
  }
  if (asJson)
    llvm::outs() << formatv("{0:2}", json::Value(json::Object{{"targets", std::move(all)}})) << "\n";
  return 0;
}

/// The operand that "UNIT:c" names, "UNIT:scaleA" its scales or "UNIT:indexA" its index, the unit with or without its
/// target.
static llvm::Expected<const UnitOperand *> operandOf(const TargetDescription &chip, llvm::StringRef name) {
  auto [unitName, which] = name.rsplit(':');
  for (const MatrixUnit &unit : chip.units()) {
    llvm::StringRef own = unit.name;
    if (own != unitName && own.split('.').second != unitName)
      continue;
    if (which == "a" || which == "b" || which == "c")
      return which == "a" ? &unit.a : which == "b" ? &unit.b : &unit.c;
    std::string others;
    for (const UnitOperand *beside : unit.besides()) {
      const char *word = unit.sparsity && beside == &unit.sparsity->index ? "indexA"
                         : beside == &unit.scales->a                      ? "scaleA"
                                                                          : "scaleB";
      if (which == word)
        return beside;
      others += std::string(others.empty() ? ", UNIT:" : " or UNIT:") + word;
    }
    return llvm::createStringError("'" + name + "' names no operand: UNIT:a, UNIT:b or UNIT:c" + others);
  }
  return llvm::createStringError(chip.target() + ":" + chip.chip() + " has no unit '" + unitName + "'; tw-targets " +
                                 chip.target() + ":" + chip.chip() + " lists them");
}

static int draw(const TargetDescription &chip, const std::string &name, const std::string &other) {
  auto operand = operandOf(chip, name);
  if (!operand)
    return fail(operand.takeError());
  if (other.empty()) {
    llvm::outs() << drawLayout(name, **operand, chip.graph().blockMemory());
    return 0;
  }
  auto to = operandOf(chip, other);
  if (!to)
    return fail(to.takeError());
  auto drawing = drawConversion(name, **operand, other, **to);
  if (!drawing)
    return fail(drawing.takeError());
  llvm::outs() << *drawing;
  return 0;
}

static int run(const Arguments &arguments) {
  llvm::StringRef what = arguments.what;
  TargetRegistry &registry = TargetRegistry::get();
  for (const std::string &plugin : arguments.plugins) {
    if (llvm::Error error = registry.load(plugin))
      return fail(std::move(error));
  }
  if (llvm::Error error = registry.loadSearchPath())
    llvm::errs() << "tw-targets: warning: " << llvm::toString(std::move(error)) << "\n";
  if (arguments.measure)
    return fail(llvm::createStringError("tw-calibrate --target cpu --save measures the machine that it runs on"));
  if (arguments.html && (arguments.json || !what.contains(':')))
    return fail(llvm::createStringError("--html draws one chip: tw-targets TARGET:CHIP --html"));
  if (!arguments.draw.empty() && (arguments.json || arguments.html || !what.contains(':')))
    return fail(llvm::createStringError("--draw draws an operand of one chip's unit: tw-targets TARGET:CHIP "
                                        "--draw=UNIT:OPERAND"));
  if (!arguments.as.empty() && arguments.draw.empty())
    return fail(llvm::createStringError("--as says what becomes of the operand of --draw; give both"));
  if (what.empty())
    return list(registry.targets(), /*withUnits=*/false, arguments.json);
  if (!what.contains(':')) {
    llvm::Expected<const Target *> target = registry.target(what);
    return target ? list(*target, /*withUnits=*/true, arguments.json) : fail(target.takeError());
  }
  auto chip = registry.describe(what);
  if (!chip)
    return fail(chip.takeError());
  if (!arguments.draw.empty())
    return draw(**chip, arguments.draw, arguments.as);
  if (arguments.json)
    llvm::outs() << formatv("{0:2}", json::Value(toJson(**chip))) << "\n";
  else if (arguments.html)
    llvm::outs() << html::chipPage(**chip);
  else
    printChip(**chip, llvm::outs());
  return 0;
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  cl::HideUnrelatedOptions(arguments.category);
  cl::ParseCommandLineOptions(argc, argv, "Targets, chips and units, shown\n");
  registerLinkedTargets();
  return finish(run(arguments));
}
