//===- tw-bisect.cpp - Which pass breaks a program ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tw-bisect FILE.mlir`: from a program that is compiled wrongly, or not at all, to the first wrong stage, pass and
/// nest, and to a small program that fails alone. See docs/bisect.md.
///
//===----------------------------------------------------------------------===//

#include "core/Bisect/Reducer.h"
#include "core/Bisect/Report.h"
#include "core/Pipelines/PlacedProgram.h"
#include "core/Runtime/Npy.h"
#include "core/Tools/Command.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace tilewright;
using namespace tilewright::bisect;
namespace cl = llvm::cl;

namespace {

struct Arguments {
  cl::OptionCategory category{"tw-bisect options"};
  ProgramOptions program{category};
  cl::list<std::string> inputs{"input", cl::desc(".npy file of the next input (default: random)"), cl::cat(category)};
  cl::list<int64_t> sizeList{"sizes", cl::desc("Dynamic sizes in order of first appearance"), cl::CommaSeparated,
                             cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Seed of random inputs"), cl::init(0), cl::cat(category)};
  cl::opt<std::string> device{"device", cl::desc("Where the program runs: host, emulator, model or exec:PROG"),
                              cl::init("host"), cl::cat(category)};
  cl::opt<double> limit{"limit", cl::desc("Seconds of one attempt, after which it has timed out"), cl::init(20),
                        cl::cat(category)};
  cl::opt<double> budget{"budget", cl::desc("Seconds after which the program is not made smaller any more"),
                         cl::init(90), cl::cat(category)};
  cl::opt<std::string> outputFile{"o", cl::desc("File of the reproducer (default: FILE-bisected.mlir, here)"),
                                  cl::value_desc("OUT.mlir"), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("Say whether the program fails, and no more"), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print one JSON object (docs/json.md)"), cl::cat(category)};
};

} // namespace

static std::string quoted(llvm::StringRef text) {
  return text.find_first_of(" '\"$&;|<>()*") == llvm::StringRef::npos ? text.str() : "'" + text.str() + "'";
}

/// The command that shows the failure of the program in `file`.
static std::string commandFor(const Arguments &arguments, const Subject &subject, const Diagnosis &diagnosis,
                              llvm::StringRef file) {
  // Where the reference of --verify is wrong as well, tw-run sees nothing.
  const bool byRun = !diagnosis.referenceWrong;
  std::string command = byRun ? "tw-run " : "tw-bisect --check ";
  command += quoted(file);
  for (const std::string &plugin : arguments.program.plugins)
    command += " --load-target=" + quoted(plugin);
  command += " --target=" + quoted(arguments.program.target);
  if (arguments.device != "host")
    command += " --device=" + quoted(arguments.device);
  if (arguments.program.threads != 1)
    command += " --threads=" + std::to_string(arguments.program.threads);
  if (arguments.program.fp != "default")
    command += " --fp=" + arguments.program.fp;
  if (arguments.program.checkIndices)
    command += " --check-indices";
  if (arguments.seed != 0)
    command += " --seed=" + std::to_string(arguments.seed);
  if (!subject.given.empty())
    for (const std::string &input : arguments.inputs)
      command += " --input=" + quoted(input);
  else if (!subject.sizes.empty())
    command += " --sizes=" +
               llvm::join(llvm::map_range(subject.sizes, [](int64_t size) { return std::to_string(size); }), ",");
  if (byRun && diagnosis.whole.verdict == Verdict::Wrong)
    command += " --verify";
  if (byRun && diagnosis.whole.verdict == Verdict::TimeOut)
    command = llvm::formatv("timeout {0} {1}", arguments.limit.getValue(), command).str();
  return command;
}

/// Reads the reproducer again and runs it.
static bool failsAgain(Trials &trials, mlir::MLIRContext &context, llvm::StringRef file, const Subject &subject,
                       const Diagnosis &diagnosis) {
  llvm::SourceMgr sources;
  Subject again;
  again.program = parseProgram(file, sources, context);
  again.sizes = subject.sizes;
  for (const Array &array : subject.given)
    again.given.push_back(array.clone());
  return again.program && examine(trials, again).whole.verdict == diagnosis.whole.verdict;
}

/// One line on a terminal that says what is going on.
static void show(llvm::StringRef what) {
  if (llvm::errs().is_displayed())
    llvm::errs() << "\r\033[K" << what << (what.empty() ? "" : " ...");
}

/// Writes the reduced program; fills what the report says of it.
static llvm::Error writeReproducer(const Arguments &arguments, Trials &trials, mlir::MLIRContext &context,
                                   const Subject &subject, const Diagnosis &diagnosis, Report &report) {
  report.reproducer = arguments.outputFile;
  if (report.reproducer.empty())
    report.reproducer = (llvm::sys::path::stem(arguments.program.inputFile) + "-bisected.mlir").str();
  report.command = commandFor(arguments, subject, diagnosis, report.reproducer);
  std::string found = llvm::formatv("{0}", nameOf(diagnosis.whole.verdict)).str();
  if (const Step *step = diagnosis.wrongStep())
    found += llvm::formatv(" by pass {0} of {1}", step->pass, describeStage(step->stage)).str();
  std::string text = reproducerText(subject, {found, report.command});
  report.reproducerLines = llvm::count(text, '\n');
  if (llvm::Error error = writeFile(report.reproducer, text))
    return error;
  report.failsAlone = failsAgain(trials, context, report.reproducer, subject, diagnosis);
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  const double start = secondsNow();
  Command command(argc, argv);
  Arguments arguments;
  if (llvm::Error error =
          command.parse(arguments.category, "Finds the pass that breaks a program, and a small program that fails.\n",
                        arguments.program))
    return fail(std::move(error));
  const std::string &device = arguments.device;
  if (device != "host" && device != "emulator" && device != "model" && !llvm::StringRef(device).starts_with("exec:"))
    return fail("unknown device '" + device + "'; expected host, emulator, model or exec:PROG");
  if (!(arguments.limit > 0) || !(arguments.budget >= 0))
    return fail("--limit expects a positive number of seconds, --budget one that is not negative");

  Settings settings;
  settings.compile = arguments.program.compileOptions("");
  settings.referenceTarget = arguments.program.target.getDefault().getValue();
  settings.device = device;
  settings.limit = arguments.limit;
  settings.seed = arguments.seed;
  Program source(arguments.program);
  mlir::ModuleOp module = source.read();
  if (!module)
    return 1;
  mlir::FailureOr<std::string> function = selectFunction(module, arguments.program.functionName);
  if (mlir::failed(function))
    return 1;
  Subject subject;
  subject.program = module.clone();
  subject.sizes.assign(arguments.sizeList.begin(), arguments.sizeList.end());
  for (const std::string &path : arguments.inputs) {
    std::string error;
    std::optional<Array> array = readNpy(path, error);
    if (!array)
      return fail(error);
    subject.given.push_back(std::move(*array));
  }
  auto trials = Trials::create(settings);
  if (!trials)
    return fail(trials.takeError());

  Report report;
  report.file = arguments.program.inputFile;
  report.function = *function;
  show("searching the first wrong pass");
  Diagnosis diagnosis = arguments.check ? examine(*trials, subject) : diagnose(*trials, subject);
  if (!diagnosis.isRight() && !arguments.check) {
    show("making the program smaller");
    Reducer reducer(*trials, subject.clone(), std::move(diagnosis), start + arguments.budget);
    reducer.run();
    subject = reducer.subject().clone();
    diagnosis = reducer.takeDiagnosis();
    if (diagnosis.wrongStep())
      report.nests = changedNests(*trials, subject, diagnosis.lastSuspect);
    if (llvm::Error error = writeReproducer(arguments, *trials, source.context(), subject, diagnosis, report))
      return fail(std::move(error));
  }
  show("");
  report.attempts = trials->attempts();
  report.seconds = secondsNow() - start;
  if (arguments.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(toJson(report, subject, diagnosis))) << "\n";
  else if (diagnosis.isRight())
    llvm::outs() << "right: no element is out of its bound, and nothing else was found\n";
  else if (arguments.check)
    llvm::outs() << nameOf(diagnosis.whole.verdict) << ": " << diagnosis.whole.message << "\n";
  else
    print(report, subject, diagnosis, llvm::outs());
  return finish(diagnosis.isRight() ? 0 : 2);
}
