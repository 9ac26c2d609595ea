//===- MaskedSteps.h - Steps that masks leave out ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A mask is a choice by the numbers of iterations. Where it selects what is
/// neutral in every reduction over the common loop, these iterations are left out:
///
///   s = select(j <= i, x, -inf);  m = max(m, s);  p = exp(s - m);  l += p;  o += p v
///
/// j <= i is the condition i - j >= 0. Violated, s is -inf, p is 0, and m, l and o
/// stay as they are. So the steps of j begin and end where the condition may hold
/// for some row of the tile, and those in which it holds for all need no test.
/// Neutral is meant of finite values: what is masked adds nothing to a sum, also
/// if v is infinite or NaN there.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_MASKEDSTEPS_H
#define TILEWRIGHT_CORE_ANALYSIS_MASKEDSTEPS_H

#include "core/Analysis/DependentReductions.h"

namespace tilewright {

/// Expressions over the loops (dimensions) and symbols of a chain.
using Conditions = llvm::SmallVector<mlir::AffineExpr, 2>;

/// Conditions that each iteration of the common loop fulfils, all at least zero, which changes a state. None: every
/// iteration may. Symbols that conditions need are added to the chain's.
Conditions liveConditions(DependentReductions &chain);

/// Whether the boolean `where` is true, or false, wherever all conditions hold; nullopt where that is not known.
std::optional<bool> decidedBy(DependentReductions &chain, const Term *where,
                              llvm::ArrayRef<mlir::AffineExpr> conditions);

/// Bounds of the number of a step, each over the chain's symbols: steps at least all of `first` and below all of `end`
/// may have an iteration that counts, steps at least all of `firstFull` and below all of `endFull` have no other ones.
struct StepBounds {
  llvm::SmallVector<mlir::AffineExpr, 2> first, end, firstFull, endFull;
  bool areExact = true; ///< Else a condition has no such bound, and no step is known to be full.
};

/// The bounds of steps of `step` iterations, over all iterations of the other loops.
StepBounds boundSteps(const DependentReductions &chain, llvm::ArrayRef<mlir::AffineExpr> conditions, int64_t step);

/// Neighbouring steps: from the largest result of `first` to the smallest of `end`, maps of the chain's symbols.
struct StepRange {
  mlir::AffineMap first, end;
  bool isFull = false; ///< All conditions hold in all iterations.
};

/// The ranges of `count` steps, an expression of symbols, with these bounds, in order; those that are empty whatever
/// the symbols are, are left out.
llvm::SmallVector<StepRange, 3> rangesOf(const DependentReductions &chain, const StepBounds &bounds,
                                         mlir::AffineExpr count);

/// The range of the smaller step behind `whole` whole ones, of `count` in all: one step or none. Nullopt where it is
/// always there.
std::optional<StepRange> rangeOfLast(const DependentReductions &chain, const StepBounds &bounds, mlir::AffineExpr whole,
                                     mlir::AffineExpr count);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_MASKEDSTEPS_H
