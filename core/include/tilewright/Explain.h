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
} // namespace mlir

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tilewright {

/// {"decision": "contraction-tile", "location": "...", "inputs": {...}, "choice": {...},
///  "candidates": [{..., "seconds": s}], "reason": "..."}
class DecisionLog {
public:
  /// While alive, decisions of passes that run in `context` are recorded here.
  explicit DecisionLog(mlir::MLIRContext *context);
  ~DecisionLog();
  /// The log of a context, or null when nobody listens.
  static DecisionLog *of(mlir::MLIRContext *context);

  void add(llvm::StringRef decision, mlir::Location location, llvm::json::Object record);
  llvm::json::Array take();
  /// Adds the names that fields had up to the last version (core/CostModel/Explain/FormerNames.h), for scripts.
  static void addFormerNames(llvm::json::Value &value);
  static void printText(const llvm::json::Array &decisions, llvm::raw_ostream &os);

private:
  mlir::MLIRContext *context;
  std::mutex mutex;
  llvm::json::Array decisions;
};

} // namespace tilewright

#endif // TILEWRIGHT_EXPLAIN_H
