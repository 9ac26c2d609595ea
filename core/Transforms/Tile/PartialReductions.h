//===- PartialReductions.h - Dependent reductions of parts ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nests whose reductions over one dimension read each other's results are computed for P
/// parts of that dimension apart, which other members of a level may do, and then put together:
///
///   s = 0; s += q k                      for each part: s = 0; s += q k over the part's j
///   m = -inf; m = max(m, s)              for each part: m' = max of s
///   p = exp(s - m)                 ->    for each part: p = exp(s - (m' > -inf ? m' : 0))
///   l = 0; l += p                        for each part: l' = sum of p
///   o = 0; o += p v                      for each part: o' = sum of p v
///   o = o / l                            o = (sum over parts of o' c) / (sum over parts of l' c)
///                                        with m = max of m', b = m > -inf ? m : 0, c = m' > -inf ? exp(m' - b) : 0
///
/// A part is what a step is in OnlineReductions.h, with a state of its own. The nests of the parts are a chain again,
/// which may be computed in steps; each result takes one nest that reads the states of all parts.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TILE_PARTIALREDUCTIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_TILE_PARTIALREDUCTIONS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include <string>

namespace tilewright {

/// What splitReductions has written, in order.
struct PartialNests {
  llvm::SmallVector<mlir::affine::AffineForOp> parts, results;
};

/// Rewrites `ops`, neighbouring nests of one block, with `parts` parts of the dimension that their reductions have in
/// common, whose size they divide. Failure with a reason, and nothing changed, where they are no chain, a mean is
/// taken, or what follows the reductions is not computed element by element.
mlir::FailureOr<PartialNests> splitReductions(llvm::ArrayRef<mlir::Operation *> ops, int64_t parts,
                                              std::string &reason);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_PARTIALREDUCTIONS_H
