//===- Reducer.h - Smaller programs that fail the same way ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes a program small while it fails by the same verdict, and in the end by the same pass:
///
///   1. one result            return %a, %b             ->  return %b
///   2. what comes after      return %last              ->  return %earlier      the first operation that fails
///   3. what comes before     %x = linalg.matmul ...    ->  an argument %x
///   4. sizes                 tensor<768x3072xf32>      ->  tensor<5x16xf32>
///
/// Each is a copy of the program that is compiled and run in a child.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_BISECT_REDUCER_H
#define TILEWRIGHT_CORE_BISECT_REDUCER_H

#include "core/Bisect/Diagnosis.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright::bisect {

class Reducer {
public:
  /// `diagnosis`: of `subject`, which fails. `deadline`: on the clock of secondsNow(); what is not tried by then stays.
  Reducer(Trials &trials, Subject subject, Diagnosis diagnosis, double deadline);

  /// Reduces as far as it can.
  void run();
  /// The smallest that was found, and what is known of it.
  const Subject &subject() const { return best; }
  Diagnosis takeDiagnosis() { return std::move(found); }

private:
  /// Whether `candidate` fails as the program does, by its verdict and, of a compiler that ends, its pass.
  bool fails(const Subject &candidate);
  /// Takes `candidate` if it fails.
  bool take(Subject candidate);
  /// Runs a phase; what it took is given back if another pass is the wrong one then.
  void phase(llvm::function_ref<void()> work);

  void dropGiven();
  void dropResults();
  void cutAfter();
  void cutBefore();
  void eraseOperations();
  void shrinkDynamicSizes();
  void shrinkStaticSizes();

  Trials &trials;
  Subject best;
  Diagnosis found;
  double deadline;
  unsigned taken = 0;       // candidates so far
  llvm::StringSet<> wanted; // passes that may be the wrong one
};

} // namespace tilewright::bisect

#endif // TILEWRIGHT_CORE_BISECT_REDUCER_H
