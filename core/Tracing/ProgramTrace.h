//===- ProgramTrace.h - One call of a program, over time ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `tw-run --trace` writes (docs/tracing.md): the stages of the compiler, one
/// call with its copies and launches on the host's clock, kernels of this process
/// on their threads, launches on the device's own clock, and what the emulator's
/// engines do. Kernels have the model's seconds beside the measured ones.
///
///   ProgramTrace trace(context, target);
///   trace.watch(options);                  // RunOptions, before the program is compiled
///   auto run = Run::create(module, options, ...);
///   trace.execute(**run);
///   writeFile(path, trace.file().text());
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRACING_PROGRAMTRACE_H
#define TILEWRIGHT_CORE_TRACING_PROGRAMTRACE_H

#include "core/Pipelines/KernelTrace.h"
#include "core/Pipelines/Run.h"
#include "core/Tracing/Predictions.h"
#include "core/Tracing/TraceFile.h"

namespace tilewright {

/// Kernels of one call, together.
struct TraceTotals {
  size_t kernels = 0;    // launches, or calls of kernels in this process
  double measured = 0;   // their seconds
  size_t compared = 0;   // those that the model has seconds for
  double comparable = 0; // measured seconds of these
  double predicted = 0;  // the model's
  std::string clock;     // that measures: "host clock", "device clock", "simulated clock"; empty: nothing does
};

class ProgramTrace {
public:
  /// Times are seconds since now. `target`: of the compilation.
  ProgramTrace(mlir::MLIRContext &context, const std::string &target);
  ~ProgramTrace();

  /// Adds what the trace needs to the options of a run that is compiled next.
  void watch(RunOptions &options);
  /// Something that the command did before a call, from `begin` (secondsNow()) until now.
  void spent(llvm::StringRef what, double begin);
  /// One call. On processors and on devices of this machine an untraced one goes before it: what a first call pays for
  /// memory and code is no part of the trace.
  llvm::Error execute(Run &run);

  const TraceFile &file() const { return written; }
  const TraceTotals &totals() const { return sums; }

private:
  /// An activity of the runtime, or a part of the compilation.
  struct Activity {
    tw_activity facts;
    std::string name, device;
    double begin = 0, end = 0;
    std::pair<double, double> simulated; // of a launch on an emulator that keeps clocks
  };

  static void onBegin(void *self, const tw_activity *activity);
  static void onEnd(void *self, const tw_activity *activity);
  void writeCompilation(const Executable &code);
  void writeCall(const Run &run, double begin, double end);
  void writeThreads(const Executable &code, llvm::ArrayRef<KernelSpan> spans);
  void writeLaunches();
  void writeEngines(const EmulatedProgram &program);
  /// The arguments of a kernel's span: what is predicted, what was measured by `clock` (negative: nothing), their
  /// ratio.
  llvm::json::Object compare(llvm::StringRef kernel, double seconds, llvm::StringRef clock);
  llvm::json::Object describeLaunch(const Activity &launch);

  mlir::MLIRContext &context;
  std::string target;
  Place place;
  double zero, lastStage;
  bool isCompiling = false, isPredicted = false;
  std::optional<Predictions> predictions; // while and after it is compiled
  std::vector<Activity> compilation, activities, open;
  EmulatedProgram *emulated = nullptr;
  tw_profiler profiler;
  TraceFile written;
  TraceTotals sums;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRACING_PROGRAMTRACE_H
