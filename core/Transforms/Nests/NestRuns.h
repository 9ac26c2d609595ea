//===- NestRuns.h - Neighbouring iterations in one lane ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Element-wise nests whose lanes take several neighbouring iterations each, so
/// that an access moves up to 16 bytes:
///
///   for i < 64: for j < 1000: c[i, j] = f(a[i, j], b[j])
///   // the lane of row i and number g, with 8 iterations each
///   a8 = tile.load a[i, 8 g], b8 = tile.load b[8 g];  tile.store tile.map f(a8, b8), c[i, 8 g]
///
/// Loops that all accesses go through as if they were one are counted through by
/// one number: of c[i, j] = a[i, j] rows need not be a multiple of anything. What
/// is left of the last lane of such a run is done one by one. Where sizes are the
/// run's, lanes look whether rows lie one after the other; if not, each takes as
/// many iterations, neighbours being in neighbouring lanes.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTRUNS_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTRUNS_H

#include "core/CostModel/Schedules/NestModel.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// Of an scf.for in the code of lanes: it has a few iterations at most, and is neither unrolled nor made vectors of.
inline constexpr llvm::StringLiteral fewTimesAttr = "tilewright.few_times";

/// A dimension of an array that has to be as long as a loop of the band for loops to be one.
struct SpannedDimension {
  mlir::Value memref;
  int64_t dimension;
  unsigned loop;
};

/// Parallel loops, perfect from the first to the last, and how lanes take their iterations.
struct NestRuns {
  llvm::ArrayRef<mlir::affine::AffineForOp> band;
  llvm::SmallVector<unsigned> loops;           // of the band, that one number counts through, outermost first
  int64_t iterations = 1;                      // of a lane: neighbours of the last of them
  bool whole = true;                           // known when compiling: no lane takes fewer
  llvm::SmallVector<SpannedDimension> spanned; // dynamic; lanes look at them

  mlir::affine::AffineForOp loop(unsigned which) const { return band[which]; }
  mlir::affine::AffineForOp inner() const { return loop(loops.back()); }
  mlir::Value variable(unsigned which) const { return loop(which).getInductionVar(); }
  mlir::Block &body() const { return *loop(band.size() - 1).getBody(); }
  bool counts(unsigned loop) const { return llvm::is_contained(loops, loop); }
};

/// How lanes take several iterations of `band`, whose loops they count through in `order`, the fastest last; nullopt
/// where one each is faster, or something in the body can only be done one by one. `isPlanned`: the model has seen the
/// nest, and its time is in the log of decisions.
std::optional<NestRuns> planRuns(llvm::ArrayRef<mlir::affine::AffineForOp> band, llvm::ArrayRef<unsigned> order,
                                 const LaunchTarget &target, bool &isPlanned);

/// Writes what the lane does that is number `number` of its run (index). `mapping` has the induction variables of the
/// other loops; `extents` are those of all loops of the band, `length` their product over the run (index).
void emitRun(mlir::OpBuilder &builder, const NestRuns &runs, const mlir::IRMapping &mapping, mlir::Value number,
             mlir::ValueRange extents, mlir::Value length);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTRUNS_H
