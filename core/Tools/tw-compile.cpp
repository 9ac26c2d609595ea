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

#include "core/Pages/ExplainPage.h"
#include "core/Pipelines/Header.h"
#include "core/Tools/Command.h"
#include "tilewright/Cores.h"
#include "tilewright/Explain.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
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
  cl::opt<std::string> dumpStages{"dump-stages", cl::desc("Directory for the IR after each stage"),
                                  cl::value_desc("DIR"), cl::cat(category)};
};

} // namespace

/// Writes the module after stage 5 as what the output's name says.
static llvm::Error emit(mlir::ModuleOp module, const std::string &outputFile) {
  auto generator = CodeGenerator::create(module);
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext context;
  auto code = (*generator)->translate(module, context);
  if (!code)
    return code.takeError();
  llvm::StringRef extension = llvm::sys::path::extension(outputFile);
  if (extension == ".ll") {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*code)->print(os, nullptr);
    return writeFile(outputFile, text);
  }
  auto object = (*generator)->object(**code);
  if (!object)
    return object.takeError();
  if (extension == ".o")
    return writeFile(outputFile, (*object)->getBuffer());
  return linkSharedLibrary((*object)->getBuffer(), outputFile, (*generator)->machine(), needsThreads(module));
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  const ProgramOptions &program = arguments.program;
  if (llvm::Error error = command.parse(arguments.category, "Compiles a tensor program ahead of time.\n", program))
    return fail(std::move(error));
  bool wantsExplanation = arguments.explain.getNumOccurrences() > 0;
  const std::string &form = arguments.explain;
  if (form != "" && form != "text" && form != "json" && form != "html")
    return fail("unknown form '" + form + "' of --explain; expected text, json or html");
  const std::string outputFile = arguments.outputFile, headerFile = arguments.headerFile;
  llvm::StringRef extension = llvm::sys::path::extension(outputFile);
  if (outputFile.empty() && !wantsExplanation && arguments.dumpStages.empty() && headerFile.empty())
    return fail("nothing to write; name an output with -o OUT.{o,so,ll}, or use --header, --explain or --dump-stages");
  auto chip = TargetRegistry::get().describe(program.target);
  bool lanes = chip ? laneHierarchy(**chip).has_value() : false;
  bool cores = chip ? coreHierarchy(**chip).has_value() : false;
  llvm::consumeError(chip ? llvm::Error::success() : chip.takeError()); // reported when the stages run
  if (cores && !outputFile.empty() && extension != ".c" && extension != ".ll")
    return fail("cannot tell what '" + outputFile + "' shall be; for " + program.target +
                " expected a name that ends with .c or .ll");
  if (!lanes && !cores && !outputFile.empty() && extension != ".o" && extension != ".so" && extension != ".ll")
    return fail("cannot tell what '" + outputFile + "' shall be; expected a name that ends with .o, .so or .ll");

  Program source(program);
  mlir::ModuleOp module = source.read();
  if (!module || (!program.functionName.empty() && mlir::failed(selectFunction(module, program.functionName))))
    return 1;

  CompileOptions options = program.compileOptions("tw-compile-crash.mlir");
  options.dumpDirectory = arguments.dumpStages;
  if (cores && !outputFile.empty()) // the vendor's compiler makes the vectors
    module->setAttr(scalarCodeAttr, mlir::UnitAttr::get(module.getContext()));
  std::optional<DecisionLog> log;
  html::Explanation explanation{program.inputFile, {}, "", ""};
  if (wantsExplanation)
    log.emplace(&source.context());
  if (form == "html")
    options.afterStage = [&](unsigned stage, mlir::ModuleOp now) {
      if (stage != 2 && stage != 3)
        return;
      llvm::raw_string_ostream os(stage == 2 ? explanation.before : explanation.after);
      now.print(os);
    };
  if (mlir::failed(runStages(module, 1, 4, options)))
    return 1;
  std::vector<Signature> signatures;
  for (mlir::func::FuncOp function : publicFunctions(module)) {
    auto signature = Signature::of(function);
    if (mlir::failed(signature))
      return 1;
    signatures.push_back(std::move(*signature));
  }
  if (signatures.empty())
    return fail("'" + program.inputFile + "' has no public function with a body");
  if (lanes && !headerFile.empty())
    return fail("a header describes functions of the host; chip '" + program.target +
                "' has launches, which -o OUT.tw holds");
  if (!headerFile.empty())
    if (llvm::Error error = checkNamesInC(signatures))
      return fail(std::move(error));
  if (mlir::failed(runStages(module, 5, 5, options)))
    return 1;
  if (log) {
    llvm::json::Array decisions = log->take();
    if (form == "html") {
      explanation.decisions = std::move(decisions);
      llvm::outs() << html::explainPage(**chip, explanation);
    } else if (form == "json") {
      llvm::json::Value value(std::move(decisions));
      DecisionLog::addFormerNames(value);
      llvm::outs() << llvm::formatv("{0:2}", value) << "\n";
    } else
      DecisionLog::printText(decisions, llvm::outs());
  }
  // The code first: where it cannot be had, no header of it is left. Linking resets the options of the process.
  std::string header = cHeader(signatures, llvm::sys::path::filename(headerFile), program.target, cores);
  if (!outputFile.empty())
    if (llvm::Error error = lanes ? writeLaunches(module, outputFile)

                            : cores ? (extension == ".c" ? writeC : writeLLVM)(module, outputFile)
                                    : emit(module, outputFile))
      return fail(std::move(error));
  if (!headerFile.empty())
    if (llvm::Error error = writeFile(headerFile, header))
      return fail(std::move(error));
  return finish(0);
}
