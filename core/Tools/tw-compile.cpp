//===- tw-compile.cpp - Compile a program ahead of time -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tw-compile FILE.mlir -o OUT.{o,so,ll}`: writes code, a C header, and what the
/// cost models decided. See docs/tools.md.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "core/Explore/ContractCost.h"
#include "core/Pages/ExplainPage.h"
#include "core/Pipelines/Compilation.h"
#include "core/Tools/Command.h"
#include "core/Tools/Prove.h"
#include "tilewright/Explain.h"
#include "tilewright/Target.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace tilewright;
namespace cl = llvm::cl;

namespace {

struct Arguments {
  cl::OptionCategory category{"tw-compile options"};
  ProgramOptions program{category};
  cl::opt<std::string> outputFile{
      "o", cl::desc("Output: .o object, .so shared library, .ll LLVM IR, .tw launches, .c C source"),
      cl::value_desc("OUT"), cl::cat(category)};
  cl::opt<std::string> headerFile{"header", cl::desc("C header to write"), cl::value_desc("H.h"), cl::cat(category)};
  cl::opt<std::string> explain{"explain", cl::desc("Print the decisions of the cost models: text, json or html"),
                               cl::ValueOptional, cl::init(""), cl::cat(category)};
  ProveOption prove{category};
  cl::opt<std::string> dumpStages{"dump-stages", cl::desc("Directory for the IR after each stage"),
                                  cl::value_desc("DIR"), cl::cat(category)};
  cl::opt<std::string> time{
      "time", cl::desc("Print where the time of the compilation went: text or json; or counts of what it did: counts"),
      cl::ValueOptional, cl::init(""), cl::cat(category)};
};

} // namespace

/// Compiles as `arguments` say; the status of the process.
static int run(const Arguments &arguments) {
  const ProgramOptions &program = arguments.program;
  bool wantsExplanation = arguments.explain.getNumOccurrences() > 0;
  const std::string &form = arguments.explain;
  if (form != "" && form != "text" && form != "json" && form != "html")
    return fail("unknown form '" + form + "' of --explain; expected text, json or html");
  const std::string outputFile = arguments.outputFile, headerFile = arguments.headerFile;
  Prover prover(arguments.prove);
  if (llvm::Error error = prover.check())
    return fail(std::move(error));
  if (outputFile.empty() && !wantsExplanation && !prover && arguments.dumpStages.empty() && headerFile.empty())
    return fail("nothing to write; name an output with -o OUT.{o,so,ll}, or use --header, --explain, --prove or "
                "--dump-stages");
  llvm::StringRef extension = llvm::sys::path::extension(outputFile);
  extension.consume_front(".");
  // Names of the process's options: linking resets those.
  const Output output{extension.str(), llvm::sys::path::filename(outputFile).str(),
                      llvm::sys::path::filename(headerFile).str()};
  if (llvm::Error error = checkOutput(program.target, output))
    return fail(std::move(error));
  auto chip = llvm::cantFail(TargetRegistry::get().describe(program.target));

  std::optional<Stopwatch> reading(std::in_place, "read");
  Program source(program);
  mlir::ModuleOp module = source.read();
  reading.reset();
  if (!module)
    return 1;

  CompileOptions options = program.compileOptions("tw-compile-crash.mlir");
  options.dumpDirectory = arguments.dumpStages;
  std::optional<DecisionLog> log;
  html::Explanation explanation{program.inputFile, {}, "", ""};
  llvm::json::Array costs; // of the contract, beside the default one
  if (wantsExplanation && options.fp == "reproducible") {
    auto priced = explore::contractCost(module, options);
    if (!priced)
      return fail(priced.takeError());
    costs = std::move(*priced);
  }
  if (wantsExplanation)
    log.emplace(&source.context());
  options.afterStage = [&](unsigned stage, mlir::ModuleOp now) {
    prover.afterStage(stage, now, log ? &*log : nullptr);
    if (form == "html" && (stage == 2 || stage == 3)) {
      llvm::raw_string_ostream os(stage == 2 ? explanation.before : explanation.after);
      now.print(os);
    }
    if (!log || stage < 5)
      return;
    llvm::json::Array decisions = log->take();
    for (llvm::json::Value &each : costs)
      decisions.push_back(std::move(each));
    if (form == "html") {
      explanation.decisions = std::move(decisions);
      llvm::outs() << html::explainPage(*chip, explanation);
    } else if (form == "json") {
      llvm::json::Value value(std::move(decisions));
      DecisionLog::addFormerNames(value);
      llvm::outs() << llvm::formatv("{0:2}", value) << "\n";
    } else
      DecisionLog::printText(decisions, llvm::outs());
  };
  auto compiled = compileProgram(module, program.functionName, options, output);
  if (!compiled)
    return fail(compiled.takeError());
  if (llvm::Error error = prover.verdict())
    return fail(std::move(error));
  // The code first: where it cannot be had, no header of it is left.
  if (!outputFile.empty())
    if (llvm::Error error = writeFile(outputFile, compiled->artifact))
      return fail(std::move(error));
  if (!headerFile.empty())
    if (llvm::Error error = writeFile(headerFile, compiled->header))
      return fail(std::move(error));
  return 0;
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  if (llvm::Error error =
          command.parse(arguments.category, "Compiles a tensor program ahead of time.\n", arguments.program))
    return fail(std::move(error));
  // Linking resets the options of the process.
  const bool isTimed = arguments.time.getNumOccurrences() > 0;
  const std::string form = arguments.time;
  if (form != "" && form != "text" && form != "json" && form != "counts")
    return fail("unknown form '" + form + "' of --time; expected text, json or counts");
  if (form == "counts") {
    WorkCounter counter;
    int status = 0;
    {
      mlir::TimingScope root = counter.getRootScope();
      Stopwatch stopwatch("compilation", &root);
      status = run(arguments);
    }
    if (!status)
      llvm::errs() << llvm::formatv("{0:2}", llvm::json::Value(counter.toJson())) << "\n";
    return status ? status : finish(0);
  }
  mlir::DefaultTimingManager times;
  times.setEnabled(isTimed);
  times.setDisplayMode(mlir::DefaultTimingManager::DisplayMode::Tree);
  using Format = mlir::DefaultTimingManager::OutputFormat;
  times.setOutput(mlir::createOutputStrategy(form == "json" ? Format::Json : Format::Text, llvm::errs()));
  mlir::TimingScope root = times.getRootScope();
  int status = 0;
  {
    Stopwatch stopwatch("compilation", isTimed ? &root : nullptr);
    status = run(arguments);
  }
  root.stop();
  if (status)
    times.clear(); // else they are printed at the end
  return status ? status : finish(0);
}
