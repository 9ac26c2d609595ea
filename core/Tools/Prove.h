//===- Prove.h - The option --prove of a command ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For a command that compiles:
///
///   ProveOption option{category};                 // --prove[=text|json|require]
///   Prover prover(option);                        // checks the form
///   options.afterStage = [&](unsigned stage, ModuleOp now) { prover.afterStage(stage, now, log); };
///   ... compile ...
///   if (llvm::Error error = prover.verdict())     // with `require`, where something is not proved
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TOOLS_PROVE_H
#define TILEWRIGHT_CORE_TOOLS_PROVE_H

#include "core/Proof/Proof.h"
#include "tilewright/Explain.h"

#include "llvm/Support/CommandLine.h"
#include <optional>

namespace tilewright {

struct ProveOption {
  explicit ProveOption(llvm::cl::OptionCategory &category);
  llvm::cl::opt<std::string> form;
};

/// Keeps the option's value, since linking resets the options of the process.
class Prover {
public:
  explicit Prover(const ProveOption &option);
  explicit operator bool() const { return isAsked; }
  /// An unknown form, with what would be right.
  llvm::Error check() const;
  /// Proves the program that stage 4 leaves, and compares its sums with those after stage 2, into `log` where there is
  /// one; else prints what came out.
  void afterStage(unsigned stage, mlir::ModuleOp module, DecisionLog *log);
  /// The same for a command that goes on with the program and prints later: proves the first program that it sees.
  void keepAfterStage(unsigned stage, mlir::ModuleOp module);
  /// What was proved, where `keepAfterStage` did.
  const std::optional<proof::Proof> &kept() const { return result; }
  void print() const;
  /// With `require`: the error that something is not proved.
  llvm::Error verdict() const;

private:
  bool isAsked;
  std::string form;
  std::optional<proof::Sums> written; // of the program after stage 2
  double writtenSeconds = 0;          // that counting took
  std::optional<proof::Proof> result;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TOOLS_PROVE_H
