//===- PassObserver.cpp - Who looks on while passes run -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An instrumentation of MLIR's pass manager that leaves out adaptors and what passes run inside of themselves.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/PassObserver.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

using namespace tilewright;

static thread_local PassObserver *current = nullptr;

PassObserver::PassObserver() { current = this; }
PassObserver::~PassObserver() { current = nullptr; }

namespace {
class Steps : public mlir::PassInstrumentation {
public:
  Steps(PassObserver &observer, unsigned stage) : observer(observer), stage(stage) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override {
    if (!isAdaptor(pass) && depth++ == 0)
      observer.before(stage, nameOf(pass), op);
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (!isAdaptor(pass) && --depth == 0)
      observer.after(stage, nameOf(pass), op);
  }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override { depth -= !isAdaptor(pass); }

private:
  static bool isAdaptor(mlir::Pass *pass) { return pass->getName().contains("OpToOpPassAdaptor"); }
  static llvm::StringRef nameOf(mlir::Pass *pass) {
    return pass->getArgument().empty() ? pass->getName() : pass->getArgument();
  }

  PassObserver &observer;
  unsigned stage, depth = 0;
};
} // namespace

bool tilewright::arePassesObserved() { return current != nullptr; }

void tilewright::observePasses(mlir::PassManager &pm, unsigned stage) {
  if (current)
    pm.addInstrumentation(std::make_unique<Steps>(*current, stage));
}
