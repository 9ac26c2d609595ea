//===- SeparablePairs.h - Functions as sums of g(x) h(r) --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Splits the function of a statement by its structure, and proves the result:
///
///   x only -> (x, 1)      r only -> (1, r)      a + b -> pairs of both      a * b -> all products of pairs
///   exp(c (x - m)), m the maximum of x -> one pair at base m
///   (x - m)^p w, m the mean of x -> one pair at mean m, p at most 3
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_SEPARABLEPAIRS_H
#define TILEWRIGHT_CORE_ANALYSIS_SEPARABLEPAIRS_H

#include "core/Analysis/DependentReductions.h"

namespace tilewright {

/// Fills in the pairs of what `statement`, which is not yet one of the chain, stores or sums. Failure with a reason
/// where the function is not separable with at most 4 pairs, or the reduction cannot take them.
mlir::LogicalResult splitStatement(DependentReductions &chain, ReductionStatement &statement, std::string &reason);

/// m of `value`: m itself, which is loaded, or m where it is not the infinity that it begins with, else a number. At a
/// base, which is never that infinity, both are the base. Null: another function.
const Term *guardedExtremum(const Term *value);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_SEPARABLEPAIRS_H
