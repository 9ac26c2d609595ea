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
#include <chrono>

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
  if (!isAsked || (stage != 2 && stage != 4) || result)
    return;
  Stopwatch stopwatch("prove");
  auto begin = std::chrono::steady_clock::now();
  auto secondsSince = [](auto before) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  };
  if (stage == 2) {
    written = proof::countSums(module, proof::sampleSize);
    writtenSeconds = secondsSince(begin);
    return;
  }
  result = proof::prove(module);
  auto contract = module->getAttrOfType<mlir::StringAttr>("tilewright.fp");
  if (written)
    result->sums = proof::compareSums(*written, proof::countSums(module, proof::sampleSize, written->nests),
                                      contract ? contract.getValue() : "default");
  result->seconds = writtenSeconds + secondsSince(begin);
}

void Prover::afterStage(unsigned stage, mlir::ModuleOp module, DecisionLog *log) {
  keepAfterStage(stage, module);
  if (!isAsked || stage != 4)
    return;
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
  if (form != "require" || !result)
    return llvm::Error::success();
  if (result->sums && !result->sums->holds())
    for (const proof::Rewrite &each : result->sums->rewrites)
      if (each.isReassociated())
        return llvm::createStringError(
            llvm::formatv(
                "--prove=require: --fp={0} keeps the order of sums, but at {1} {2} additions in a row are {3}{4}",
                result->sums->contract, each.place, each.before, each.after,
                each.isAnyOrder ? ", some in any order" : "")
                .str());
  if (result->holds())
    return llvm::Error::success();
  const proof::Finding &first = result->findings.front();
  return llvm::createStringError(llvm::formatv("--prove=require: {0} findings, the first at {1}: {2}: {3}: {4}",
                                               result->findings.size(), DecisionLog::textOf(first.location),
                                               nameOf(first.property), nameOf(first.verdict), first.message)
                                     .str());
}
