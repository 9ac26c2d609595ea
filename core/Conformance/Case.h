//===- Case.h - One promise of a target -------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A case is one program or one matrix unit, with what must come out. Cases know
/// nothing of compiler or device: a program is MLIR text and a plain C++ function
/// in float64 that gives the expected output from the inputs.
///
///   contraction/f16.f16.f32/33x47x29/nt      family / types / shape / layout
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_CASE_H
#define TILEWRIGHT_CORE_CONFORMANCE_CASE_H

#include "core/Conformance/Judge.h"
#include "core/Conformance/Values.h"
#include "tilewright/TargetDescription.h"
#include <functional>

namespace tilewright::conformance {

/// Families of programs, in the order of the report.
inline constexpr const char *families[] = {"unit",        "contraction", "batched",    "convolution",
                                           "elementwise", "reduction",   "softmax",    "norm",
                                           "transpose",   "epilogue",    "performance"};

struct CaseInput {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  Domain domain = Domain::Any;
};

using Arrays = std::vector<Array>;

/// A program `@f` with one result.
struct CaseProgram {
  std::string text; // MLIR
  std::vector<CaseInput> inputs;
  ElementType outputType = ElementType::F32;
  std::vector<int64_t> outputShape;
  std::function<Expected(const Arrays &inputs)> expect;
  std::vector<Values> values = {Values::Random};
  double operations = 0; // arithmetic, of the performance family
};

/// What is asked of a matrix unit.
struct CaseUnit {
  const MatrixUnit *unit = nullptr;
  enum Kind {
    Model, // the record's functional model multiplies matrices
    Code,  // its emission is selected by the chip's back end
    Run    // the instruction on the device agrees with float64
  } kind = Model;
};

struct Case {
  std::string family, op, types, shape, layout;
  bool quick = true; // part of the quick run
  std::optional<CaseProgram> program;
  std::optional<CaseUnit> unit; // where there is no program
  std::string name() const { return family + "/" + op + "/" + types + "/" + shape + "/" + layout; }
};

enum class Status {
  Passed,
  Failed,
  Refused, // the compiler says that it cannot
  Skipped  // the device cannot
};
const char *nameOf(Status status);

struct Outcome {
  Status status = Status::Passed;
  std::string message; // why it failed, was refused or skipped
  double worst = 0;    // largest error over tolerance
  double compileSeconds = 0;
  double seconds = 0;         // of one call on the device, 0: not known
  double modelledSeconds = 0; // 0: the cost model says nothing
  std::string fusion = {};    // JSON list: decisions that say what is computed together; empty: unknown
  std::string kernels = {};   // JSON list: counters of the emulator and what was predicted; empty: ran elsewhere
};

/// All program cases: each family adds its own.
std::vector<Case> programCases();
void addContractions(std::vector<Case> &cases);
void addScaled(std::vector<Case> &cases);
void addSparse(std::vector<Case> &cases);
void addConvolutions(std::vector<Case> &cases);
void addElementwise(std::vector<Case> &cases);
void addRows(std::vector<Case> &cases);
void addTransposes(std::vector<Case> &cases);
void addPerformance(std::vector<Case> &cases);
/// Cases for every unit of a chip. The units must outlive them.
std::vector<Case> unitCases(const TargetDescription &chip);

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_CASE_H
