//===- Explain.h - Decisions and their numbers ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each cost-model decision writes one record here: what was decided, for which
/// operation, from which inputs, among which candidates. `tw-compile --explain`
/// prints them as text or JSON. Without a log a decision costs nothing.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_EXPLAIN_H
#define TILEWRIGHT_EXPLAIN_H

#include "llvm/Support/JSON.h"
#include <mutex>
#include <vector>

namespace mlir {
class MLIRContext;
class Location;
class Operation;
} // namespace mlir

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tilewright {

/// {"decision": "contraction-tile", "location": "...", "inputs": {...}, "choice": {...},
///  "candidates": [{..., "seconds": s}], "reason": "..."}
class DecisionLog {
public:
  /// While alive, decisions of passes that run in `context` are recorded here. Without `listsCandidates`, contractions
  /// leave out the plans that were not taken: the planner then stops pricing one as soon as it is slower than the best.
  explicit DecisionLog(mlir::MLIRContext *context, bool listsCandidates = true);
  ~DecisionLog();
  /// The log of a context, or null when nobody listens.
  static DecisionLog *of(mlir::MLIRContext *context);
  bool listsCandidates() const { return isWithCandidates; }

  void add(llvm::StringRef decision, mlir::Location location, llvm::json::Object record);
  /// The same at `op`, with the function that it stands in (`kernel`) and how often loops around it run it in one call
  /// (`runs`; left out where that is not known).
  void add(llvm::StringRef decision, mlir::Operation *op, llvm::json::Object record);
  /// Whether there is one at the location and in the function of `op`.
  bool has(llvm::StringRef decision, mlir::Operation *op);
  llvm::json::Array take();
  /// How decisions name a location.
  static std::string textOf(mlir::Location location);
  /// Adds the names that fields had up to the last version (core/CostModel/Explain/FormerNames.h), for scripts.
  static void addFormerNames(llvm::json::Value &value);
  static void printText(const llvm::json::Array &decisions, llvm::raw_ostream &os);

private:
  mlir::MLIRContext *context;
  const bool isWithCandidates;
  std::mutex mutex;
  llvm::json::Array decisions;
};

} // namespace tilewright

#endif // TILEWRIGHT_EXPLAIN_H
