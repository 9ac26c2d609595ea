//===- Cases.h - A search over cases ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether conditions with many clauses ("one of these cases holds") have an integer
/// solution. The cases are not multiplied out:
///
///   conditions without clauses      a rational point, by the simplex method
///   clauses that it breaks          cases that leave no rational point go; one is left: it holds;
///                                   none is left: no solution; else one clause is split
///   it breaks none                  an integer point, by isl
///
/// The work is bounded; what takes more is not known.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_CASES_H
#define TILEWRIGHT_CORE_PROOF_CASES_H

#include "core/Proof/Space.h"
#include <optional>

struct isl_basic_set;

namespace tilewright::proof {

/// The points of `conditions` over dimensions given by `places`. The caller frees it.
isl_basic_set *basicSet(isl_ctx *ctx, unsigned dimensions, llvm::ArrayRef<Linear> conditions,
                        const llvm::DenseMap<Variable, unsigned> &places);

/// What a search found.
struct Found {
  enum Kind { Nothing, Point, Unknown } kind = Unknown;
  std::vector<int64_t> point; ///< of each variable
};

/// Searches for a solution of `conditions` over `variables`, which are all that occur in them.
Found findPoint(isl_ctx *ctx, const Conditions &conditions, llvm::ArrayRef<Variable> variables);

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_CASES_H
