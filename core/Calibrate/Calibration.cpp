//===- Calibration.cpp - The numbers of a record, measured ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One function for each kind of record; each adds its kernels and what they say.
///
//===----------------------------------------------------------------------===//

#include "core/Calibrate/Calibration.h"
#include "core/CostModel/Machine/BankTraffic.h"
#include "core/Machine/ChipFields.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <functional>
#include <set>

using namespace tilewright;
using namespace tilewright::calibrate;
using llvm::formatv;

bool MeasuredField::differs() const { return std::fabs(record - measured) > 0.05 * std::fabs(measured); }

namespace {
using Engine = KernelWriter::Engine;
/// Numbers of equal parts in the two kernels of a slope.
constexpr int64_t few = 8, many = 24;

/// The kernels of one chip and what follows from them.
class Plan {
public:
  Plan(const TargetDescription &chip, const CoreHierarchy &cores)
      : chip(chip), cores(cores), vectorBytes(std::max<int64_t>(8, chip.vectorRegisters().second)), writer(cores) {}

  llvm::Expected<std::vector<MeasuredField>> measure(Clocks &clocks);

private:
  void slope(const std::string &name, llvm::function_ref<void(int64_t)> part);
  double perPart(const std::string &name) const { return (at(name + "_many") - at(name + "_few")) / (many - few); }
  double at(const std::string &name) const { return measured.lookup(name); }
  void add(const std::string &path, std::function<double()> value) { fields.emplace_back(path, std::move(value)); }

  /// Clocks of commands that follow each other, and what the first one takes beyond.
  struct QueueClocks {
    double beforeFirst, each;
  };
  void addQueue(const std::string &path, const std::string &name, int64_t depth, Engine engine,
                llvm::function_ref<void(int64_t)> command, std::function<QueueClocks()> clocks);
  void addCopies(const CopyEngine &engine, bool in);
  void addAccesses();
  void addUnit(const MatrixUnit &unit, bool isFirst);
  void addBanks(const MatrixUnit &unit);
  void addGathers();

  const TargetDescription &chip;
  const CoreHierarchy &cores;
  int64_t vectorBytes;
  KernelWriter writer;
  llvm::StringMap<double> measured; // clocks by kernel
  std::vector<std::pair<std::string, std::function<double()>>> fields;
};
} // namespace

/// Two kernels with `few` and `many` of the same part.
void Plan::slope(const std::string &name, llvm::function_ref<void(int64_t)> part) {
  for (auto [suffix, count] : {std::pair("_few", few), {"_many", many}}) {
    writer.begin(name + suffix);
    for (int64_t i = 0; i < count; ++i)
      part(i);
  }
}

/// Latency and bandwidth by commands of different lengths, back to back in the queue; its depth by how long the core is
/// kept from other work.
void Plan::addCopies(const CopyEngine &engine, bool in) {
  const Engine word = in ? Engine::In : Engine::Out;
  const int64_t rowBytes = 1024, shortRows = 1, longRows = 33;
  for (int64_t rows : {shortRows, longRows})
    for (auto [suffix, count] : {std::pair("_few", few), {"_many", many}}) {
      writer.begin(formatv("{0}_{1}{2}", engine.name, rows, suffix).str());
      for (int64_t i = 0; i < count; ++i)
        writer.copy(in, rows, rowBytes);
      writer.await(word);
    }
  auto beats = [=, this, name = engine.name] {
    return (perPart(formatv("{0}_{1}", name, longRows)) - perPart(formatv("{0}_{1}", name, shortRows))) /
           (longRows - shortRows);
  };
  const std::string path = "copies." + engine.name;
  add(path + ".bytesPerClock", [=] { return rowBytes / beats(); });
  add(path + ".latency",
      [=, this, name = engine.name] { return perPart(formatv("{0}_{1}", name, shortRows)) - shortRows * beats(); });
  addQueue(
      path, engine.name, engine.queueDepth, word, [&](int64_t) { writer.copy(in, shortRows, rowBytes); },
      [=, this, name = engine.name] { return QueueClocks{0, perPart(formatv("{0}_{1}", name, shortRows))}; });
}

/// The depth of a queue by how long `command` keeps the core from other work; `clocks`: what its commands take.
void Plan::addQueue(const std::string &path, const std::string &name, int64_t depth, Engine engine,
                    llvm::function_ref<void(int64_t)> command, std::function<QueueClocks()> clocks) {
  if (depth < 1 || !cores.reachesGlobal)
    return;
  // The core goes on when all but `depth` of its commands have left; its own work then takes longer than these.
  const int64_t commands = 4 * depth, loads = 64 * depth;
  auto work = [&] {
    for (int64_t i = 0; i < loads; ++i)
      writer.access(/*isLoad=*/true, /*inGlobal=*/true, vectorBytes);
  };
  writer.begin(name + "_queue");
  for (int64_t i = 0; i < commands; ++i)
    command(i);
  work();
  writer.await(engine);
  writer.begin(name + "_work");
  work();
  add(path + ".queueDepth", [=, this] {
    const double stalled = at(name + "_queue") - at(name + "_work");
    return std::round(commands - (stalled - clocks().beforeFirst) / clocks().each);
  });
}

/// The core's own loads and stores: of global memory by two sizes, of the scratchpad by registers.
void Plan::addAccesses() {
  slope("load", [&](int64_t) { writer.access(true, false, vectorBytes); });
  slope("store", [&](int64_t) { writer.access(false, false, vectorBytes); });
  for (const char *name : {"load", "store"})
    if (chip.number(name == std::string("load") ? Number::Load : Number::Store))
      add(formatv("numbers.{0}", name), [=, this] { return 1 / perPart(name); });
  if (!cores.reachesGlobal)
    return;
  for (const CopyEngine &engine : chip.copies()) {
    const Memory *to = chip.memory(engine.to);
    if (engine.asynchronous || engine.from != cores.global->name || !to || to->kind != MemoryKind::RegisterFile)
      continue;
    slope(engine.name + "_short", [&](int64_t) { writer.access(true, true, vectorBytes / 2); });
    slope(engine.name + "_long", [&](int64_t) { writer.access(true, true, vectorBytes); });
    auto perByte = [=, this, name = engine.name] {
      return (perPart(name + "_long") - perPart(name + "_short")) / (vectorBytes - vectorBytes / 2);
    };
    add("copies." + engine.name + ".bytesPerClock", [=] { return 1 / perByte(); });
    if (engine.queueDepth == 1) // else latencies are hidden behind each other
      add("copies." + engine.name + ".latency",
          [=, this, name = engine.name] { return perPart(name + "_long") - vectorBytes * perByte(); });
  }
}

void Plan::addUnit(const MatrixUnit &unit, bool isFirst) {
  const std::string path = "units." + llvm::StringRef(unit.name).rsplit('.').second.str();
  const std::string name = llvm::StringRef(unit.name).rsplit('.').second.str();
  const int64_t a = unit.k * bitWidth(unit.a.element) / 8, b = unit.n * bitWidth(unit.b.element) / 8;
  for (auto [kind, tiles] : {std::pair("_held", 1), {"_loaded", 2}})
    for (auto [suffix, count] : {std::pair("_few", few), {"_many", many}}) {
      writer.begin(name + kind + suffix);
      for (int64_t i = 0; i < count; ++i)
        writer.multiply(unit, a, b, i % tiles);
      writer.await(Engine::Unit);
    }
  writer.begin(name + "_one");
  writer.multiply(unit, a, b, 0);
  writer.await(Engine::Unit);
  writer.begin(name + "_none");
  writer.await(Engine::Unit);
  auto issue = [=, this] { return perPart(name + "_held"); };
  auto load = [=, this] { return perPart(name + "_loaded") - issue(); };
  add(path + ".issue", issue);
  if (unit.stationary)
    add(path + ".loadStationary", load);
  // One instruction loads the stationary operand before it starts.
  const bool hasLoad = unit.stationary != 0;
  add(path + ".latency", [=, this] { return at(name + "_one") - at(name + "_none") - (hasLoad ? load() : 0); });
  addQueue(
      path, name, unit.queueDepth, Engine::Unit, [&](int64_t) { writer.multiply(unit, a, b, 0); },
      [=] { return QueueClocks{hasLoad ? load() : 0, issue()}; });
  if (isFirst && unit.stationary == 'B')
    addBanks(unit);
}

/// Rows of B at growing pitches: the banks are as many as explain how the loads grow.
void Plan::addBanks(const MatrixUnit &unit) {
  const Memory &memory = *cores.scratchpad;
  if (memory.banks < 1 || memory.bankBytes < 1)
    return;
  const std::string name = llvm::StringRef(unit.name).rsplit('.').second.str() + "_pitch";
  const int64_t rowBytes = unit.n * bitWidth(unit.b.element) / 8, a = unit.k * bitWidth(unit.a.element) / 8;
  std::vector<int64_t> pitches;
  for (int64_t words = 1; words <= 64 && words * memory.bankBytes * unit.k <= 65536; words *= 2)
    pitches.push_back(words * memory.bankBytes);
  for (int64_t pitch : pitches)
    for (auto [suffix, count] : {std::pair("_few", few), {"_many", many}}) {
      writer.begin(formatv("{0}{1}{2}", name, pitch, suffix).str());
      for (int64_t i = 0; i < count; ++i)
        writer.multiply(unit, a, pitch, i % 2);
      writer.await(Engine::Unit);
    }
  add("memories." + memory.name + ".banks", [=, this, &unit, &memory] {
    MatrixUnit as = unit;
    as.loadStationary = perPart(llvm::StringRef(unit.name).rsplit('.').second.str() + "_loaded") - unit.issue;
    double best = 0, least = HUGE_VAL;
    for (int64_t banks = 1; banks <= 64; banks *= 2) {
      Memory candidate = memory;
      candidate.banks = banks;
      double error = 0;
      for (int64_t pitch : pitches) {
        const RowStream moving{0, a, unit.m, a}, held{0, pitch, unit.k, rowBytes};
        const auto waits = bankWaits(trafficOf(as, moving, held, true), candidate, [](int64_t) { return 0; });
        error += std::fabs(perPart(formatv("{0}{1}", name, pitch)) - unit.issue - as.loadStationary - waits);
      }
      if (error < least) {
        least = error;
        best = banks;
      }
    }
    return best;
  });
}

void Plan::addGathers() {
  std::set<int64_t> sizes;
  for (const VectorOp &op : chip.vectorOps()) {
    const int64_t bytes = bitWidth(op.from) / 8;
    if (op.kind != "gather" || bytes < 1 || !sizes.insert(bytes).second)
      continue;
    const std::string name = llvm::StringRef(op.name).rsplit('.').second.str();
    slope(name, [&](int64_t) { writer.gather(op.lanes, bytes); });
    // Each gather is stored by registers.
    const double stores = llvm::divideCeil(op.lanes * bytes, vectorBytes);
    add("vectorOps." + name + ".issue", [=, this] { return perPart(name) - stores * perPart("store"); });
  }
}

llvm::Expected<std::vector<MeasuredField>> Plan::measure(Clocks &clocks) {
  if (cores.in && cores.in->asynchronous)
    addCopies(*cores.in, true);
  if (cores.out && cores.out->asynchronous && cores.out->from == cores.scratchpad->name)
    addCopies(*cores.out, false);
  addAccesses();
  bool isFirst = true;
  for (const MatrixUnit &unit : chip.units()) {
    const bool isAddressed = unit.a.memory == cores.scratchpad->name && unit.b.memory == cores.scratchpad->name &&
                             cores.accumulator && unit.c.memory == cores.accumulator->name;
    if (!isAddressed || unit.completion != Completion::WaitGroup)
      continue;
    addUnit(unit, isFirst);
    isFirst = false;
  }
  addGathers();
  auto counted = clocks.run(writer.module(), writer.kernels());
  if (!counted)
    return counted.takeError();
  for (auto [kernel, value] : llvm::zip_equal(writer.kernels(), *counted))
    measured[kernel] = value;
  const ChipTable table = tableOf(chip);
  std::vector<MeasuredField> result;
  for (auto &[path, value] : fields) {
    auto record = fieldAt(table, path);
    if (!record)
      return record.takeError();
    result.push_back({path, *record, value()});
  }
  return result;
}

llvm::Expected<std::vector<MeasuredField>> calibrate::measureFields(const TargetDescription &chip, Clocks &clocks) {
  const CoreHierarchy cores = CoreHierarchy::of(chip);
  if (!cores.global || !cores.scratchpad)
    return llvm::createStringError(formatv("{0}:{1} is no chip of cores with scratchpads, for which there are kernels",
                                           chip.target(), chip.chip()));
  return Plan(chip, cores).measure(clocks);
}

std::string calibrate::assignmentsOf(llvm::ArrayRef<MeasuredField> fields) {
  std::string text;
  for (const MeasuredField &field : fields)
    if (field.differs())
      text += formatv("{0}{1}={2:f3}", text.empty() ? "" : ",", field.path, field.measured);
  return text;
}
