//===- Prove.cpp - The option --prove of a command ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Proves after stage 4, prints or logs, and refuses where asked to.
///
//===----------------------------------------------------------------------===//

#include "core/Tools/Prove.h"
#include "core/CostModel/Explain/Stopwatch.h"

#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;

ProveOption::ProveOption(llvm::cl::OptionCategory &category)
    : form("prove",
           llvm::cl::desc("Prove bounds, writes and waits of the program: text, json, or require (an error where "
                          "something is not proved); docs/trust.md"),
           llvm::cl::ValueOptional, llvm::cl::init(""), llvm::cl::cat(category)) {}

Prover::Prover(const ProveOption &option) : isAsked(option.form.getNumOccurrences() > 0), form(option.form) {}

llvm::Error Prover::check() const {
  if (form == "" || form == "text" || form == "json" || form == "require")
    return llvm::Error::success();
  return llvm::createStringError("unknown form '" + form + "' of --prove; expected text, json or require");
}

void Prover::keepAfterStage(unsigned stage, mlir::ModuleOp module) {
  if (!isAsked || stage != 4 || result)
    return;
  Stopwatch stopwatch("prove");
  result = proof::prove(module);
}

void Prover::afterStage(unsigned stage, mlir::ModuleOp module, DecisionLog *log) {
  if (!isAsked || stage != 4)
    return;
  keepAfterStage(stage, module);
  if (log)
    log->add("proof", module.getLoc(), proof::toJson(*result));
  else
    print();
}

void Prover::print() const {
  if (form == "json")
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(proof::toJson(*result))) << "\n";
  else
    proof::print(*result, llvm::outs());
}

llvm::Error Prover::verdict() const {
  if (form != "require" || !result || result->holds())
    return llvm::Error::success();
  const proof::Finding &first = result->findings.front();
  return llvm::createStringError(llvm::formatv("--prove=require: {0} findings, the first at {1}: {2}: {3}: {4}",
                                               result->findings.size(), DecisionLog::textOf(first.location),
                                               nameOf(first.property), nameOf(first.verdict), first.message)
                                     .str());
}
