//===- Proof.h - What is proved of a program --------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Properties of the program that stage 4 leaves, for all iterations and all
/// sizes (docs/trust.md says precisely what each of them means):
///
///   bounds   every access lies in its array
///   written  every element of a result is written, by one parallel iteration
///   awaited  what a copy or product writes is touched by nothing before it was awaited
///   free     what a copy or product reads is written by nothing before it was awaited
///
/// What cannot be proved is a finding with its reason; nothing is passed over.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_PROOF_H
#define TILEWRIGHT_CORE_PROOF_PROOF_H

#include "core/Proof/Sums.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace tilewright::proof {

enum class Property { Bounds, Written, Awaited, Free };
inline constexpr Property properties[] = {Property::Bounds, Property::Written, Property::Awaited, Property::Free};
llvm::StringRef nameOf(Property property);

enum class Verdict { Proved, Unproved, Disproved };
llvm::StringRef nameOf(Verdict verdict);

/// Something that does not hold, or that could not be shown to.
struct Finding {
  Property property;
  Verdict verdict; // Unproved or Disproved
  mlir::Location location;
  std::string message; // with iterations as a counterexample, or the reason
};

struct Proof {
  std::string program;
  /// How many accesses, arrays or pairs of operations each property was asked of.
  size_t asked[std::size(properties)] = {};
  std::vector<Finding> findings;
  /// What was added up in another order than the program's; only where the program after stage 2 was counted, too.
  std::optional<SumLog> sums;
  double seconds = 0;
  /// Questions that the short search, and that the solver answered.
  unsigned quick = 0, solved = 0;

  Verdict verdictOf(Property property) const;
  /// Whether all of them hold.
  bool holds() const { return findings.empty(); }
};

/// Proves what can be proved of a module after stage 4.
Proof prove(mlir::ModuleOp module);

/// {"decision": "proof", "program": .., "bounds": {"verdict", "asked"}, .., "findings": [{"property", "verdict",
/// "location", "message"}], "seconds": ..}
llvm::json::Object toJson(const Proof &proof);
void print(const Proof &proof, llvm::raw_ostream &os);

/// Registers the passes `prove` and `count-sums` of tw-opt.
void registerProvePass();

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_PROOF_H
