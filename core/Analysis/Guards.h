//===- Guards.h - Reads that only some iterations do ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Who reads an array with a constant around it reads the array itself where an index is inside, and takes the
/// constant elsewhere. In the IR that is an `affine.if` with one result, whose integer set is the *guard*:
///
///   %v = affine.if affine_set<(y, k) : (y + k - 1 >= 0, 28 - y - k >= 0)>(%y, %k) -> f32 {
///     %e = affine.load %x[%y + %k - 1]
///     affine.yield %e
///   } else {
///     affine.yield %zero
///   }
///
/// Constraints that hold for all iterations of the loops are left out: of a window of 3 along 28 elements with one
/// around, the middle tap has none. A guard without constraints is no test at all.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_GUARDS_H
#define TILEWRIGHT_CORE_ANALYSIS_GUARDS_H

#include "core/Analysis/Padding.h"
#include "mlir/IR/IntegerSet.h"

namespace tilewright {

/// The least and the largest value of `expr`, over `numDims` dimensions and then symbols that are `operands`; nullopt
/// where it is not linear, or follows something else than induction variables of loops from 0 with constant ends.
std::optional<std::pair<int64_t, int64_t>> boundsOf(mlir::AffineExpr expr, unsigned numDims, mlir::ValueRange operands);

/// What is known of a guard.
enum class GuardForm { Always, Never, Some };

/// Leaves out what holds for all values of `operands`, those of `set`: induction variables of loops from 0 with
/// constant ends have such values, others any. What is left needs `set` where the answer is `Some`.
GuardForm simplifyGuard(mlir::IntegerSet &set, llvm::SmallVectorImpl<mlir::Value> &operands);

/// Whether `test`, an affine.if, only gives a value, from reads of memory and what has no effects.
bool isGuardedRead(mlir::affine::AffineIfOp test);

/// The guard of `test` with the affine.apply operations before it folded in.
mlir::IntegerSet composedGuard(mlir::affine::AffineIfOp test, llvm::SmallVectorImpl<mlir::Value> &operands);

/// The read in `test`, if that only reads one element, or takes +0 where indices are outside of the array; and the
/// dimensions of the array that its guard compares, in order.
struct BoundedRead {
  mlir::affine::AffineLoadOp load;
  llvm::SmallVector<int64_t> dimensions;
};
std::optional<BoundedRead> boundedRead(mlir::affine::AffineIfOp test);

/// Puts a guarded read of the array in the place of `load`, which reads the padded buffer, and erases `load`; a plain
/// read where the guard always holds.
void readThrough(mlir::affine::AffineLoadOp load, const PaddedArray &array);

/// Comparisons that such a read would do.
unsigned countTests(mlir::affine::AffineLoadOp load, const PaddedArray &array);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_GUARDS_H
