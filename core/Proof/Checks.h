//===- Checks.h - One file for each property --------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each adds its findings and what it asked.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_CHECKS_H
#define TILEWRIGHT_CORE_PROOF_CHECKS_H

#include "core/Proof/Program.h"
#include "core/Proof/Proof.h"

namespace tilewright::proof {

/// Bounds.cpp.
void checkBounds(Program &program, Proof &proof);
/// Written.cpp: coverage of results, and parallel iterations that write one element.
void checkWritten(Program &program, Proof &proof);

/// Order.cpp: asynchronous operations are awaited, in both directions.
void checkOrder(Program &program, Proof &proof);

/// Witness.cpp: whether each element of `array` surely is written, by iterations that are guessed for it. False: that
/// is not shown.
bool isWrittenByGuess(Program &program, const Array &array, llvm::ArrayRef<const Access *> writes);

/// As messages name an access: "writes argument 2".
std::string describe(const Program &program, const Access &access);
/// A finding of `answer`, which is not Never.
void report(Proof &proof, Property property, const Access &access, const Answer &answer, bool isExact,
            const std::string &message);

/// Accesses that are written out, as copies of one another with other constants, as one that touches all that they do,
/// and what lies between.
struct Family {
  Access hull;
  llvm::SmallVector<const Access *> members;
};
std::vector<Family> familiesOf(Program &program, llvm::ArrayRef<const Access *> accesses);
/// The same accesses as fewer ones that touch what they do and nothing more: boxes that lie side by side become one.
std::vector<Access> joined(Program &program, llvm::ArrayRef<const Access *> accesses);

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_CHECKS_H
