//===- Stopwatch.cpp - Where the time of a compilation goes ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One innermost scope a thread; passes open and close theirs by instrumentation.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

using namespace tilewright;

static thread_local mlir::TimingScope *innermost = nullptr;

mlir::TimingScope *Stopwatch::running() { return innermost; }

Stopwatch::Stopwatch(llvm::StringRef name, mlir::TimingScope *parent) {
  if (!parent)
    return;
  own = parent->nest(name);
  outer = std::exchange(innermost, &own);
}

Stopwatch::~Stopwatch() {
  if (own)
    innermost = outer;
}

namespace {
/// Passes of functions stand beside those of the module: adaptors have no name, and no time.
class PassStopwatches : public mlir::PassInstrumentation {
public:
  explicit PassStopwatches(mlir::TimingScope *parent) : parent(parent) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override {
    if (!isNamed(pass))
      return;
    open().push_back(std::make_unique<Stopwatch>(pass->getArgument(), parent));
    if (!isWorkCounted())
      return;
    int64_t operations = 0;
    op->walk([&](mlir::Operation *) { ++operations; });
    countWork("operations", operations);
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *) override {
    if (isNamed(pass))
      open().pop_back();
  }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override { runAfterPass(pass, op); }

private:
  static bool isNamed(mlir::Pass *pass) { return !pass->getArgument().empty(); }
  /// Of the passes that this thread is in.
  static std::vector<std::unique_ptr<Stopwatch>> &open() {
    static thread_local std::vector<std::unique_ptr<Stopwatch>> stopwatches;
    return stopwatches;
  }

  mlir::TimingScope *parent;
};
} // namespace

void tilewright::timePasses(mlir::PassManager &pm) {
  if (mlir::TimingScope *parent = Stopwatch::running())
    pm.addInstrumentation(std::make_unique<PassStopwatches>(parent));
}
