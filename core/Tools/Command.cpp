//===- Command.cpp - What the commands share ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Start, options, errors and end of tw-compile and tw-run.
///
//===----------------------------------------------------------------------===//

#include "core/Tools/Command.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Pipelines/Guard.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include <csignal>
#include <cstdlib>

using namespace tilewright;
namespace cl = llvm::cl;

/// The command's own name, for messages.
static std::string commandName = "tilewright";

TargetOptions::TargetOptions(cl::OptionCategory &category)
    : target("target", cl::desc("TARGET[:CHIP] to compile for"), cl::init("cpu:host"), cl::cat(category)),
      plugins("load-target", cl::desc("Target plugin library to load"), cl::cat(category)) {}

llvm::Error TargetOptions::check() const {
  for (const std::string &plugin : plugins)
    if (llvm::Error error = TargetRegistry::get().load(plugin))
      return error;
  return TargetRegistry::get().describe(target).takeError();
}

ProgramOptions::ProgramOptions(cl::OptionCategory &category)
    : TargetOptions(category), inputFile(cl::Positional, cl::desc("FILE.mlir"), cl::init("-"), cl::cat(category)),
      functionName("function", cl::desc("The function meant (default: the public ones)"), cl::cat(category)),
      threads("threads", cl::desc("Threads of parallel loops"), cl::init(1), cl::cat(category)),
      fp("fp", cl::desc("Floating-point contract: default, strict, reproducible or fast"), cl::init("default"),
         cl::cat(category)),
      checkIndices("check-indices",
                   cl::desc("An index made of data that lies outside of its array is an error of the call"),
                   cl::cat(category)) {}

llvm::Error ProgramOptions::check() const {
  if (llvm::Error error = TargetOptions::check())
    return error;
  if (!llvm::is_contained({"default", "strict", "reproducible", "fast"}, fp.getValue()))
    return llvm::createStringError("unknown floating-point contract '" + fp +
                                   "'; expected default, strict, reproducible or fast");
  if (threads < 1 || threads > 1024)
    return llvm::createStringError("--threads=" + llvm::Twine(threads) + " is out of range; expected 1 to 1024");
  return llvm::Error::success();
}

CompileOptions ProgramOptions::compileOptions(llvm::StringRef reproducer) const {
  CompileOptions options;
  options.target = target;
  options.fp = fp;
  options.threads = threads;
  options.reproducer = reproducer;
  return options;
}

Command::Command(int &argc, char **&argv) : init(argc, argv), argc(argc), argv(argv) {
  commandName = llvm::sys::path::filename(argv[0]).str();
  cl::ResetCommandLineParser();
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "Tilewright " TILEWRIGHT_VERSION ", target API version " << targetApiVersion
       << ", LLVM " LLVM_VERSION_STRING "\n";
  });
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is a failed write, with its message
#endif
}

llvm::Error Command::parse(cl::OptionCategory &category, llvm::StringRef overview, const TargetOptions &options) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, overview);
  registerLinkedTargets();
  return options.check();
}

Program::Program(const ProgramOptions &options)
    : options(options), mlirContext(programDialects(), mlir::MLIRContext::Threading::DISABLED),
      handler(sources, &mlirContext) {
  // The source line shows what is meant; the operation as a stage left it says little to the program's author.
  mlirContext.printOpOnDiagnostic(false);
}

mlir::ModuleOp Program::read() {
  // Verifiers of operations may crash on what they take for granted.
  if (finishes([&] { module = parseProgram(options.inputFile, sources, mlirContext); })) {
    if (module && options.checkIndices)
      (*module)->setAttr(checkIndicesAttr, mlir::UnitAttr::get(&mlirContext));
    return module.get();
  }
  (void)fail("reading '" + options.inputFile +
             "' crashed: MLIR's parser or verifier takes something for granted that does not hold there; 'mlir-opt' of "
             "LLVM " LLVM_VERSION_STRING " shows where");
  llvm::errs().flush();
  std::_Exit(1); // the context is half-written
}

int tilewright::fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), commandName) << message << "\n";
  return 1;
}

int tilewright::fail(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error), [](const Reported &) {}, [](const llvm::ErrorInfoBase &info) { (void)fail(info.message()); });
  return 1;
}

int tilewright::finish(int status) {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return status;
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  return fail("cannot write to standard output: " + error.message());
}
