//===- OnlineReductions.h - Dependent reductions in one loop ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nests whose reductions over one dimension read each other's results become one
/// loop over steps of that dimension, with the nests of a step in it:
///
///   s = 0; s += q k                              m = -inf; l = 0; o = 0
///   m = -inf; m = max(m, s)                      for each step of T iterations j {
///   p = exp(s - m)                                 s = 0; s += q k
///   l = 0; l += p                                  old = m; m = max(m, s)
///   o = 0; o += p v                                b = m > -inf ? m : 0
///   o = o / l                                      c = old > -inf ? exp(old - b) : 0
///                                         ->       p = exp(s - b)
///                                                  l = l c; l += p
///                                                  o = o c; o += p v
///                                                }
///                                                c = exp(b - m); l = l c; o = o c
///                                                o = o / l
///
/// Arrays that the common dimension indexes have the size of a step; each nest of
/// a step is a perfect nest as before. Which nests these are, and how functions
/// are split, is DependentReductions.h. The last c is 1, but where no term was
/// above -inf, or one was NaN: then results are what they were without steps.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TILE_ONLINEREDUCTIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_TILE_ONLINEREDUCTIONS_H

#include "mlir/IR/Builders.h"
#include <string>

namespace tilewright {

/// `tile.at` of the loop over steps: no loop of the schedule.
inline constexpr int64_t stepLoop = -2;

/// Rewrites `ops`, neighbouring nests or single stores of one block, in steps of `step` iterations of the dimension
/// that their reductions have in common; a remainder is a smaller step after the loop. `isInside`: operations whose
/// accesses to arrays of the nests do not count as uses of them; `buffers`: where arrays are allocated. With 2 `passes`
/// there are two such loops: the nests up to a sum and those behind it, as of a mean that is subtracted before the
/// difference is rounded, so that no other order of sums is the same.
///
///   s = 0; s += x x               for each step { s += x x }
///   y = f16(x / s)           ->   for each step { y = f16(x / s);  o += y w }
///   o = 0; o += y w
///
/// Failure with a reason, and nothing changed, where they cannot be computed so.
mlir::LogicalResult stepReductions(llvm::ArrayRef<mlir::Operation *> ops, int64_t step, int64_t passes,
                                   llvm::function_ref<bool(mlir::Operation *)> isInside, mlir::OpBuilder buffers,
                                   std::string &reason);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_ONLINEREDUCTIONS_H
