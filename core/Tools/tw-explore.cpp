//===- tw-explore.cpp - Chips that differ in numbers, compared ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans programs for many chips that differ from a described one in numbers, and compares them:
///
///   tw-explore PROGRAM.mlir... --target acme:one --vary memory.scratchpad.bytes=256K:4M:x2
///
///   tw-explore PROGRAM.mlir ... --emit 7 -o program.tw   the code of one design
///
///   tw-explore PROGRAM.mlir ... --explain 7              its decisions, as tw-compile --explain=json prints them
///
//===----------------------------------------------------------------------===//

#include "core/Explore/Page.h"
#include "core/Explore/Report.h"
#include "core/Pipelines/Compilation.h"
#include "core/Tools/Command.h"
#include "tilewright/Explain.h"
#include "tilewright/Target.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <thread>

using namespace tilewright;
namespace cl = llvm::cl;

namespace {

struct Arguments {
  cl::OptionCategory category{"tw-explore options"};
  ProgramOptions program{category};
  cl::list<std::string> others{cl::Positional, cl::desc("[FILE.mlir...]"), cl::cat(category)};
  cl::list<std::string> vary{"vary", cl::desc("A field and its values: FIRST:LAST:xFACTOR, FIRST:LAST:+STEP or a list"),
                             cl::value_desc("PATH[+PATH]=VALUES"), cl::cat(category)};
  cl::list<std::string> derived{"set", cl::desc("A field that follows from others in each design"),
                                cl::value_desc("PATH=EXPRESSION"), cl::cat(category)};
  cl::list<std::string> costs{"cost", cl::desc("What time is weighed against: an expression over fields"),
                              cl::value_desc("EXPRESSION"), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print one JSON object (docs/json.md)"), cl::cat(category)};
  cl::opt<std::string> csv{"csv", cl::desc("Write a table"), cl::value_desc("T.csv"), cl::cat(category)};
  cl::opt<std::string> html{"html", cl::desc("Write a page"), cl::value_desc("R.html"), cl::cat(category)};
  cl::opt<unsigned> jobs{"jobs", cl::desc("Threads that plan (default: the processors)"),
                         cl::init(std::max(1u, std::thread::hardware_concurrency())), cl::cat(category)};
  cl::opt<unsigned> emit{"emit", cl::desc("Compile the program for the design of this number, to the file of -o"),
                         cl::value_desc("N"), cl::cat(category)};
  cl::opt<std::string> outputFile{"o", cl::desc("With --emit: the output, as of tw-compile"), cl::value_desc("OUT"),
                                  cl::cat(category)};
  cl::opt<unsigned> explain{"explain", cl::desc("Print the decisions for the design of this number as JSON"),
                            cl::value_desc("N"), cl::cat(category)};
};

} // namespace

static llvm::Expected<explore::Sweep> sweepOf(const Arguments &arguments) {
  explore::Sweep sweep;
  sweep.target = arguments.program.target;
  for (const std::string &option : arguments.vary) {
    auto axis = explore::parseAxis(option);
    if (!axis)
      return axis.takeError();
    sweep.axes.push_back(std::move(*axis));
  }
  for (const std::string &option : arguments.derived) {
    auto [path, expression] = llvm::StringRef(option).split('=');
    if (path.empty() || expression.empty())
      return llvm::createStringError("--set '" + option + "' gives no field a value; write PATH=EXPRESSION");
    sweep.derived.emplace_back(path.str(), expression.str());
  }
  sweep.costs.assign(arguments.costs.begin(), arguments.costs.end());
  return sweep;
}

/// Compiles the program for the design `number` as tw-compile would for its chip: code to the file of -o, or the
/// decisions to standard output.
static int compileDesign(const Arguments &arguments, const explore::Sweep &sweep, size_t number) {
  const bool isCode = arguments.emit.getNumOccurrences() > 0;
  const std::string outputFile = arguments.outputFile;
  if (!arguments.others.empty())
    return fail("--emit and --explain compile one program; name one");
  if (isCode && outputFile.empty())
    return fail("--emit writes to the file of -o OUT, which is missing");
  auto designs = sweep.designs();
  if (!designs)
    return fail(designs.takeError());
  if (number >= designs->size())
    return fail(
        llvm::formatv("there is no design {0}; the axes span designs 0 to {1}", number, designs->size() - 1).str());
  const explore::Design &design = (*designs)[number];
  if (!design.refusal.empty())
    return fail(llvm::formatv("design {0} is refused: {1}", number, design.refusal).str());

  llvm::StringRef extension = llvm::sys::path::extension(outputFile);
  extension.consume_front(".");
  const Output output{isCode ? extension.str() : "", llvm::sys::path::filename(outputFile).str(), ""};
  if (llvm::Error error = checkOutput(design.target, output))
    return fail(std::move(error));
  Program source(arguments.program);
  mlir::ModuleOp module = source.read();
  if (!module)
    return 1;
  CompileOptions options = arguments.program.compileOptions("tw-explore-crash.mlir");
  options.target = design.target;
  std::optional<DecisionLog> log;
  if (!isCode)
    log.emplace(&source.context());
  options.afterStage = [&](unsigned stage, mlir::ModuleOp) {
    if (!log || stage < 5)
      return;
    llvm::json::Value value(log->take());
    DecisionLog::addFormerNames(value);
    llvm::outs() << llvm::formatv("{0:2}", value) << "\n";
  };
  auto compiled = compileProgram(module, arguments.program.functionName, options, output);
  if (!compiled)
    return fail(compiled.takeError());
  if (isCode)
    if (llvm::Error error = writeFile(outputFile, compiled->artifact))
      return fail(std::move(error));
  return finish(0);
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  if (llvm::Error error = command.parse(
          arguments.category, "Compares chips that differ from a described one in numbers.\n", arguments.program))
    return fail(std::move(error));
  auto sweep = sweepOf(arguments);
  if (!sweep)
    return fail(sweep.takeError());
  if (arguments.emit.getNumOccurrences() && arguments.explain.getNumOccurrences())
    return fail("--emit and --explain exclude each other");
  if (arguments.emit.getNumOccurrences() || arguments.explain.getNumOccurrences())
    return compileDesign(arguments, *sweep, arguments.emit.getNumOccurrences() ? arguments.emit : arguments.explain);
  if (!arguments.outputFile.empty())
    return fail("-o is where --emit writes to; give both");

  explore::ExploreOptions options;
  options.programs.push_back(arguments.program.inputFile);
  options.programs.insert(options.programs.end(), arguments.others.begin(), arguments.others.end());
  if (options.programs.size() == 1 && options.programs.front() == "-")
    return fail("name the programs, FILE.mlir...: each is read by every thread");
  options.fp = arguments.program.fp;
  options.checkIndices = arguments.program.checkIndices;
  options.threads = arguments.program.threads;
  options.jobs = arguments.jobs;
  const bool shows = llvm::errs().is_displayed();
  auto exploration = explore::explore(*sweep, options, [&](size_t finished, size_t all) {
    if (shows)
      llvm::errs() << llvm::formatv("\r\033[K{0} of {1} designs", finished, all);
  });
  if (shows)
    llvm::errs() << "\r\033[K";
  if (!exploration)
    return fail(exploration.takeError());
  if (!arguments.csv.empty())
    if (llvm::Error error = writeFile(arguments.csv, explore::toCsv(*exploration)))
      return fail(std::move(error));
  if (!arguments.html.empty())
    if (llvm::Error error = writeFile(arguments.html, explore::toHtml(*exploration)))
      return fail(std::move(error));
  if (arguments.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(explore::toJson(*exploration))) << "\n";
  else
    explore::printTable(*exploration, llvm::outs());
  return finish(0);
}
