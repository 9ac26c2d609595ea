//===- Compilation.h - A whole compilation ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From a module as it was read to what shall come of it: what tw-compile and the
/// C interface have in common.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_COMPILATION_H
#define TILEWRIGHT_CORE_PIPELINES_COMPILATION_H

#include "core/Analysis/Signature.h"
#include "core/Pipelines/LargeConstants.h"

namespace tilewright {

class TargetDescription;

/// What the programs of a chip are.
enum class ProgramForm {
  Functions, // code of a processor
  Launches,  // an artifact for a device
  Source     // C for chips whose cores program engines
};
ProgramForm programForm(const TargetDescription &chip);

/// What shall come of a compilation.
struct Output {
  /// As the end of a file's name says it: "so", "o", "ll", "tw", "c" or a kind of code of the target; empty: no code.
  std::string kind;
  /// Name of the file, for messages and in a shared library.
  std::string file;
  /// File name of a C header; empty: none.
  std::string header;
};

/// The kinds that programs for `target` ("target:chip") can have.
llvm::Expected<std::vector<std::string>> outputKinds(llvm::StringRef target);
/// An error that says what would be right, where `output` cannot be had for `target`.
llvm::Error checkOutput(llvm::StringRef target, const Output &output);

struct Compilation {
  std::vector<Signature> signatures; // of the public functions; they live as long as the context
  Artifact artifact;                 // its constants live as long as the context
  std::string header;
};

/// All stages and code generation; consumes `module`. `function`: the one meant; empty: the public ones. Failures of
/// the stages are diagnostics; the returned error then says nothing more.
llvm::Expected<Compilation> compileProgram(mlir::ModuleOp module, llvm::StringRef function,
                                           const CompileOptions &options, const Output &output);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_COMPILATION_H
