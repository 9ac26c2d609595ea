//===- Stopwatch.h - Where the time of a compilation goes -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts of a compilation say what they are; their times are nested as their calls are. Where nobody asked for times a
/// part costs the reading of one variable:
///
///   optimise                      Stopwatch stage("optimise", &root);
///     map-contractions              a pass, by the instrumentation of its pass manager (timePasses)
///       planning                      Stopwatch planning("planning");
///   lower
///
/// `tw-compile --time` prints them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_STOPWATCH_H
#define TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_STOPWATCH_H

#include "mlir/Support/Timing.h"

namespace mlir {
class PassManager;
} // namespace mlir

namespace tilewright {

/// Times this thread until its end, below `parent`; null: nothing is timed.
class Stopwatch {
public:
  explicit Stopwatch(llvm::StringRef name, mlir::TimingScope *parent = running());
  ~Stopwatch();
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

  /// The innermost part that this thread is in; null where nobody asked for times.
  static mlir::TimingScope *running();

private:
  mlir::TimingScope own, *outer = nullptr;
};

/// Times the passes of `pm` below what this thread is in, those of functions too, whatever threads they run on.
void timePasses(mlir::PassManager &pm);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_STOPWATCH_H
