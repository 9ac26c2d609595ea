//===- Diagnosis.h - The first wrong pass of a compilation ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program is compiled by a sequence of steps, a pass on the module or on one function. Steps that change nothing are
/// left out; of the others the first is searched after which the program is wrong:
///
///   steps   0 ---- 3 ---- 7 ---- 12 ---- 15 ---- 19 ---- 24      the whole compilation is wrong
///           right        right                   wrong           after 0, 7, 19: halving
///                               right   ?(1)     wrong           (1) cannot be run there: its neighbours are asked
///                               ^       ^------- ^ suspects
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_BISECT_DIAGNOSIS_H
#define TILEWRIGHT_CORE_BISECT_DIAGNOSIS_H

#include "core/Bisect/Trial.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright::bisect {

/// A program with what it is called with.
struct Subject {
  mlir::OwningOpRef<mlir::ModuleOp> program;
  std::vector<int64_t> sizes; // dynamic ones; may be empty where inputs show them
  std::vector<Array> given;   // inputs in order; random ones for the others

  Subject clone() const;
};

struct Diagnosis {
  Outcome whole;               // of the compilation as it is
  Reference reference;         // what it was compared with
  bool referenceWrong = false; // stages 1 and 2 break the reference of --verify too
  /// The steps of which the first wrong one is one, in order; usually one. Empty: it is right, or wrong before any
  /// step.
  std::vector<Step> suspects;
  size_t firstSuspect = 0; // index of `suspects.front()` among all steps
  size_t lastSuspect = 0;
  bool afterPasses = false; // as the last pass leaves it, the program is right: code generation or the device is wrong
  Outcome first;            // as the first wrong step leaves the program, where that was run; else `whole`

  bool isRight() const { return whole.verdict == Verdict::Right; }
  const Step *wrongStep() const { return suspects.empty() ? nullptr : &suspects.back(); }
};

/// What `subject` does as a whole, compared with its reference. No steps are searched. `checksReference`: the reference
/// itself is compared with what upstream's passes alone make of the program.
Diagnosis examine(Trials &trials, const Subject &subject, bool checksReference = true);
/// The same, and the first wrong step.
Diagnosis diagnose(Trials &trials, const Subject &subject);

/// A nest of a function, or an operation on tensors, that the first wrong step took.
struct Nest {
  std::string function, text, location; // "affine.for over 16 x 8", "mlp.mlir:12:8"
};
/// The nests that differ before and after the step of `index`.
std::vector<Nest> changedNests(Trials &trials, const Subject &subject, size_t index);

} // namespace tilewright::bisect

#endif // TILEWRIGHT_CORE_BISECT_DIAGNOSIS_H
