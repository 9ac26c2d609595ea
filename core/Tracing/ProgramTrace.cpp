//===- ProgramTrace.cpp - One call of a program, over time ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Listens to the compiler, the runtime and the emulator, then writes the groups of
/// rows one after the other.
///
//===----------------------------------------------------------------------===//

#include "core/Tracing/ProgramTrace.h"
#include "tilewright/Target.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace tilewright;
namespace json = llvm::json;

static constexpr const char *hostClock = "host clock", *deviceClock = "device clock",
                            *simulatedClock = "simulated clock";
/// As many events as the emulator keeps.
static constexpr size_t mostEngineEvents = 2000000;

ProgramTrace::ProgramTrace(mlir::MLIRContext &context, const std::string &target)
    : context(context), target(target), zero(secondsNow()), lastStage(zero),
      profiler{TW_PROFILER_VERSION, /*measures=*/1, this, onBegin, onEnd, nullptr} {}

ProgramTrace::~ProgramTrace() = default;

//===-- Listening ---------------------------------------------------------===//

void ProgramTrace::watch(RunOptions &options) {
  options.place.traced = options.place.isHost() || options.place.model;
  place = options.place;
  isCompiling = true;
  predictions.emplace(context, target);
  lastStage = secondsNow();
  options.compile.afterStage = [this](unsigned stage, mlir::ModuleOp module) {
    if (!isCompiling)
      return;
    spent(llvm::formatv("stage {0}: {1}", stage, stageName(stage)).str(), lastStage);
    predictions->afterStage(stage, module);
    lastStage = secondsNow();
  };
}

void ProgramTrace::spent(llvm::StringRef what, double begin) {
  compilation.push_back({{}, what.str(), "", begin, secondsNow(), {}});
}

void ProgramTrace::onBegin(void *self, const tw_activity *activity) {
  Activity one{*activity, activity->name, activity->device ? activity->device : "", secondsNow(), 0, {}};
  static_cast<ProgramTrace *>(self)->open.push_back(std::move(one));
}

void ProgramTrace::onEnd(void *self, const tw_activity *activity) {
  auto &trace = *static_cast<ProgramTrace *>(self);
  Activity one = std::move(trace.open.back());
  trace.open.pop_back();
  one.end = secondsNow();
  one.facts.seconds = activity->seconds;
  if (trace.emulated && activity->kind == TW_ACTIVITY_KERNEL)
    one.simulated = trace.emulated->launchSeconds();
  trace.activities.push_back(std::move(one));
}

llvm::Error ProgramTrace::execute(Run &run) {
  Executable &code = run.executable();
  isCompiling = false;
  isPredicted = run.sizes().empty();
  emulated = code.emulated();
  if (!emulated && !place.process)
    if (llvm::Error error = run.execute())
      return error;
  if (emulated)
    emulated->startTrace();
  tw_error failure;
  if (tw_profiler_add(&profiler, &failure) != TW_OK)
    return llvm::createStringError(failure.message);
  KernelTrace kernels;
  double begin = secondsNow();
  llvm::Error error = run.execute();
  double end = secondsNow();
  tw_profiler_remove(&profiler);
  if (error)
    return error;

  written.note("format", 1);
  written.note("device", code.placed() ? code.placed()->describe() : place.model ? "functional models" : "host");
  written.note("target", target);
  written.note("function", code.signature().name);
  written.note("sizes", json::Array(run.sizes()));
  written.note("predictions", isPredicted ? "of the cost models, for this chip"
                                          : "none: the program has dynamic sizes, which the models only assume");
  writeCompilation(code);
  writeCall(run, begin, end);
  if (place.traced)
    writeThreads(code, kernels.take());
  writeLaunches();
  if (emulated)
    writeEngines(*emulated);
  return llvm::Error::success();
}

//===-- Writing -----------------------------------------------------------===//

void ProgramTrace::writeCompilation(const Executable &code) {
  unsigned process = written.process("compiler, host clock", "host clock: since the command started");
  unsigned row = written.row(process, "stages");
  for (const Activity &each : compilation)
    written.span(row, each.name, "compile", each.begin - zero, each.end - each.begin);
  const CompileTimes &times = code.times();
  for (auto [name, seconds] : {std::pair("code generation", times.llvm), {"loading", times.link}}) {
    if (seconds > 0)
      written.span(row, name, "compile", lastStage - zero, seconds);
    lastStage += seconds;
  }
}

json::Object ProgramTrace::compare(llvm::StringRef kernel, double seconds, llvm::StringRef clock) {
  json::Object result;
  const Prediction *prediction = isPredicted ? predictions->of(kernel) : nullptr;
  if (prediction) {
    result["predicted_seconds"] = prediction->seconds;
    if (prediction->bytes)
      result["bytes"] = *prediction->bytes;
    if (!prediction->location.empty())
      result["location"] = prediction->location;
  }
  if (clock.empty() || seconds < 0)
    return result;
  result["measured_seconds"] = seconds;
  result["measured_by"] = clock;
  // Functional models on this machine take no time of the chip, and what is behind a pipe may be a simulator.
  bool isOfChip = !place.model && (place.isHost() || clock != hostClock);
  if (prediction && prediction->seconds > 0 && isOfChip)
    result["ratio"] = seconds / prediction->seconds;
  return result;
}

json::Object ProgramTrace::describeLaunch(const Activity &launch) {
  const tw_activity &facts = launch.facts;
  const bool isSimulated = launch.simulated.second > launch.simulated.first;
  double seconds = isSimulated ? launch.simulated.second - launch.simulated.first : facts.seconds;
  llvm::StringRef clock = isSimulated ? simulatedClock : seconds >= 0 ? deviceClock : "";
  if (clock.empty() && !emulated) { // a device without a clock: what the host sees
    seconds = launch.end - launch.begin;
    clock = hostClock;
  }
  json::Object result = compare(launch.name, seconds, clock);
  result["kernel"] = launch.name;
  result["grid"] = json::Array{facts.grid[0], facts.grid[1], facts.grid[2]};
  result["threads"] = facts.threads;
  if (facts.cluster > 1)
    result["cluster"] = facts.cluster;
  if (facts.scratchpad)
    result["scratchpad_bytes"] = facts.scratchpad;
  return result;
}

void ProgramTrace::writeCall(const Run &run, double begin, double end) {
  static const std::map<uint32_t, const char *> categories = {{TW_ACTIVITY_PROGRAM, "program"},
                                                              {TW_ACTIVITY_KERNEL, "launch"},
                                                              {TW_ACTIVITY_COPY_IN, "copy"},
                                                              {TW_ACTIVITY_COPY_OUT, "copy"},
                                                              {TW_ACTIVITY_WAIT, "wait"}};
  unsigned process = written.process("call, host clock", "host clock: since the command started");
  unsigned row = written.row(process, "this thread");
  json::Object whole{{"seconds", end - begin}};
  if (const Prediction *prediction = predictions->of(run.executable().signature().name); prediction && isPredicted)
    whole["predicted_seconds"] = prediction->seconds;
  written.span(row, "call of " + run.executable().signature().name, "call", begin - zero, end - begin,
               std::move(whole));
  for (const Activity &each : activities) {
    json::Object arguments;
    if (each.facts.kind == TW_ACTIVITY_KERNEL)
      arguments = describeLaunch(each);
    else if (each.facts.bytes >= 0)
      arguments["bytes"] = each.facts.bytes;
    if (!each.device.empty())
      arguments["device"] = each.device;
    written.span(row, each.name, categories.at(each.facts.kind), each.begin - zero, each.end - each.begin,
                 std::move(arguments));
  }
}

void ProgramTrace::writeThreads(const Executable &code, llvm::ArrayRef<KernelSpan> spans) {
  unsigned process = written.process("kernels by thread, host clock", "host clock: since the command started");
  std::map<unsigned, unsigned> rows;
  double outermost = -1; // end of the last one
  std::vector<KernelSpan> sorted(spans);
  llvm::stable_sort(sorted, [](const KernelSpan &a, const KernelSpan &b) {
    return std::tie(a.thread, a.begin, b.end) < std::tie(b.thread, b.begin, a.end);
  });
  for (const KernelSpan &span : sorted) {
    if (auto [row, isNew] = rows.try_emplace(span.thread, 0); isNew)
      row->second = written.row(process, llvm::formatv("thread {0}", span.thread).str());
    const mlir::NameLoc site = code.tracedSites()[span.site];
    const llvm::StringRef kernel = site.getName();
    const double seconds = span.end - span.begin;
    json::Object arguments = span.isPart ? json::Object{{"measured_seconds", seconds}, {"measured_by", hostClock}}
                                         : compare(kernel, seconds, hostClock);
    arguments["kernel"] = kernel;
    arguments["location"] = DecisionLog::textOf(site.getChildLoc());
    written.span(rows[span.thread], span.isPart ? (kernel + ", this thread's part").str() : kernel,
                 span.isPart ? "part" : "kernel", span.begin - zero, seconds, json::Object(arguments));
    if (span.isPart || span.thread != 0 || span.begin < outermost)
      continue;
    outermost = span.end;
    ++sums.kernels;
    sums.measured += seconds;
    if (auto predicted = arguments.getNumber("predicted_seconds"); predicted && arguments.getNumber("ratio")) {
      ++sums.compared;
      sums.comparable += seconds;
      sums.predicted += *predicted;
    }
  }
  if (sums.kernels)
    sums.clock = hostClock;
}

void ProgramTrace::writeLaunches() {
  std::optional<unsigned> row;
  double at = 0, first = -1;
  for (const Activity &each : activities) {
    if (each.facts.kind != TW_ACTIVITY_KERNEL)
      continue;
    json::Object arguments = describeLaunch(each);
    ++sums.kernels;
    auto measured = arguments.getNumber("measured_seconds");
    if (!measured)
      continue;
    sums.measured += *measured;
    sums.clock = arguments.getString("measured_by")->str();
    if (auto predicted = arguments.getNumber("predicted_seconds"); predicted && arguments.getNumber("ratio")) {
      ++sums.compared;
      sums.comparable += *measured;
      sums.predicted += *predicted;
    }
    if (sums.clock == hostClock) // its span is in the call
      continue;
    const bool isSimulated = sums.clock == simulatedClock;
    if (first < 0)
      first = each.simulated.first;
    if (!row)
      row =
          written.row(written.process("launches, " + sums.clock,
                                      isSimulated ? "simulated clock: clocks of the chip at its clock rate, since the "
                                                    "first launch"
                                                  : "device clock: launches one after the other, without what was "
                                                    "between them"),
                      "launches");
    written.span(*row, each.name, "launch", isSimulated ? each.simulated.first - first : at, *measured,
                 std::move(arguments));
    at += *measured;
  }
}

void ProgramTrace::writeEngines(const EmulatedProgram &program) {
  auto chip = TargetRegistry::get().describe(target);
  if (!chip) // it was compiled for
    return llvm::consumeError(chip.takeError());
  const double rate = (*chip)->clockMHz() * 1e6;
  double first = 0;
  for (const Activity &each : llvm::reverse(activities))
    if (each.facts.kind == TW_ACTIVITY_KERNEL)
      first = each.simulated.first;
  std::map<uint64_t, unsigned> blocks;
  for (const TraceEvent &event : program.trace())
    blocks[event.block] = 0;
  for (auto &[block, process] : blocks)
    process = written.process(llvm::formatv("block {0}, simulated clock", block).str(),
                              "simulated clock: clocks of the chip at its clock rate, since the first launch");
  std::map<std::pair<uint64_t, std::string>, unsigned> rows;
  for (const TraceEvent &event : program.trace()) {
    auto [row, isNew] = rows.try_emplace({event.block, event.engine}, 0);
    if (isNew)
      row->second = written.row(blocks[event.block], event.engine);
    written.span(row->second, event.kernel, event.engine, event.begin / rate - first, event.cycles / rate,
                 json::Object{{"clocks", event.cycles}, {"bytes", event.bytes}});
  }
  if (program.trace().size() >= mostEngineEvents)
    written.note("left_out", "events of engines after the first two million");
}
