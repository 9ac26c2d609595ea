//===- WorkCounter.h - What a compilation did, counted --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Seconds differ from run to run; these counts do not. A WorkCounter takes the
/// place of the timing manager under the same stopwatches (Stopwatch.h), and says
/// of each part what it did:
///
///   map-contractions     operations 212, allocations 8904
///     planning             candidates 1536, allocations 4120
///   LLVM optimisation    instructions 5210, allocations 91822
///
/// `tw-compile --time=counts` prints them. test/integration/test_compile_budget.py
/// keeps them from growing.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_WORKCOUNTER_H
#define TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_WORKCOUNTER_H

#include "mlir/Support/Timing.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// Counts of each part, without those of the parts inside of it: the same on whatever threads they run. `allocations`
/// are calls of the C library's allocator by the threads of the part; they are there where a library that counts them
/// is loaded before it (`tilewright_allocations`).
class WorkCounter : public mlir::TimingManager {
public:
  WorkCounter();
  ~WorkCounter() override;

  /// {"name", "counts": {what: amount}, "parts": [...]} of the root.
  llvm::json::Object toJson() const;

  struct Part;

protected:
  std::optional<void *> rootTimer() override;
  void startTimer(void *part) override;
  void stopTimer(void *part) override;
  void *nestTimer(void *part, const void *id, llvm::function_ref<std::string()> nameOf) override;

private:
  std::unique_ptr<Part> root;
};

/// Whether this thread is in a part of a WorkCounter.
bool isWorkCounted();
/// The innermost part that this thread is in did `amount` of `what`. Costs the reading of one variable where nothing is
/// counted.
void countWork(llvm::StringLiteral what, int64_t amount);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_WORKCOUNTER_H
