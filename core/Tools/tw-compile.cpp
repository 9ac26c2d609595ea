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

#include "core/Pipelines/Header.h"
#include "tilewright/Compiler.h"
#include "tilewright/Explain.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace tilewright;
namespace cl = llvm::cl;

namespace {

/// The command line. Made inside main, after the options of the libraries, which share some names, are gone.
struct Arguments {
  cl::OptionCategory category{"tw-compile options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::desc("FILE.mlir"), cl::init("-"), cl::cat(category)};
  cl::opt<std::string> outputFile{"o", cl::desc("Output: .o object, .so shared library, .ll LLVM IR"),
            cl::value_desc("OUT"), cl::cat(category)};
  cl::opt<std::string> headerFile{"header", cl::desc("C header to write"), cl::value_desc("H.h"),
            cl::cat(category)};
  cl::opt<std::string> functionName{"function", cl::desc("Compile this function only (default: all public ones)"),
            cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("TARGET[:CHIP] to compile for"), cl::init("cpu:host"),
            cl::cat(category)};
  cl::list<std::string> plugins{"load-target", cl::desc("Target plugin library to load"), cl::cat(category)};
  cl::opt<std::string> explain{"explain", cl::desc("Print the decisions of the cost models: text or json"),
            cl::ValueOptional, cl::init(""), cl::cat(category)};
  cl::opt<std::string> dumpStages{"dump-stages", cl::desc("Directory for the IR after each stage"),
            cl::value_desc("DIR"), cl::cat(category)};
  cl::opt<int64_t> threads{"threads", cl::desc("Threads of parallel loops"), cl::init(1), cl::cat(category)};
  cl::opt<std::string> fp{"fp", cl::desc("Floating-point contract: default, strict or fast"), cl::init("default"),
            cl::cat(category)};
};

} // namespace

static Arguments &args() {
  static Arguments arguments;
  return arguments;
}

/// Prints one error and returns the exit status of failure.
static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "tw-compile") << message << "\n";
  return 1;
}
static int fail(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error), [](const Reported &) {}, [](const llvm::ErrorInfoBase &info) { (void)fail(info.message()); });
  return 1;
}

/// Writes the module after stage 5 as what the output's name says.
static llvm::Error emit(mlir::ModuleOp module) {
  auto generator = CodeGenerator::create(module);
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext context;
  auto code = (*generator)->translate(module, context);
  if (!code)
    return code.takeError();
  llvm::StringRef extension = llvm::sys::path::extension(args().outputFile);
  if (extension == ".ll") {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*code)->print(os, nullptr);
    return writeFile(args().outputFile, text);
  }
  auto object = (*generator)->object(**code);
  if (!object)
    return object.takeError();
  if (extension == ".o")
    return writeFile(args().outputFile, (*object)->getBuffer());
  return linkSharedLibrary((*object)->getBuffer(), args().outputFile, (*generator)->machine(), needsThreads(module));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ResetCommandLineParser();
  cl::HideUnrelatedOptions(args().category);
  cl::ParseCommandLineOptions(argc, argv, "Compiles a tensor program ahead of time.\n");
  registerLinkedTargets();
  for (const std::string &plugin : args().plugins)
    if (llvm::Error error = TargetRegistry::get().load(plugin))
      return fail(std::move(error));
  if (args().fp != "default" && args().fp != "strict" && args().fp != "fast")
    return fail("unknown floating-point contract '" + args().fp + "'; expected default, strict or fast");
  if (args().threads < 1 || args().threads > 1024)
    return fail("--threads=" + llvm::Twine(args().threads) + " is out of range; expected 1 to 1024");
  bool wantsExplanation = args().explain.getNumOccurrences() > 0;
  if (args().explain != "" && args().explain != "text" && args().explain != "json")
    return fail("unknown form '" + args().explain + "' of --explain; expected text or json");
  llvm::StringRef extension = llvm::sys::path::extension(args().outputFile);
  if (args().outputFile.empty() && !wantsExplanation && args().dumpStages.empty() && args().headerFile.empty())
    return fail("nothing to write; name an output with -o OUT.{o,so,ll}, or use --header, --explain or --dump-stages");
  if (!args().outputFile.empty() && extension != ".o" && extension != ".so" && extension != ".ll")
    return fail("cannot tell what '" + args().outputFile + "' shall be; expected a name that ends with .o, .so or .ll");
  if (auto description = TargetRegistry::get().describe(args().target); !description)
    return fail(description.takeError());

  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  for (const Target *known : TargetRegistry::get().targets())
    known->registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = parseProgram(args().inputFile, sources, context);
  if (!module || (!args().functionName.empty() && mlir::failed(selectFunction(*module, args().functionName))))
    return 1;

  CompileOptions options;
  options.target = args().target;
  options.fp = args().fp;
  options.threads = args().threads;
  options.dumpDirectory = args().dumpStages;
  options.reproducer = "tw-compile-crash.mlir";
  std::optional<DecisionLog> log;
  if (wantsExplanation)
    log.emplace(&context);
  if (mlir::failed(runStages(*module, 1, 4, options)))
    return 1;
  std::vector<Signature> signatures;
  for (mlir::func::FuncOp function : publicFunctions(*module)) {
    auto signature = Signature::of(function);
    if (mlir::failed(signature))
      return 1;
    signatures.push_back(std::move(*signature));
  }
  if (signatures.empty())
    return fail("'" + args().inputFile + "' has no public function with a body");
  if (mlir::failed(runStages(*module, 5, 5, options)))
    return 1;
  if (log) {
    llvm::json::Array decisions = log->take();
    if (args().explain == "json")
      llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(decisions))) << "\n";
    else
      DecisionLog::printText(decisions, llvm::outs());
  }
  if (!args().headerFile.empty())
    if (llvm::Error error =
            writeFile(args().headerFile, cHeader(signatures, llvm::sys::path::filename(args().headerFile), args().target)))
      return fail(std::move(error));
  if (!args().outputFile.empty())
    if (llvm::Error error = emit(*module))
      return fail(std::move(error));
  return 0;
}
