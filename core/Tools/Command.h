//===- Command.h - What the commands share ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The options, the start, the errors and the end that tw-compile and tw-run
/// have in common. A command is
///
///   struct Arguments { cl::OptionCategory category{...}; ProgramOptions program{category}; ... };
///   int main(int argc, char **argv) {
///     Command command(argc, argv);
///     Arguments arguments;                                  // after the libraries' own options are gone
///     if (llvm::Error error = command.parse(arguments.category, "What it does.\n", arguments.program))
///       return fail(std::move(error));
///     ...
///     return finish(status);
///   }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TOOLS_COMMAND_H
#define TILEWRIGHT_CORE_TOOLS_COMMAND_H

#include "tilewright/Compiler.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

namespace tilewright {

/// The options of every command that is about a chip.
struct TargetOptions {
  explicit TargetOptions(llvm::cl::OptionCategory &category);
  virtual ~TargetOptions() = default;

  llvm::cl::opt<std::string> target;
  llvm::cl::list<std::string> plugins;

  /// Loads the plugins and checks every value; an error says what would be right.
  virtual llvm::Error check() const;
};

/// The options of every command that compiles a program.
struct ProgramOptions : TargetOptions {
  explicit ProgramOptions(llvm::cl::OptionCategory &category);

  llvm::cl::opt<std::string> inputFile, functionName;
  llvm::cl::opt<int64_t> threads;
  llvm::cl::opt<std::string> fp;
  llvm::cl::opt<bool> checkIndices;

  llvm::Error check() const override;
  /// `reproducer`: the file that a crash leaves behind.
  CompileOptions compileOptions(llvm::StringRef reproducer) const;
};

/// The process as a command: LLVM's set-up, and the options of the libraries, which share some names, out of the way.
class Command {
public:
  Command(int &argc, char **&argv);
  /// Reads the command line, registers the linked targets, checks what `options` hold.
  llvm::Error parse(llvm::cl::OptionCategory &category, llvm::StringRef overview, const TargetOptions &options);

private:
  llvm::InitLLVM init;
  int argc;
  char **argv;
};

/// One program in a context that knows all dialects, those of targets too. Diagnostics go to standard error, each with
/// its source line.
class Program {
public:
  explicit Program(const ProgramOptions &options);
  /// Reads the file; null after a diagnostic.
  mlir::ModuleOp read();
  mlir::MLIRContext &context() { return mlirContext; }

private:
  const ProgramOptions &options;
  mlir::MLIRContext mlirContext;
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Prints one error and returns the exit status of failure; an error that was reported already is not printed again.
int fail(const llvm::Twine &message);
int fail(llvm::Error error);

/// Flushes standard output: `status`, or failure with a message when something printed did not arrive (a full disk).
int finish(int status);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TOOLS_COMMAND_H
