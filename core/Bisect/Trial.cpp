//===- Trial.cpp - Whether a program, or a part of its compilation, is right -===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What children do, and what their answers mean.
///
//===----------------------------------------------------------------------===//

#include "core/Bisect/Trial.h"
#include "core/Bisect/Finish.h"
#include "core/Machine/NativeCode.h"
#include "core/Pipelines/ErrorBound.h"
#include "core/Pipelines/PassObserver.h"
#include "core/Pipelines/Run.h"
#include "mlir/IR/Verifier.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::bisect;

llvm::StringRef bisect::nameOf(Verdict verdict) {
  static constexpr llvm::StringLiteral names[] = {"right",    "wrong result", "finding of the emulator", "crash",
                                                  "time-out", "refusal",      "not executable"};
  return names[static_cast<size_t>(verdict)];
}

//===----------------------------------------------------------------------===//
// In the child
//===----------------------------------------------------------------------===//

namespace {

/// Marks each step in shared memory, and hands out the module after one of them.
class Recorder : public PassObserver {
public:
  Recorder(Progress &progress, ModuleOp module) : progress(progress), module(module) {}

  Reached reached;
  /// Called once `stopAfter` steps have ended; does not return.
  std::function<void()> stop;
  size_t stopAfter = ~size_t(0);
  /// Called before step `showBefore`, counted from 0.
  std::function<void()> show;
  size_t showBefore = ~size_t(0);

  void before(unsigned stage, llvm::StringRef pass, Operation *op) override {
    if (stage != reached.stage) {
      reached.stage = stage;
      reached.done.clear();
      if (stage == 5)
        rememberSignature();
    }
    if (show && progress.begun == showBefore)
      show();
    Step &step = progress.steps[std::min<size_t>(progress.begun, Progress::most - 1)];
    step.stage = stage;
    step.changed = true; // unless it comes to its end
    copyName(step.pass, pass);
    auto function = dyn_cast<func::FuncOp>(op);
    copyName(step.function, function ? function.getName() : "");
    print.emplace(op);
    progress.begun = progress.begun + 1;
  }

  void after(unsigned stage, llvm::StringRef pass, Operation *op) override {
    Step &step = progress.steps[std::min<size_t>(progress.begun, Progress::most) - 1];
    step.changed = *print != OperationFingerPrint(op);
    reached.done.insert(pass);
    progress.ended = progress.ended + 1;
    if (stop && progress.ended == stopAfter)
      stop();
  }

private:
  static void copyName(char (&to)[Step::nameBytes], llvm::StringRef from) {
    size_t length = std::min(from.size(), Step::nameBytes - 1);
    std::memcpy(to, from.data(), length);
    to[length] = 0;
  }
  void rememberSignature() {
    SmallVector<func::FuncOp> functions = publicFunctions(module);
    if (functions.size() != 1)
      return;
    if (FailureOr<Signature> found = Signature::of(functions.front()); succeeded(found))
      reached.signature = *found;
  }

  Progress &progress;
  ModuleOp module;
  std::optional<OperationFingerPrint> print;
};

/// The device of a child; only it talks to a process behind a pipe.
struct OpenPlace {
  std::unique_ptr<ExecDevice> process;
  Place place;
};

} // namespace

/// `onlyLaunches`: where the chip has no launches nothing is run on its device.
static llvm::Expected<OpenPlace> open(const bisect::Settings &settings, bool onlyLaunches = false) {
  OpenPlace result;
  auto chip = TargetRegistry::get().describe(settings.compile.target);
  if (!chip)
    return chip.takeError();
  if (onlyLaunches && !(*chip)->graph().startsLaunches() && settings.device != "model")
    return result;
  result.place.emulator = settings.device == "emulator";
  result.place.model = settings.device == "model";
  llvm::StringRef command = settings.device;
  if (command.consume_front("exec:")) {
    // The attempt's own limit comes first, and says that it was one.
    auto opened = ExecDevice::open(command, settings.compile.target, 2 * settings.limit);
    if (!opened)
      return opened.takeError();
    result.process = std::move(*opened);
    result.place.process = result.process.get();
  }
  return result;
}

/// A message that says what went wrong.
static Message failed(Verdict verdict, llvm::Error error) {
  Message message;
  message.head["verdict"] = static_cast<int64_t>(verdict);
  message.head["message"] = llvm::json::fixUTF8(llvm::toString(std::move(error)));
  return message;
}

/// Calls `program` on `inputs`; results begin as NaN, so that what is not written shows.
static Message call(Executable &program, const bisect::Reference &reference) {
  std::vector<Array> arrays;
  std::vector<void *> addresses;
  size_t next = 0;
  for (const SignatureArgument &argument : program.signature().arguments) {
    if (argument.isResult) {
      arrays.emplace_back(*elementTypeOf(argument.elementType), Signature::evaluate(argument.shape, reference.sizes));
      if (arrays.back().allocated())
        std::memset(arrays.back().data(), 0xff, static_cast<size_t>(arrays.back().bytes()));
    } else if (next < reference.inputs.size()) {
      arrays.push_back(reference.inputs[next++].clone());
    }
  }
  if (arrays.size() != program.signature().arguments.size())
    return failed(Verdict::Unknown, llvm::createStringError("its arguments are not known"));
  for (Array &array : arrays)
    addresses.push_back(array.data());
  if (llvm::Error error = program.call(reference.sizes, addresses))
    return failed(Verdict::Refused, std::move(error));
  Message message;
  message.head["verdict"] = static_cast<int64_t>(Verdict::Right);
  if (EmulatedProgram *emulated = program.emulated(); emulated && !emulated->findings().empty()) {
    message.head["verdict"] = static_cast<int64_t>(Verdict::Finding);
    message.head["message"] = llvm::json::fixUTF8(emulated->findings().front().str());
  }
  for (auto [argument, array] : llvm::zip_equal(program.signature().arguments, arrays))
    if (argument.isWritten)
      message.arrays.push_back(std::move(array));
  return message;
}

llvm::Expected<Trials> Trials::create(const bisect::Settings &settings) {
  auto worker = Worker::create();
  if (!worker)
    return worker.takeError();
  return Trials(settings, std::move(*worker));
}

/// The last line that says "error", or the last one.
static std::string lastError(llvm::StringRef printed) {
  llvm::StringRef best;
  for (llvm::StringRef line : llvm::split(printed.trim(), '\n'))
    if (line.contains("error: ") || !best.contains("error: "))
      best = line;
  return best.str();
}

llvm::Expected<bisect::Reference> Trials::reference(ModuleOp program, llvm::ArrayRef<int64_t> sizes,
                                                    llvm::ArrayRef<Array> given) {
  auto answer = worker->run(settings.limit, [&]() -> Message {
    RunOptions options;
    options.compile = settings.compile;
    options.compile.target = settings.referenceTarget;
    options.compile.plain = true;
    options.compile.threads = 1;
    options.compile.targetStages = 0;
    options.compile.reproducer.clear();
    options.sizes = sizes;
    options.seed = settings.seed;
    std::vector<Array> inputs;
    for (const Array &array : given)
      inputs.push_back(array.clone());
    auto run = Run::create(program, options, std::move(inputs));
    if (!run)
      return failed(Verdict::Refused, run.takeError());
    if (llvm::Error error = (*run)->execute())
      return failed(Verdict::Refused, std::move(error));
    if (auto compared = (*run)->verify(); !compared)
      return failed(Verdict::Refused, compared.takeError());
    Message message;
    for (const Array *input : (*run)->inputs())
      message.arrays.push_back(input->clone());
    message.head["inputs"] = static_cast<int64_t>(message.arrays.size());
    message.head["sizes"] = llvm::json::Array((*run)->sizes());
    for (auto [value, bound] : (*run)->references()) {
      message.arrays.push_back(value->clone());
      message.arrays.push_back(bound->allocated() ? bound->clone() : Array());
    }
    return message;
  });
  if (!answer)
    return answer.takeError();
  llvm::json::Object &head = answer->message.head;
  if (answer->end != Answer::Answered || !head.getInteger("inputs")) {
    std::string why =
        head.getString("message").value_or(answer->end == Answer::TimedOut ? "it does not end" : "it crashes").str();
    return llvm::createStringError("the plain path cannot be run: " + why + "\n" + answer->printed);
  }
  bisect::Reference result;
  for (const llvm::json::Value &size : *head.getArray("sizes"))
    result.sizes.push_back(*size.getAsInteger());
  auto arrays = std::move(answer->message.arrays);
  auto numInputs = static_cast<size_t>(*head.getInteger("inputs"));
  for (auto [index, array] : llvm::enumerate(arrays)) {
    bool isBound = index >= numInputs && (index - numInputs) % 2 == 1;
    (index < numInputs ? result.inputs : isBound ? result.bounds : result.values).push_back(std::move(array));
  }
  return result;
}

Outcome Trials::whole(ModuleOp program, const bisect::Reference &reference) {
  Outcome outcome = outcomeOf(worker->run(settings.limit,
                                          [&]() -> Message {
                                            auto place = open(settings);
                                            if (!place)
                                              return failed(Verdict::Refused, place.takeError());
                                            OwningOpRef<ModuleOp> copy = program.clone();
                                            CompileOptions options = settings.compile;
                                            options.reproducer.clear();
                                            std::optional<Recorder> recorder(std::in_place, worker->progress(), *copy);
                                            auto code = Executable::compile(*copy, 1, options, 4, place->place);
                                            recorder.reset();
                                            if (!code)
                                              return failed(Verdict::Refused, code.takeError());
                                            worker->progress().phase = Progress::Running;
                                            return call(**code, reference);
                                          }),
                              reference);
  const Progress &progress = worker->progress();
  lastSteps.assign(progress.steps, progress.steps + std::min<size_t>(progress.begun, Progress::most));
  return outcome;
}

/// Compiles `copy` as far as `recorder` lets it, in the child.
static void compileFor(const bisect::Settings &settings, ModuleOp copy, const Place &place) {
  CompileOptions options = settings.compile;
  options.reproducer.clear();
  options.packedCall = !place.process;
  options.tileLoops |= place.model;
  if (place.model)
    copy->setAttr(nativeCodeAttr, UnitAttr::get(copy.getContext()));
  (void)runStages(copy, 1, 5, options);
}

Outcome Trials::after(ModuleOp program, size_t count, const bisect::Reference &reference) {
  Outcome outcome;
  for (unsigned way = 0; way < finishingWays && outcome.verdict == Verdict::Unknown; ++way) {
    auto work = [&]() -> Message {
      auto place = open(settings, /*onlyLaunches=*/true);
      if (!place)
        return failed(Verdict::Unknown, place.takeError());
      OwningOpRef<ModuleOp> copy = program.clone();
      Recorder recorder(worker->progress(), *copy);
      auto finishAndRun = [&]() -> Message {
        worker->progress().phase = Progress::Finishing;
        OwningOpRef<ModuleOp> rest = copy->clone();
        auto code = finish(*rest, recorder.reached, way, place->place);
        if (!code)
          return failed(mlir::failed(verify(*copy)) ? Verdict::Refused : Verdict::Unknown, code.takeError());
        worker->progress().phase = Progress::Running;
        Message answer = call(**code, reference);
        if (std::string unawaited = unawaitedCopy(*copy);
            !unawaited.empty() && answer.head["verdict"] == int64_t(Verdict::Right)) {
          answer.head["verdict"] = static_cast<int64_t>(Verdict::Finding);
          answer.head["message"] = llvm::json::fixUTF8(unawaited);
        }
        return answer;
      };
      recorder.stopAfter = count;
      recorder.stop = [&] { worker->answer(finishAndRun()); };
      if (count == 0) {
        (*copy)->setAttr("tilewright.target", StringAttr::get(copy->getContext(), settings.compile.target));
        (*copy)->setAttr("tilewright.fp", StringAttr::get(copy->getContext(), settings.compile.fp));
        return finishAndRun();
      }
      compileFor(settings, *copy, place->place);
      return failed(Verdict::Unknown, llvm::createStringError("the passes do not come so far"));
    };
    outcome = outcomeOf(worker->run(settings.limit, work), reference);
    // What crashes or hangs before it runs says nothing about the program: the passes that finish it may not be made
    // for what they get.
    if (outcome.phase != Progress::Running &&
        (outcome.verdict == Verdict::Crash || outcome.verdict == Verdict::TimeOut))
      outcome.verdict = Verdict::Unknown;
  }
  return outcome;
}

std::pair<std::string, std::string> Trials::around(ModuleOp program, size_t index) {
  auto answer = worker->run(settings.limit, [&]() -> Message {
    auto place = open(settings, /*onlyLaunches=*/true);
    if (!place)
      return failed(Verdict::Unknown, place.takeError());
    OwningOpRef<ModuleOp> copy = program.clone();
    Recorder recorder(worker->progress(), *copy);
    std::string texts[2];
    auto print = [&](std::string &text) {
      llvm::raw_string_ostream os(text);
      copy->print(os, OpPrintingFlags().enableDebugInfo());
    };
    recorder.showBefore = index;
    recorder.show = [&] { print(texts[0]); };
    recorder.stopAfter = index + 1;
    recorder.stop = [&] {
      print(texts[1]);
      Message message;
      message.head["before"] = llvm::json::fixUTF8(texts[0]);
      message.head["after"] = llvm::json::fixUTF8(texts[1]);
      worker->answer(message);
    };
    compileFor(settings, *copy, place->place);
    return failed(Verdict::Unknown, llvm::createStringError("the passes do not come so far"));
  });
  if (!answer) {
    llvm::consumeError(answer.takeError());
    return {};
  }
  const llvm::json::Object &head = answer->message.head;
  return {head.getString("before").value_or("").str(), head.getString("after").value_or("").str()};
}

//===----------------------------------------------------------------------===//
// What an answer means
//===----------------------------------------------------------------------===//

static std::vector<int64_t> unravel(int64_t index, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> element(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d])
    element[d] = index % shape[d];
  return element;
}

void bisect::judgeOutputs(Outcome &outcome, const bisect::Reference &reference) {
  if (!outcome.outputs || outcome.outputs->size() != reference.values.size())
    return;
  for (auto [index, got] : llvm::enumerate(*outcome.outputs)) {
    const Array &expected = reference.values[index], &bounds = reference.bounds[index];
    for (int64_t i = 0; i < got.count(); ++i) {
      double bound = bounds.allocated() ? bounds.get(i) * reference.slack : 0;
      if (judge(got.type(), got.get(i), expected.get(i), bound).ratio <= 1)
        continue;
      if (outcome.wrong++ > 0)
        continue;
      outcome.output = index;
      outcome.element = unravel(i, got.shape());
      outcome.got = got.get(i);
      outcome.expected = expected.get(i);
      outcome.bound = bound;
    }
  }
  if (outcome.wrong == 0)
    return;
  outcome.verdict = Verdict::Wrong;
  std::string place;
  for (int64_t coordinate : outcome.element)
    place += (place.empty() ? "" : ", ") + std::to_string(coordinate);
  // A NaN without its sign, which says nothing.
  double got = std::isnan(outcome.got) ? std::fabs(outcome.got) : outcome.got;
  outcome.message = llvm::formatv("output {0}, element [{1}] is {2}, expected {3} +- {4} ({5} wrong)", outcome.output,
                                  place, llvm::format("%.6g", got), llvm::format("%.6g", outcome.expected),
                                  llvm::format("%.2g", outcome.bound), outcome.wrong);
}

Outcome Trials::outcomeOf(llvm::Expected<Answer> answer, const bisect::Reference &reference) {
  Outcome outcome;
  const Progress &progress = worker->progress();
  outcome.phase = progress.phase;
  outcome.steps = progress.ended;
  if (!answer) {
    outcome.message = llvm::toString(answer.takeError());
    return outcome;
  }
  const char *what = outcome.phase == Progress::Running ? "the program" : "the compiler";
  if (answer->end == Answer::TimedOut) {
    outcome.verdict = Verdict::TimeOut;
    outcome.message = llvm::formatv("{0} does not end within {1} s", what, settings.limit);
    return outcome;
  }
  if (answer->end == Answer::Crashed) {
    outcome.verdict = Verdict::Crash;
    outcome.message = llvm::formatv("{0} crashes: {1}", what,
                                    answer->signal ? strsignal(answer->signal) : "it ends without an answer");
    return outcome;
  }
  outcome.verdict =
      static_cast<Verdict>(answer->message.head.getInteger("verdict").value_or(int64_t(Verdict::Unknown)));
  outcome.message = answer->message.head.getString("message").value_or("").str();
  if (outcome.verdict == Verdict::Refused && !answer->printed.empty())
    outcome.message = lastError(answer->printed);
  outcome.outputs = std::make_shared<std::vector<Array>>(std::move(answer->message.arrays));
  if (outcome.verdict == Verdict::Right)
    judgeOutputs(outcome, reference);
  return outcome;
}
