//===- Proof.cpp - What is proved of a program ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the checks, and prints what came out.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Proof.h"
#include "core/Proof/Checks.h"
#include "tilewright/Explain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace tilewright;
using namespace tilewright::proof;

llvm::StringRef tilewright::proof::nameOf(Property property) {
  static constexpr const char *names[] = {"bounds", "written", "awaited", "free"};
  return names[static_cast<int>(property)];
}

llvm::StringRef tilewright::proof::nameOf(Verdict verdict) {
  static constexpr const char *names[] = {"proved", "not proved", "disproved"};
  return names[static_cast<int>(verdict)];
}

Verdict Proof::verdictOf(Property property) const {
  Verdict worst = Verdict::Proved;
  for (const Finding &finding : findings)
    if (finding.property == property)
      worst = std::max(worst, finding.verdict);
  return worst;
}

std::string tilewright::proof::describe(const Program &program, const Access &access) {
  return (access.isWrite ? "writes " : "reads ") + program.arrays[access.array].name;
}

void tilewright::proof::report(Proof &proof, Property property, const Access &access, const Answer &answer,
                               bool isExact, const std::string &message) {
  bool isDisproved = answer.kind == Answer::Some && answer.isReal && isExact;
  std::string reason = answer.reason;
  if (reason.empty() && !isExact)
    reason = "it depends on a condition or a token that is not followed";
  std::string text = message;
  if (isDisproved && !answer.values.empty())
    text += ", where " + answer.values;
  else if (!isDisproved)
    text += ": " + (reason.empty() ? std::string("no proof was found") : reason);
  proof.findings.push_back({property, isDisproved ? Verdict::Disproved : Verdict::Unproved, access.op->getLoc(), text});
}

Proof tilewright::proof::prove(mlir::ModuleOp module) {
  auto begin = std::chrono::steady_clock::now();
  Proof proof;
  Program program;
  program.read(module);
  proof.program = program.name;
  // What was not understood may be an access, a write or something asynchronous.
  for (const Gap &gap : program.gaps)
    for (Property property : properties)
      proof.findings.push_back({property, Verdict::Unproved, gap.location, gap.reason});
  checkBounds(program, proof);
  checkWritten(program, proof);
  checkOrder(program, proof);
  proof.quick = program.space.quick;
  proof.solved = program.space.slow;
  proof.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return proof;
}

llvm::json::Object tilewright::proof::toJson(const Proof &proof) {
  llvm::json::Object object{{"decision", "proof"}, {"program", proof.program}, {"holds", proof.holds()}};
  for (Property property : properties)
    object[nameOf(property)] =
        llvm::json::Object{{"verdict", nameOf(proof.verdictOf(property))},
                           {"asked", static_cast<int64_t>(proof.asked[static_cast<int>(property)])}};
  llvm::json::Array findings;
  for (const Finding &finding : proof.findings)
    findings.push_back(llvm::json::Object{{"property", nameOf(finding.property)},
                                          {"verdict", nameOf(finding.verdict)},
                                          {"location", DecisionLog::textOf(finding.location)},
                                          {"message", finding.message}});
  object["findings"] = std::move(findings);
  if (proof.sums)
    object["sums"] = toJson(*proof.sums);
  object["seconds"] = proof.seconds;
  object["solver_questions"] = static_cast<int64_t>(proof.solved);
  return object;
}

void tilewright::proof::print(const Proof &proof, llvm::raw_ostream &os) {
  static constexpr const char *subjects[] = {"accesses in their arrays", "results written", "pairs of operations",
                                             "pairs of operations"};
  os << "proof of " << proof.program << "\n";
  for (auto [i, property] : llvm::enumerate(properties))
    os << llvm::formatv("  {0,-8} {1,-11} {2} {3}\n", nameOf(property), nameOf(proof.verdictOf(property)),
                        proof.asked[i], subjects[i]);
  if (proof.sums)
    print(*proof.sums, os);
  for (const Finding &finding : proof.findings)
    os << llvm::formatv("  {0}: {1}: {2}: {3}\n", DecisionLog::textOf(finding.location), nameOf(finding.property),
                        nameOf(finding.verdict), finding.message);
}
