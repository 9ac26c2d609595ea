//===- Estimate.cpp - What a program takes on a chip ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads decisions by their fields: a choice with `seconds` or `clocks` is a planned nest, its `unit`, `traffic` and
/// `..._clocks` say what it asks of the chip.
///
//===----------------------------------------------------------------------===//

#include "core/Explore/Estimate.h"
#include "core/Analysis/LoopRuns.h"
#include "core/Transforms/Host/StaticCounts.h"
#include "tilewright/Cores.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::explore;
namespace json = llvm::json;

/// A part that is busy for less of a nest's time does not bind it.
static constexpr double bindingPart = 0.5;

//===-- Calls -------------------------------------------------------------===//

namespace {
class CallCounter {
public:
  explicit CallCounter(ModuleOp module) {
    module.walk([&](func::CallOp call) { sites[call.getCallee()].push_back(call); });
    for (auto function : module.getOps<func::FuncOp>())
      functions[function.getName()] = function;
  }

  double of(StringRef name) {
    if (auto known = counts.find(name); known != counts.end())
      return known->second;
    auto function = functions.find(name);
    double count = function != functions.end() && function->second.isPublic() ? 1 : 0;
    counts[name] = count; // of a function that calls itself, once
    for (func::CallOp call : sites[name])
      count += of(call->getParentOfType<func::FuncOp>().getName()) * double(runsOf(call).value_or(1));
    return counts[name] = count;
  }

  llvm::StringMap<func::FuncOp> functions;

private:
  llvm::StringMap<SmallVector<func::CallOp>> sites;
  llvm::StringMap<double> counts;
};
} // namespace

llvm::StringMap<double> explore::callsOf(ModuleOp module) {
  CallCounter counter(module);
  llvm::StringMap<double> result;
  for (const auto &entry : counter.functions)
    result[entry.first()] = counter.of(entry.first());
  return result;
}

//===-- Pieces ------------------------------------------------------------===//

static std::string keyOf(StringRef kernel, StringRef location) { return (kernel + "\n" + location).str(); }

/// The counts of launches of plans, by location; those of several different launches there are left out.
static llvm::StringMap<json::Object> countsIn(ModuleOp program, const TargetDescription &chip) {
  llvm::StringMap<json::Object> result;
  if (!chip.graph().startsLaunches())
    return result;
  llvm::StringSet<> several;
  for (const auto &[kernel, counts] : staticCounts(program, chip)) {
    if (!counts.seconds || !counts.unknown.empty())
      continue;
    std::string location = DecisionLog::textOf(program.lookupSymbol(kernel)->getLoc());
    if (!result.try_emplace(location, toJson(counts, chip)).second)
      several.insert(location);
  }
  for (const auto &location : several)
    result.erase(location.getKey());
  return result;
}

/// Decisions that only rewrite nests, which are then planned by others.
static bool isPlan(StringRef decision) {
  return !llvm::is_contained({"split", "fuse-stencils", "sink-factor", "unroll-taps", "dependent-reductions",
                              "shared-kernel", "vectorize-nest", "column-sums"},
                             decision);
}

namespace {
/// The parts of a chip that have bandwidths and rates.
class Parts {
public:
  explicit Parts(const TargetDescription &chip)
      : chip(chip), clock(chip.clockMHz() * 1e6), backing(chip.graph().backing()) {
    const MachineGraph &graph = chip.graph();
    if (const Level *level = graph.parallelLevel())
      members = double(level->count);
    staging = graph.blockMemory() ? graph.blockMemory() : graph.threadMemory();
    if (graph.threadMemory() && graph.backing())
      cores = CoreHierarchy::of(chip);
  }

  Piece read(const json::Object &record, const json::Object *predicted) const {
    Piece piece;
    piece.kernel = record.getString("kernel").value_or("").str();
    piece.location = record.getString("location").value_or("").str();
    piece.decision = record.getString("decision").value_or("").str();
    const json::Object &choice = *record.getObject("choice");
    piece.seconds = choice.getNumber("seconds").value_or(choice.getNumber("clocks").value_or(0) / clock);
    readTraffic(record, choice, predicted, piece);
    readUnit(choice, predicted, piece);
    readCore(choice, piece);
    piece.binds = bindingOf(piece);
    return piece;
  }

private:
  void readTraffic(const json::Object &record, const json::Object &choice, const json::Object *predicted,
                   Piece &piece) const {
    const json::Object *traffic = record.getObject("traffic");
    auto move = [&](const Memory *memory, const char *way, std::optional<double> bytes) {
      if (memory && bytes && *bytes > 0)
        piece.bytes[memory->name + " " + way] = *bytes;
    };
    if (traffic)
      piece.operations = traffic->getNumber("operations").value_or(0);
    if (predicted) {
      move(backing, "read", predicted->getNumber("global_read_bytes"));
      move(backing, "written", predicted->getNumber("global_written_bytes"));
      move(staging, "read", predicted->getNumber("scratchpad_read_bytes"));
      move(staging, "written", predicted->getNumber("scratchpad_written_bytes"));
    } else if (traffic && traffic->getNumber("read_bytes")) {
      move(backing, "read", traffic->getNumber("read_bytes"));
      move(backing, "written", traffic->getNumber("written_bytes"));
    } else if (traffic) { // each array once
      move(backing, "read", traffic->getNumber("array_bytes"));
    } else if (cores && cores->in && cores->out) {
      double all = choice.getNumber("members").value_or(1);
      move(backing, "read", choice.getNumber("in_clocks").value_or(0) * cores->in->bytesPerClock * all);
      move(backing, "written", choice.getNumber("out_clocks").value_or(0) * cores->out->bytesPerClock * all);
    }
    // What engines move, the plans of cores say.
    for (const auto &[memory, shared] : {std::pair(backing, true), std::pair(staging, false)}) {
      if (!memory || memory->bytesPerClock <= 0 || cores)
        continue;
      double bytes = piece.bytes[memory->name + " read"] + piece.bytes[memory->name + " written"];
      bool isWhole = shared && (chip.graph().isOfWholeChip(*memory) || members == 1);
      if (bytes > 0)
        piece.busy[memory->name] = bytes / (memory->bytesPerClock * clock * (isWhole ? 1 : members));
    }
    std::erase_if(piece.bytes, [](const auto &entry) { return entry.second == 0; });
  }

  void readUnit(const json::Object &choice, const json::Object *predicted, Piece &piece) const {
    const MatrixUnit *unit = chip.unit(choice.getString("unit").value_or(""));
    if (!unit)
      return;
    piece.unit = unit->name;
    double all = choice.getNumber("threads").value_or(members);
    if (auto part = choice.getNumber("busy"))
      piece.busy["unit"] = *part * piece.seconds;
    else if (std::optional<double> cycles = predicted ? predicted->getNumber("unit_issue_cycles") : std::nullopt)
      piece.busy["unit"] = *cycles / (clock * all);
    else if (piece.operations > 0)
      piece.busy["unit"] = piece.operations / (unit->flopsPerClock() * clock * all);
  }

  /// Plans of cores say how long each of their parts is busy: of products in a step of k, of nests in all.
  void readCore(const json::Object &choice, Piece &piece) const {
    double steps = 1;
    if (auto ofStep = choice.getNumber("unit_clocks"); ofStep && *ofStep > 0)
      steps = choice.getNumber("busy").value_or(0) * piece.seconds * clock / *ofStep;
    for (auto [key, part] : {std::pair("copy_clocks", "copies"), std::pair("in_clocks", "copies in"),
                             std::pair("out_clocks", "copies out"), std::pair("core_clocks", "core instructions")})
      if (auto clocks = choice.getNumber(key))
        piece.busy[part] = *clocks * steps / clock;
    if (auto clocks = choice.getNumber("busy_clocks"))
      piece.busy["instructions"] = *clocks / clock;
  }

  static std::string bindingOf(const Piece &piece) {
    std::pair<double, std::string> most{0, ""};
    for (const auto &[part, seconds] : piece.busy)
      if (seconds > most.first)
        most = {seconds, part};
    return most.first >= bindingPart * piece.seconds && !most.second.empty() ? most.second : "latency";
  }

  const TargetDescription &chip;
  double clock, members = 1;
  const Memory *backing, *staging = nullptr;
  std::optional<CoreHierarchy> cores;
};
} // namespace

//===-- Estimates ---------------------------------------------------------===//

Estimate explore::estimate(const json::Array &decisions, ModuleOp program, const llvm::StringMap<double> &calls,
                           const TargetDescription &chip) {
  const Parts parts(chip);
  const llvm::StringMap<json::Object> launches = countsIn(program, chip);
  // A chain that becomes one program of tiles has its time there.
  llvm::StringSet<> tilePrograms;
  for (const json::Value &each : decisions)
    if (const json::Object *record = each.getAsObject(); record && record->getString("decision") == "tile-program")
      tilePrograms.insert(keyOf(record->getString("kernel").value_or(""), record->getString("location").value_or("")));
  Estimate result;
  for (const json::Value &each : decisions) {
    const json::Object *record = each.getAsObject();
    const json::Object *choice = record ? record->getObject("choice") : nullptr;
    if (!choice || !isPlan(record->getString("decision").value_or("")) ||
        (!choice->getNumber("seconds") && !choice->getNumber("clocks")))
      continue;
    StringRef kernel = record->getString("kernel").value_or("");
    std::string key = keyOf(kernel, record->getString("location").value_or(""));
    if (record->getString("decision") == "schedule-chain" && tilePrograms.contains(key))
      continue;
    auto counts = launches.find(record->getString("location").value_or(""));
    Piece piece = parts.read(*record, counts == launches.end() ? nullptr : &counts->second);
    auto called = calls.find(kernel);
    if (!record->getNumber("runs"))
      result.unknown.push_back(piece.location);
    piece.runs = record->getNumber("runs").value_or(1) * (called == calls.end() ? 1 : called->second);
    result.seconds += piece.seconds * piece.runs;
    result.operations += piece.operations * piece.runs;
    result.binds[piece.binds] += piece.seconds * piece.runs;
    for (const auto &[edge, bytes] : piece.bytes)
      result.bytes[edge] += bytes * piece.runs;
    if (!piece.unit.empty()) {
      result.unitOperations += piece.operations * piece.runs;
      if (auto busy = piece.busy.find("unit"); busy != piece.busy.end())
        result.units[piece.unit] += std::min(busy->second, piece.seconds) * piece.runs;
    }
    result.pieces.push_back(std::move(piece));
  }
  return result;
}

std::string explore::bindsMost(const std::map<std::string, double> &binds) {
  auto most = llvm::max_element(binds, [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == binds.end() ? "nothing" : most->first;
}

double Estimate::utilisation() const {
  double busy = 0;
  for (const auto &[unit, seconds] : units)
    busy += seconds;
  return seconds > 0 ? std::min(1.0, busy / this->seconds) : 0;
}

double Estimate::backingBytes(const TargetDescription &chip) const {
  const Memory *backing = chip.graph().backing();
  double sum = 0;
  for (const auto &[edge, moved] : bytes)
    if (backing && StringRef(edge).starts_with(backing->name + " "))
      sum += moved;
  return sum;
}
