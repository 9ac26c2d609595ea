//===- Trial.h - Whether a program, or a part of its compilation, is right -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One question, one child process: what does the program do when it is compiled and run as a user would, and what does
/// it do as the first N passes leave it? Answers are compared with the float64 reference of `tw-run --verify`, within
/// its bounds, or, where stages 1 and 2 themselves are wrong and the reference with them, with what upstream's passes
/// alone make of the program.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_BISECT_TRIAL_H
#define TILEWRIGHT_CORE_BISECT_TRIAL_H

#include "core/Bisect/Worker.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/Compiler.h"

namespace tilewright::bisect {

struct Settings {
  CompileOptions compile;
  std::string referenceTarget; // a target of this machine
  std::string device = "host"; // or "emulator", "model", "exec:COMMAND"
  double limit = 20;           // seconds of one attempt
  uint64_t seed = 0;           // of random inputs
};

enum class Verdict {
  Right,
  Wrong,   // an element is out of its bound
  Finding, // the emulator found a race or another mistake
  Crash,   // of the compiler, or of the program
  TimeOut,
  Refused, // a diagnostic, or a status that is not 0
  Unknown  // cannot be run from there
};
/// "wrong result", "crash".
llvm::StringRef nameOf(Verdict verdict);

struct Outcome {
  Verdict verdict = Verdict::Unknown;
  std::string message;                         // what a person reads: one line
  Progress::Phase phase = Progress::Compiling; // where it ended
  size_t steps = 0;                            // that had ended
  std::shared_ptr<std::vector<Array>> outputs; // if it came to its end
  // Of the first wrong element:
  size_t output = 0;
  std::vector<int64_t> element;
  double got = 0, expected = 0, bound = 0;
  int64_t wrong = 0; // elements
};

/// What outcomes are compared with.
struct Reference {
  std::vector<int64_t> sizes; // dynamic ones, in order
  std::vector<Array> inputs, values, bounds;
  double slack = 1; // the bound times this: values in the program's own types have errors too
};

class Trials {
public:
  /// Prepares children; an error: the system grants none.
  static llvm::Expected<Trials> create(const Settings &settings);

  /// Inputs and expected results of `program`; `given`: inputs in order, random ones for the others. Error: the plain
  /// path cannot be compiled or run, with what it printed.
  llvm::Expected<Reference> reference(mlir::ModuleOp program, llvm::ArrayRef<int64_t> sizes,
                                      llvm::ArrayRef<Array> given);
  /// Compiles and runs as tw-run does. `steps()` are then the passes of stages 1 to 5.
  Outcome whole(mlir::ModuleOp program, const Reference &reference);
  /// Runs the program as its first `count` steps leave it.
  Outcome after(mlir::ModuleOp program, size_t count, const Reference &reference);
  /// The IR before and after step `index`, as text; empty if that step is not reached.
  std::pair<std::string, std::string> around(mlir::ModuleOp program, size_t index);
  /// The steps that the last `whole` began.
  const std::vector<Step> &steps() const { return lastSteps; }

  Settings settings;
  /// Children so far.
  unsigned attempts() const { return worker->runs(); }
  /// Seconds of the longest one that came to its end.
  double longest() const { return worker->longest(); }

private:
  explicit Trials(const Settings &settings, std::unique_ptr<Worker> worker)
      : settings(settings), worker(std::move(worker)) {}
  Outcome outcomeOf(llvm::Expected<Answer> answer, const Reference &reference);

  std::unique_ptr<Worker> worker;
  std::vector<Step> lastSteps;
};

/// Compares `outputs` with what is expected; where an element is wrong, the verdict becomes Wrong, with its facts.
void judgeOutputs(Outcome &outcome, const Reference &reference);

} // namespace tilewright::bisect

#endif // TILEWRIGHT_CORE_BISECT_TRIAL_H
