//===- tw-run.cpp - Compile a program, run it, compare, measure -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tw-run FILE.mlir`: compiles one function in memory and calls it with arrays
/// from files or random ones. See docs/tools.md.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/HostCheck.h"
#include "core/Pipelines/Run.h"
#include "core/Runtime/Npy.h"
#include "core/Tools/Command.h"
#include "core/Tools/Prove.h"
#include "core/Tracing/ProgramTrace.h"
#include "tilewright/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace tilewright;
namespace cl = llvm::cl;

namespace {

struct Arguments {
  cl::OptionCategory category{"tw-run options"};
  ProgramOptions program{category};
  cl::list<std::string> inputs{"input", cl::desc(".npy file of the next input (default: random)"), cl::cat(category)};
  cl::list<std::string> outputs{"output", cl::desc(".npy file for the next output"), cl::cat(category)};
  cl::list<int64_t> sizeList{"sizes", cl::desc("Dynamic sizes in order of first appearance"), cl::CommaSeparated,
                             cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Seed of random inputs"), cl::init(0), cl::cat(category)};
  cl::opt<bool> verify{"verify", cl::desc("Compare with the plain path in float64"), cl::cat(category)};
  cl::opt<bool> verifyStages{"verify-stages", cl::desc("Run the program as each stage leaves it"), cl::cat(category)};
  ProveOption prove{category};
  cl::opt<bool> benchmark{"benchmark", cl::desc("Measure the time of a call"), cl::cat(category)};
  cl::opt<std::string> device{"device",
                              cl::desc("Where the program runs: host, emulator, model, gpu, exec:PROG, or auto: the "
                                       "first of host, emulator and model that runs the chip's programs"),
                              cl::init("host"), cl::cat(category)};
  cl::opt<double> timeout{"timeout", cl::desc("Seconds that a request to exec:PROG may take"), cl::init(60),
                          cl::cat(category)};
  cl::opt<bool> modes{"modes", cl::desc("Emulate every order of lanes and asynchronous engines"), cl::cat(category)};
  cl::opt<std::string> trace{"trace", cl::desc("Write what one call does over time, for Perfetto (docs/tracing.md)"),
                             cl::value_desc("OUT.json"), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print one JSON object (docs/json.md)"), cl::cat(category)};
  cl::opt<bool> timeCompile{"time-compile", cl::desc("Compile twice, report the second time"), cl::cat(category)};
};

} // namespace

static llvm::json::Object describe(const Array &array) {
  return llvm::json::Object{{"type", nameOf(array.type())}, {"shape", llvm::json::Array(array.shape())}};
}

/// One line on a terminal that says what is going on; nothing in a pipe.
class Progress {
public:
  void show(llvm::StringRef what) {
    done();
    if (!llvm::errs().is_displayed())
      return;
    llvm::errs() << what << " ...";
    llvm::errs().flush();
    shown = true;
  }
  void done() {
    if (shown)
      llvm::errs() << "\r\033[K";
    shown = false;
  }

private:
  bool shown = false;
};

/// The first elements of an array.
static std::string preview(const Array &array) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t shown = std::min<int64_t>(array.count(), 8);
  for (int64_t i = 0; i < shown; ++i)
    os << (i ? " " : "") << llvm::formatv("{0}", llvm::format("%.6g", array.get(i)));
  if (shown < array.count())
    os << " ...";
  return text;
}

static llvm::json::Object toJson(const Comparison &comparison) {
  auto number = [](double value) -> llvm::json::Value {
    return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
  };
  return llvm::json::Object{{"passed", comparison.passed},
                            {"max_error", number(comparison.maxError)},
                            {"error_over_bound", number(comparison.worst)},
                            {"bound", number(comparison.bound)},
                            {"looseness", number(comparison.looseness)},
                            {"wrong", comparison.wrong},
                            {"unjudged", comparison.unjudged},
                            {"worst_index", comparison.worstIndex},
                            {"got", number(comparison.got)},
                            {"expected", number(comparison.expected)}};
}

static std::string describe(const Comparison &comparison) {
  std::string text;
  if (comparison.passed)
    text = llvm::formatv("largest error {0:e2}, {1:f3} of the bound", comparison.maxError, comparison.worst);
  else if (std::isnan(comparison.expected))
    text = llvm::formatv(
        "WRONG: element {0} is {1}; the reference, float64 on the plain path, makes NaN of these inputs, which "
        "nothing can be compared with",
        comparison.worstIndex, comparison.got);
  else
    text = llvm::formatv("WRONG: element {0} is {1}, expected {2} +- {3:e2} ({4:f1} x the bound; {5} elements wrong)",
                         comparison.worstIndex, comparison.got, comparison.expected, comparison.bound, comparison.worst,
                         comparison.wrong);
  if (comparison.unjudged)
    text += llvm::formatv("; {0} elements rest on numbers beyond their type or comparisons too close to tell, and are "
                          "not judged",
                          comparison.unjudged);
  return text;
}

namespace {

/// What a run found: lines for people as it goes, or one JSON object at the end.
class Report {
public:
  Report(bool json, Progress &progress) : json(json), progress(progress) {}

  llvm::json::Object object;

  /// Exit status of --verify: 2 if an output is wrong.
  int verify(llvm::ArrayRef<Comparison> comparisons);
  /// Exit status of --verify-stages: 2 if a stage is wrong.
  int verifyStages(llvm::ArrayRef<std::vector<Comparison>> stages);
  void benchmark(const Benchmark &measured, const Run &run);
  /// Findings and counters of the emulator; exit status 3 if a kernel has findings.
  /// `runs`: in how many orders of lanes and engines it ran; the counters are those of the first.
  int emulation(const EmulatedProgram &program, size_t runs);
  /// What was proved, if anything was asked.
  void proof(const Prover &prover);
  /// Where the program ran, and the counters of a `process` that serves it (may be null).
  void device(const PlacedProgram &placed, ExecDevice *process);
  /// What a trace that was written to `path` sums up to.
  void trace(const std::string &path, const ProgramTrace &trace);

private:
  bool json;
  Progress &progress;
};

} // namespace

int Report::verify(llvm::ArrayRef<Comparison> comparisons) {
  progress.done();
  llvm::json::Array list;
  bool passed = true;
  for (auto [index, comparison] : llvm::enumerate(comparisons)) {
    passed &= comparison.passed;
    list.push_back(toJson(comparison));
    if (!json)
      llvm::outs() << "verify: output " << index << ": " << describe(comparison) << "\n";
  }
  object["verify"] = llvm::json::Object{{"passed", passed}, {"outputs", std::move(list)}};
  return passed ? 0 : 2;
}

int Report::verifyStages(llvm::ArrayRef<std::vector<Comparison>> stages) {
  progress.done();
  llvm::json::Array list;
  std::string broken;
  for (auto [index, comparisons] : llvm::enumerate(stages)) {
    unsigned stage = index + 1;
    bool passed = llvm::all_of(comparisons, [](const Comparison &comparison) { return comparison.passed; });
    if (!passed && broken.empty())
      broken = stageName(stage).str();
    llvm::json::Array outputs;
    for (auto [output, comparison] : llvm::enumerate(comparisons)) {
      outputs.push_back(toJson(comparison));
      if (!json)
        llvm::outs() << "verify: after stage " << stage << " (" << stageName(stage) << "): output " << output << ": "
                     << describe(comparison) << "\n";
    }
    list.push_back(llvm::json::Object{{"stage", static_cast<int64_t>(stage)},
                                      {"name", stageName(stage).str()},
                                      {"passed", passed},
                                      {"outputs", std::move(outputs)}});
  }
  if (!broken.empty() && !json)
    llvm::outs() << "verify: the stage that broke the program is " << broken << "\n";
  object["verify_stages"] = std::move(list);
  object["broken_stage"] = broken.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(broken);
  return broken.empty() ? 0 : 2;
}

void Report::benchmark(const Benchmark &measured, const Run &run) {
  progress.done();
  int64_t bytes = run.bytes();
  llvm::json::Object numbers{{"seconds", measured.median},
                             {"samples", llvm::json::Array(measured.samples)},
                             {"bytes", bytes},
                             {"bytes_per_second", static_cast<double>(bytes) / measured.median}};
  std::string speed;
  if (std::optional<double> flops = run.flops()) {
    numbers["flop"] = *flops;
    numbers["flop_per_second"] = *flops / measured.median;
    speed = llvm::formatv(", {0:f2} Gflop/s", *flops / measured.median * 1e-9);
  }
  object["benchmark"] = std::move(numbers);
  if (!json)
    llvm::outs() << llvm::formatv("benchmark: {0:f3} us a call (median of {1}){2}, {3:f2} GB/s of inputs and outputs\n",
                                  measured.median * 1e6, measured.samples.size(), speed,
                                  static_cast<double>(bytes) / measured.median * 1e-9);
}

/// One line of what the tile program says of a kernel, if it says anything, and the seconds of its plan.
static void printPrediction(const llvm::json::Object &predicted) {
  if (auto unknown = predicted.getString("unknown"))
    llvm::outs() << "  predicted: unknown, " << *unknown << "\n";
  auto read = predicted.getInteger("global_read_bytes");
  if (!read)
    return;
  llvm::outs() << llvm::formatv("  predicted: {0} unit issues, {1} bytes from and {2} to global memory",
                                *predicted.getInteger("unit_issues"), *read,
                                *predicted.getInteger("global_written_bytes"));
  if (auto written = predicted.getInteger("scratchpad_written_bytes"))
    llvm::outs() << llvm::formatv(", {0} written to and {1} read from the scratchpad", *written,
                                  *predicted.getInteger("scratchpad_read_bytes"));
  if (auto seconds = predicted.getNumber("seconds"))
    llvm::outs() << llvm::formatv(", {0:f1} us", *seconds * 1e6);
  llvm::outs() << "\n";
}

int Report::emulation(const EmulatedProgram &program, size_t runs) {
  progress.done();
  llvm::json::Array findings, kernels;
  for (const Finding &finding : program.findings()) {
    findings.push_back(toJson(finding));
    if (!json)
      llvm::errs() << finding.str() << "\n";
  }
  if (!json && runs > 1)
    llvm::outs() << "counters of the first of " << runs
                 << " runs, the others one for each order of lanes and engines\n";
  for (const KernelCounters &counters : program.counters()) {
    llvm::json::Object kernel = toJson(counters);
    kernel["barriers"] = program.barriers(counters.kernel);
    const llvm::json::Object predicted = program.predicted(counters.kernel);
    if (!predicted.empty())
      kernel["predicted"] = llvm::json::Object(predicted);
    kernels.push_back(std::move(kernel));
    if (json)
      continue;
    llvm::outs() << llvm::formatv("kernel {0}: launches: {1}, blocks: {2}, lanes: {3}, emulated in {4:f1} ms\n",
                                  counters.kernel, counters.launches, counters.blocks, counters.lanes,
                                  counters.seconds * 1e3);
    for (const MemoryCounters &memory : counters.memories)
      llvm::outs() << llvm::formatv(
          "  {0}: {1} bytes read, {2} written, {3} sectors, {4} bank cycles, {5} of conflicts\n", memory.memory,
          memory.readBytes, memory.writtenBytes, memory.transactions, memory.cycles, memory.conflictCycles);
    printPrediction(predicted);
    for (const UnitCounters &unit : counters.units)
      llvm::outs() << llvm::formatv("  {0}: {1} issues, {2} cycles\n", unit.unit, unit.issues, unit.cycles);
    for (const EngineCounters &engine : counters.engines) {
      llvm::outs() << llvm::formatv("  {0} engine: {1} commands, {2} bytes", engine.engine, engine.commands,
                                    engine.bytes);
      if (counters.cycles) // of chips whose engines have a clock here
        llvm::outs() << llvm::formatv(", {0} busy cycles of {1}", engine.busyCycles, counters.cycles);
      llvm::outs() << "\n";
    }
    if (counters.cycles)
      llvm::outs() << llvm::formatv("  slowest block: {0} cycles\n", counters.slowestBlockCycles);
  }
  bool clean = findings.empty();
  object["emulation"] = llvm::json::Object{
      {"findings", std::move(findings)}, {"kernels", std::move(kernels)}, {"runs", static_cast<int64_t>(runs)}};
  return clean ? 0 : 3;
}

void Report::trace(const std::string &path, const ProgramTrace &trace) {
  progress.done();
  const TraceTotals &totals = trace.totals();
  llvm::json::Object numbers{{"file", path},
                             {"spans", static_cast<int64_t>(trace.file().spans())},
                             {"kernels", static_cast<int64_t>(totals.kernels)},
                             {"compared", static_cast<int64_t>(totals.compared)}};
  std::string text = llvm::formatv("{0} kernel{1}", totals.kernels, totals.kernels == 1 ? "" : "s");
  if (!totals.clock.empty()) {
    numbers["measured_seconds"] = totals.measured;
    numbers["measured_by"] = totals.clock;
    text += llvm::formatv(", {0:f3} us by the {1}", totals.measured * 1e6, totals.clock);
  }
  if (totals.compared) {
    const double ratio = totals.comparable / totals.predicted;
    numbers["predicted_seconds"] = totals.predicted;
    numbers["ratio"] = ratio;
    if (totals.compared < totals.kernels)
      text += llvm::formatv("; {0} of them, {1:f3} us,", totals.compared, totals.comparable * 1e6);
    text += llvm::formatv(" where the model says {0:f3} us: ratio {1:f2}", totals.predicted * 1e6, ratio);
  }
  object["trace"] = std::move(numbers);
  if (!json)
    llvm::outs() << "trace: " << path << ": " << text << "\n";
}

/// Where the program runs, by the option --device; `device` keeps the process that may serve it.
static llvm::Error choosePlace(Arguments &arguments, Place &place, std::unique_ptr<ExecDevice> &device) {
  const ProgramOptions &program = arguments.program;
  if (arguments.device == "auto") {
    auto found = defaultDevice(program.target);
    if (!found)
      return found.takeError();
    arguments.device = *found;
  }
  place.emulator = arguments.device == "emulator";
  place.model = arguments.device == "model";
  if (llvm::StringRef command = arguments.device; command.consume_front("exec:")) {
    if (!(arguments.timeout > 0))
      return llvm::createStringError("--timeout expects a positive number of seconds");
    auto opened = ExecDevice::open(command, program.target, arguments.timeout);
    if (!opened)
      return opened.takeError();
    device = std::move(*opened);
    place.process = device.get();
  } else if (arguments.device == "gpu") {
    place.driver = tw_device_open;
  } else if (!place.emulator && !place.model && arguments.device != "host") {
    return llvm::createStringError("unknown device '" + arguments.device +
                                   "'; expected host, emulator, model, gpu, exec:PROG or auto");
  }
  if (arguments.modes && !place.emulator)
    return llvm::createStringError("--modes needs --device emulator");
  return llvm::Error::success();
}

static llvm::Expected<std::vector<Array>> readInputs(llvm::ArrayRef<std::string> paths) {
  std::vector<Array> given;
  for (const std::string &path : paths) {
    std::string error;
    std::optional<Array> array = readNpy(path, error);
    if (!array)
      return llvm::createStringError(error);
    given.push_back(std::move(*array));
  }
  return given;
}

static llvm::Error writeOutputs(llvm::StringRef function, llvm::ArrayRef<std::string> paths,
                                llvm::ArrayRef<const Array *> results) {
  if (paths.size() > results.size())
    return llvm::createStringError(
        llvm::formatv("'{0}' has {1} outputs; {2} files were given", function, results.size(), paths.size()).str());
  for (auto [path, array] : llvm::zip(paths, results))
    if (llvm::Error error = writeFile(path, formatNpy(*array)))
      return error;
  return llvm::Error::success();
}

/// What --json says of every run; `parseSeconds`: that reading the program took.
static llvm::json::Object summary(const Arguments &arguments, llvm::StringRef function, const Run &run,
                                  double parseSeconds) {
  auto describeAll = [](llvm::ArrayRef<const Array *> arrays) {
    llvm::json::Array list;
    for (const Array *array : arrays)
      list.push_back(describe(*array));
    return list;
  };
  const ProgramOptions &program = arguments.program;
  const CompileTimes &times = run.executable().times();
  return llvm::json::Object{{"function", function},
                            {"target", program.target.getValue()},
                            {"fp", program.fp.getValue()},
                            {"threads", program.threads.getValue()},
                            {"sizes", llvm::json::Array(run.sizes())},
                            {"inputs", describeAll(run.inputs())},
                            {"outputs", describeAll(run.outputs())},
                            {"compile", llvm::json::Object{{"seconds", parseSeconds + times.total()},
                                                           {"parse_seconds", parseSeconds},
                                                           {"pass_seconds", times.passes},
                                                           {"llvm_seconds", times.llvm},
                                                           {"link_seconds", times.link},
                                                           {"warm", arguments.timeCompile.getValue()}}}};
}

void Report::proof(const Prover &prover) {
  if (!prover.kept())
    return;
  if (json) {
    object["proof"] = proof::toJson(*prover.kept());
    return;
  }
  progress.done();
  prover.print();
}

void Report::device(const PlacedProgram &placed, ExecDevice *process) {
  llvm::json::Object description{{"name", placed.describe()}};
  if (process && json) {
    // A device that counts nothing says so; that is no failure of the run.
    if (auto counters = process->counters())
      description["counters"] = std::move(*counters);
    else
      llvm::consumeError(counters.takeError());
  }
  object["device"] = std::move(description);
}

/// Compares and measures as the options ask; the exit status of what was compared.
static llvm::Expected<int> judge(const Arguments &arguments, Run &run, Report &report, Progress &progress) {
  int status = 0;
  if (arguments.verify) {
    progress.show("comparing with the plain path in float64");
    auto comparisons = run.verify();
    if (!comparisons)
      return comparisons.takeError();
    status |= report.verify(*comparisons);
  }
  if (arguments.verifyStages) {
    progress.show("running the program after each stage");
    auto stages = run.verifyStages();
    if (!stages)
      return stages.takeError();
    status |= report.verifyStages(*stages);
  }
  if (arguments.benchmark) {
    progress.show("measuring");
    auto measured = run.benchmark();
    if (!measured)
      return measured.takeError();
    report.benchmark(*measured, run);
  }
  return status;
}

/// Calls the program once, in all orders with --modes, and writes what the options ask for.
static llvm::Error execute(const Arguments &arguments, llvm::StringRef function, Run &run, ProgramTrace *trace) {
  if (llvm::Error error = trace ? trace->execute(run) : run.execute())
    return error;
  if (trace)
    if (llvm::Error error = writeFile(arguments.trace, trace->file().text()))
      return error;
  if (arguments.modes)
    if (llvm::Error error = run.executeInAllModes())
      return error;
  return writeOutputs(function, arguments.outputs, run.outputs());
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  const ProgramOptions &program = arguments.program;
  if (llvm::Error error =
          command.parse(arguments.category, "Compiles a tensor program, runs it, compares and measures it.\n", program))
    return fail(std::move(error));

  Program source(program);
  RunOptions options;
  options.compile = program.compileOptions("tw-run-crash.mlir");
  options.sizes.assign(arguments.sizeList.begin(), arguments.sizeList.end());
  options.seed = arguments.seed;
  options.referenceTarget = program.target.getDefault().getValue();
  Prover prover(arguments.prove);
  if (llvm::Error error = prover.check())
    return fail(std::move(error));
  std::unique_ptr<ExecDevice> device;
  if (llvm::Error error = choosePlace(arguments, options.place, device))
    return fail(std::move(error));

  std::unique_ptr<ProgramTrace> trace;
  if (!arguments.trace.empty())
    trace = std::make_unique<ProgramTrace>(source.context(), program.target);
  double start = secondsNow();
  mlir::ModuleOp module = source.read();
  if (!module)
    return 1;
  double parseSeconds = secondsNow() - start;
  if (trace)
    trace->spent("reading", start);
  mlir::FailureOr<std::string> name = selectFunction(module, program.functionName);
  if (mlir::failed(name))
    return 1;
  auto given = readInputs(arguments.inputs);
  if (!given)
    return fail(given.takeError());
  Progress progress;
  if (arguments.timeCompile) {
    // The first compilation pays for what a process does once.
    progress.show("compiling once before the measurement");
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    auto warm = Executable::compile(*copy, 1, options.compile);
    if (!warm)
      return fail(warm.takeError());
  }
  progress.show("compiling");
  if (trace)
    trace->watch(options);
  if (prover)
    options.compile.afterStage = [&, then = options.compile.afterStage](unsigned stage, mlir::ModuleOp now) {
      prover.keepAfterStage(stage, now);
      if (then)
        then(stage, now);
    };
  auto run = Run::create(module, options, std::move(*given));
  if (!run)
    return fail(run.takeError());
  if (llvm::Error error = prover.verdict())
    return fail(std::move(error));
  progress.show("running");
  if (llvm::Error error = execute(arguments, *name, **run, trace.get()))
    return fail(std::move(error));

  Report report(arguments.json, progress);
  report.object = summary(arguments, *name, **run, parseSeconds);
  report.proof(prover);
  if (trace)
    report.trace(arguments.trace, *trace);
  int status = 0;
  if (EmulatedProgram *emulated = (*run)->executable().emulated())
    status |= report.emulation(*emulated, arguments.modes ? 1 + emulated->modes().size() : 1);
  if (PlacedProgram *placed = (*run)->executable().placed(); placed && !options.place.emulator)
    report.device(*placed, device.get());
  auto judged = judge(arguments, **run, report, progress);
  if (!judged)
    return fail(judged.takeError());
  status |= *judged;
  progress.done();
  if (arguments.json) {
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(report.object))) << "\n";
  } else if (!arguments.verify && !arguments.verifyStages && !arguments.benchmark && !options.place.emulator) {
    for (auto [index, array] : llvm::enumerate((*run)->outputs()))
      llvm::outs() << "output " << index << ": " << array->describe() << " = " << preview(*array) << "\n";
  }
  if (const CompileTimes &times = (*run)->executable().times(); !arguments.json && arguments.timeCompile)
    llvm::outs() << llvm::formatv("compiled in {0:f4} s: parse {1:f4}, passes {2:f4}, LLVM {3:f4}, link {4:f4}\n",
                                  parseSeconds + times.total(), parseSeconds, times.passes, times.llvm, times.link);
  return finish(status);
}
