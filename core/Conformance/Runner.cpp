//===- Runner.cpp - Cases on a device -------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compilation, arrays between guards, calls and verdicts.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Runner.h"
#include "core/Conformance/Messages.h"
#include "core/Pipelines/HostCheck.h"
#include "core/Pipelines/Run.h"
#include "core/Runtime/Npy.h"
#include "tilewright/Explain.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::conformance;

const char *conformance::nameOf(Status status) {
  switch (status) {
  case Status::Passed:
    return "passed";
  case Status::Failed:
    return "failed";
  case Status::Refused:
    return "refused";
  case Status::Skipped:
    return "skipped";
  }
  return "";
}

Runner::Runner(const RunnerOptions &options) : options(options) {}

llvm::Expected<std::unique_ptr<Runner>> Runner::create(const RunnerOptions &options) {
  auto chip = TargetRegistry::get().describe(options.target);
  if (!chip)
    return chip.takeError();
  std::unique_ptr<Runner> runner(new Runner(options));
  runner->description = *chip;
  std::string &device = runner->options.device;
  if (device == "auto") {
    auto found = defaultDevice(options.target);
    if (!found)
      return found.takeError();
    device = *found;
  } else if (device == "host") {
    if (llvm::Error error = checkRunsHere(options.target))
      return error;
  }
  if (runner->isProcess()) {
    // Started once here for its answer, then again by each worker.
    auto opened = runner->openDevice();
    if (!opened)
      return opened.takeError();
    runner->timed = (*opened)->isTimed();
    runner->process.reset();
  } else if (runner->isDriven() && options.opener) {
    runner->timed = true; // opened by each worker: a driver does not survive a fork
  } else if (device != "host" && device != "emulator" && device != "model") {
    return llvm::createStringError("unknown device '" + device +
                                   "'; expected host, emulator, model, gpu, exec:PROG or auto");
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  for (const Target *known : TargetRegistry::get().targets())
    known->registerDialects(registry);
  runner->context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  runner->context->printOpOnDiagnostic(false);
  // The programs of one instruction are built op by op, with those of the target's lanes.
  DialectRegistry own;
  llvm::cantFail(TargetRegistry::get().target((*chip)->target()))->registerDialects(own);
  for (llvm::StringRef name : own.getDialectNames())
    runner->context->getOrLoadDialect(name);
  return runner;
}

llvm::Expected<ExecDevice *> Runner::openDevice() {
  if (!process || !process->works()) {
    auto opened = ExecDevice::open(llvm::StringRef(options.device).drop_front(5), options.target, options.timeout);
    if (!opened)
      return opened.takeError();
    process = std::move(*opened);
  }
  return process.get();
}

llvm::Error Runner::holdDevice() {
  tw_error error;
  tw_device *device = nullptr;
  if (held)
    return llvm::Error::success();
  if (options.opener(options.target.c_str(), 0, &device, &error) != TW_OK)
    return llvm::createStringError(error.message);
  held.reset(device);
  return llvm::Error::success();
}

Outcome Runner::run(const Case &one) {
  Outcome outcome = one.program ? runProgram(one) : runUnit(*one.unit);
  if (outcome.status == Status::Failed)
    held.reset(); // a kernel that broke leaves nothing that the next case could use
  return outcome;
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

namespace {

/// An array between two guards.
class Guarded {
public:
  Guarded(const Array &array, bool misaligned, bool fillIt) : bytes(array.bytes()) {
    size_t shift = guard + (misaligned ? sizeOf(array.type()) : 0);
    storage.assign(static_cast<size_t>(bytes) + 2 * guard + 64, static_cast<char>(0xff));
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    offset = ((address + 63) & ~uintptr_t(63)) - address + shift;
    if (fillIt)
      std::memcpy(data(), array.data(), static_cast<size_t>(bytes));
  }
  char *data() { return storage.data() + offset; }
  /// Whether the guards are what they were.
  bool intact() const {
    for (size_t i = 0; i < storage.size(); ++i)
      if ((i < offset || i >= offset + static_cast<size_t>(bytes)) && storage[i] != static_cast<char>(0xff))
        return false;
    return true;
  }

private:
  static constexpr size_t guard = 256;
  int64_t bytes;
  size_t offset = 0;
  std::vector<char> storage;
};

/// The compiler's no: a refusal that says why, or a fault of its own.
Outcome refused(std::string message) {
  bool crash = llvm::StringRef(message).contains("crashed");
  return {crash ? Status::Failed : Status::Refused, message.empty() ? "refused without a message" : message};
}

/// Of each kernel what was counted in one call, and what its tile program says, as JSON.
std::string countsOf(const EmulatedProgram &program) {
  llvm::json::Array kernels;
  for (const KernelCounters &counters : program.counters()) {
    llvm::json::Object kernel = toJson(counters);
    kernel.erase("sites");
    kernel["barriers"] = program.barriers(counters.kernel);
    kernel["predicted"] = program.predicted(counters.kernel);
    kernels.push_back(std::move(kernel));
  }
  return llvm::formatv("{0}", llvm::json::Value(std::move(kernels))).str();
}

/// Seconds that the cost models expect, over all decisions of a compilation.
double modelled(const llvm::json::Array &decisions) {
  double sum = 0;
  for (const llvm::json::Value &entry : decisions)
    if (const llvm::json::Object *choice = entry.getAsObject() ? entry.getAsObject()->getObject("choice") : nullptr)
      sum += choice->getNumber("seconds").value_or(0);
  return sum;
}

/// What is computed together, and the decisions that say why, as JSON.
std::string fusionOf(const llvm::json::Array &decisions) {
  llvm::json::Array kept;
  for (const llvm::json::Value &entry : decisions) {
    const llvm::json::Object *record = entry.getAsObject();
    llvm::StringRef name = record ? record->getString("decision").value_or("") : "";
    if (llvm::is_contained({"fusion-groups", "fuse-stencils", "row-program", "schedule-chain", "schedule-nest",
                            "compute-again", "dependent-reductions", "split", "sum", "tile-program"},
                           name))
      kept.push_back(llvm::json::Object(*record));
  }
  return llvm::formatv("{0}", llvm::json::Value(std::move(kept))).str();
}

std::string describe(const Verdict &verdict, const std::vector<int64_t> &shape) {
  std::string place;
  int64_t rest = verdict.index;
  for (size_t d = shape.size(); d-- > 0; rest /= std::max<int64_t>(shape[d], 1))
    place = std::to_string(rest % std::max<int64_t>(shape[d], 1)) + (place.empty() ? "" : ", ") + place;
  return llvm::formatv("{0} elements wrong; worst at [{1}]: {2}, expected {3} +- {4}", verdict.wrong, place,
                       verdict.got, verdict.expected, llvm::formatv("{0:e2}", verdict.tolerance));
}

} // namespace

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The path of a file of a case in `directory`, which is created.
static llvm::Expected<std::string> fileOf(llvm::StringRef directory, const Case &one, llvm::StringRef suffix) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError(error, "cannot create '%s': %s", directory.str().c_str(), error.message().c_str());
  std::string stem = one.name();
  std::replace(stem.begin(), stem.end(), '/', '_');
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, stem + suffix);
  return path.str().str();
}

llvm::Error tilewright::conformance::keepProgram(llvm::StringRef directory, const Case &one) {
  if (directory.empty() || !one.program)
    return llvm::Error::success();
  auto path = fileOf(directory, one, ".mlir");
  return path ? writeFile(*path, one.program->text) : path.takeError();
}

/// Writes the program and one set of its arrays.
static llvm::Error keepFiles(const std::string &directory, const Case &one, Values values, const Arrays &inputs,
                             const Array &output, const Expected &expected) {
  if (llvm::Error error = keepProgram(directory, one))
    return error;
  auto path = [&](const std::string &suffix) { return llvm::cantFail(fileOf(directory, one, suffix)); };
  std::string kind = std::string(".") + nameOf(values);
  auto extension = [](const Array &array) { return array.type() == ElementType::BF16 ? ".bf16.npy" : ".npy"; };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (llvm::Error error =
            writeFile(path(kind + ".input" + std::to_string(i) + extension(inputs[i])), formatNpy(inputs[i])))
      return error;
  if (llvm::Error error = writeFile(path(kind + ".output" + extension(output)), formatNpy(output)))
    return error;
  Array wanted(ElementType::F64, output.shape());
  for (int64_t i = 0; i < wanted.count(); ++i)
    wanted.set(i, expected.value[i]);
  return writeFile(path(kind + ".expected.npy"), formatNpy(wanted));
}

Outcome Runner::runProgram(const Case &one) {
  const CaseProgram &program = *one.program;
  Messages messages(context.get());
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program.text, context.get(), "program.mlir");
  if (!module)
    return wrong("the program of the case cannot be read: " + messages.text);
  CompileOptions compile;
  compile.target = options.target;
  compile.fp = options.fp;
  DecisionLog log(context.get());
  Place place;
  place.emulator = options.device == "emulator";
  place.model = options.device == "model";
  if (isProcess()) {
    auto opened = openDevice();
    if (!opened)
      return wrong(llvm::toString(opened.takeError()));
    place.process = *opened;
  }
  if (isDriven()) {
    if (llvm::Error error = holdDevice())
      return wrong(llvm::toString(std::move(error)));
    place.driver = options.opener;
  }
  auto code = Executable::compile(*module, 1, compile, 4, place);
  if (!code) {
    std::string message = messages.take(code.takeError());
    return place.process && !place.process->works() ? wrong(message) : refused(message);
  }
  Outcome outcome;
  outcome.compileSeconds = (*code)->times().total();
  const llvm::json::Array decisions = log.take();
  outcome.modelledSeconds = modelled(decisions);
  outcome.fusion = fusionOf(decisions);

  Arrays inputs;
  std::vector<const Array *> shown;
  for (const CaseInput &input : program.inputs)
    inputs.emplace_back(input.type, input.shape);
  for (const Array &input : inputs)
    shown.push_back(&input);
  auto sizes = tilewright::sizesOf((*code)->signature(), shown);
  if (!sizes)
    return wrong(llvm::toString(sizes.takeError()));
  if (llvm::Error error = solveSizes((*code)->signature(), *sizes))
    return wrong(llvm::toString(std::move(error)));
  if (Signature::evaluate((*code)->signature().arguments.back().shape, *sizes) != program.outputShape)
    return wrong("the compiled program gives an output of another shape");

  for (auto [turn, values] : llvm::enumerate(program.values)) {
    for (auto [index, input] : llvm::enumerate(inputs))
      fill(input, values, program.inputs[index].domain, options.seed * 1000 + index * 10 + static_cast<size_t>(values));
    Array output(program.outputType, program.outputShape);
    std::vector<Guarded> guarded;
    for (const Array &input : inputs)
      guarded.emplace_back(input, turn == 1, true);
    guarded.emplace_back(output, turn == 1, false);
    std::vector<void *> addresses;
    for (Guarded &array : guarded)
      addresses.push_back(array.data());
    std::string kind = std::string(nameOf(values)) + " values: ";
    if (EmulatedProgram *emulated = (*code)->emulated())
      emulated->resetCounters();
    if (llvm::Error error = (*code)->call(*sizes, addresses))
      return wrong(kind + llvm::toString(std::move(error)));
    std::memcpy(output.data(), addresses.back(), static_cast<size_t>(output.bytes()));
    Expected expected = program.expect(inputs);
    if (!options.keep.empty())
      if (llvm::Error error = keepFiles(options.keep, one, values, inputs, output, expected))
        return wrong(llvm::toString(std::move(error)));
    if (EmulatedProgram *emulated = (*code)->emulated()) {
      if (!emulated->findings().empty())
        return wrong(kind + emulated->findings().front().str());
      if (outcome.kernels.empty())
        outcome.kernels = countsOf(*emulated);
    }
    if (!llvm::all_of(guarded, [](const Guarded &array) { return array.intact(); }))
      return wrong(kind + "writes outside its arrays");
    Verdict verdict = judge(output, expected);
    outcome.worst = std::max(outcome.worst, verdict.worst);
    if (!verdict.passed) {
      outcome.status = Status::Failed;
      outcome.message = kind + describe(verdict, program.outputShape);
      return outcome;
    }
    for (auto [index, input] : llvm::enumerate(inputs))
      if (std::memcmp(input.data(), addresses[index], static_cast<size_t>(input.bytes())) != 0)
        return wrong(kind + llvm::formatv("input {0} was overwritten", index).str());
    if (one.family == "performance" && hasTime()) {
      auto measured = measure(**code, *sizes, addresses, /*count=*/5, /*seconds=*/2e-3);
      if (!measured)
        return wrong(kind + llvm::toString(measured.takeError()));
      outcome.seconds = measured->median;
    }
  }
  return outcome;
}
