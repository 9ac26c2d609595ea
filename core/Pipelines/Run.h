//===- Run.h - Run, verify and measure a program ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What tw-run does, without its command line: one function, its inputs and
/// outputs, comparison with the plain path in float64, and times.
///
/// What may differ between them goes with the reference: core/Transforms/Bufferize/ErrorRules.h.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_RUN_H
#define TILEWRIGHT_CORE_PIPELINES_RUN_H

#include "core/Pipelines/Executable.h"

namespace tilewright {

struct RunOptions {
  CompileOptions compile;
  std::vector<int64_t> sizes; // empty: from the inputs; those that follow from data may be left out
  uint64_t seed = 0;
  Place place;                 // where the program runs
  std::string referenceTarget; // of `verify`, where the program runs elsewhere: a target of the host
};

/// How one output compares with its reference.
struct Comparison {
  bool passed = false;
  double maxError = 0;     // largest |out - ref|
  double worst = 0;        // largest |out - ref| / bound; above 1 is wrong
  double bound = 0;        // of the element of `worst`
  int64_t worstIndex = -1; // row-major element of `worst`
  double got = 0, expected = 0;
  int64_t wrong = 0;    // elements
  int64_t unjudged = 0; // elements of which nothing can be said
  double looseness = 0; // median of bound / |out - ref| over the elements that differ; 0: none does
};

struct Benchmark {
  std::vector<double> samples; // seconds a call, one a sample
  double median = 0;
};

/// `count` samples, each of as many calls as take `seconds` on the clock of the program's device, or 10 times as long
/// on the host's: a simulator may run long for a device that is fast.
llvm::Expected<Benchmark> measure(Executable &code, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments,
                                  unsigned count, double seconds);

class Run {
public:
  /// Compiles `program` (unchanged) and prepares arrays: the given inputs in order, random ones for the others. Where
  /// results have sizes that the program makes of its data and that are not given, it is called until they are known.
  static llvm::Expected<std::unique_ptr<Run>> create(mlir::ModuleOp program, const RunOptions &options,
                                                     std::vector<Array> given);

  /// One call; arrays that the program updates start from their input values each time.
  llvm::Error execute();
  /// Emulated programs: calls in every order of lanes and engines; an error names an order whose outputs differ from
  /// those of `execute`, bit by bit. The outputs stay those of `execute`, and so do the counters.
  llvm::Error executeInAllModes();
  /// Compares the outputs of `execute` with the plain path in float64.
  llvm::Expected<std::vector<Comparison>> verify();
  /// Runs the program as stage 1 to 4 leaves it, tile ops by their reference lowering, and compares each, then the
  /// outputs of `execute`: result[i] belongs to stage i + 1.
  llvm::Expected<std::vector<std::vector<Comparison>>> verifyStages();
  /// `measure` on the arrays of this run.
  llvm::Expected<Benchmark> benchmark(unsigned count = 9, double seconds = 1e-3);

  const Executable &executable() const { return *code; }
  Executable &executable() { return *code; }
  llvm::ArrayRef<int64_t> sizes() const { return sizeValues; }
  /// Inputs as given, in order.
  std::vector<const Array *> inputs() const;
  /// Results, or the arrays that a function without results writes.
  std::vector<const Array *> outputs() const;
  /// After `verify`, of each output: what the plain path makes of it in float64, and the bounds (without memory:
  /// exact).
  std::vector<std::pair<const Array *, const Array *>> references() const;
  /// Floating-point and integer arithmetic operations of one call, counted on the program after stage 1 at these sizes:
  /// a multiplication and an addition are two. nullopt where the number of iterations is not known.
  std::optional<double> flops() const;
  /// Bytes of all inputs and outputs.
  int64_t bytes() const;

private:
  Run(mlir::ModuleOp program, const RunOptions &options) : program(program), options(options) {}
  llvm::Error learnSizes();
  llvm::Error reference();
  std::vector<Comparison> compare(const std::vector<Array> &got) const;

  mlir::ModuleOp program;
  RunOptions options;
  std::unique_ptr<Executable> code;
  std::vector<int64_t> sizeValues;
  std::vector<Array> arguments; // in the order of the signature; results of the last call
  std::vector<Array> pristine;  // inputs that the program writes
  std::vector<Array> expected;  // by argument, of those that are written
  std::vector<Array> bounds;    // of `expected`; without memory: exact
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_RUN_H
