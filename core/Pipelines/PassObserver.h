//===- PassObserver.h - Who looks on while passes run -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The passes of the stages as a sequence of steps, seen from outside. A pass on functions is a step for each function:
///
///   struct Printer : PassObserver {
///     void after(unsigned stage, llvm::StringRef pass, Operation *op) override { ... }
///   } printer;
///   runStages(module, 1, 5, options);   // of this thread, until the observer's end
///
/// Where nobody looks on, a stage costs the reading of one variable.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_PASSOBSERVER_H
#define TILEWRIGHT_CORE_PIPELINES_PASSOBSERVER_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class Operation;
class PassManager;
} // namespace mlir

namespace tilewright {

class PassObserver {
public:
  /// Looks on until its end. One at a time for a thread.
  PassObserver();
  virtual ~PassObserver();
  PassObserver(const PassObserver &) = delete;
  PassObserver &operator=(const PassObserver &) = delete;

  /// Around a pass named `pass` on `op`, a module or function, in stage 1 to 5. Passes that a pass runs inside of
  /// itself are part of it. `after` is not called where the pass fails.
  virtual void before(unsigned stage, llvm::StringRef pass, mlir::Operation *op) {}
  virtual void after(unsigned stage, llvm::StringRef pass, mlir::Operation *op) {}
};

/// Shows the passes of `pm`, which is a stage's, to this thread's observer if there is one.
void observePasses(mlir::PassManager &pm, unsigned stage);
/// Whether an observer of this thread looks on.
bool arePassesObserved();

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_PASSOBSERVER_H
