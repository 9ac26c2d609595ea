//===- Padding.h - Arrays with zeros around them ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution with padding reads a buffer that holds the image with zeros
/// around it:
///
///   P[h, w] = 0                     all of the buffer
///   P[h + 1, w + 1] = X[h, w]       its inside
///   .. = P[h + r, w + s] * ..
///
/// or where the image is computed, P[h + 1, w + 1] = max(Y[h, w], 0).
///
/// Who can check indices while it copies reads the image itself, at
/// [h + r - 1, w + s - 1], and takes zeros where an index is outside of X: then
/// the buffer need not exist. What is checked are whole dimensions of X, from 0
/// to their sizes, whatever the amounts of padding are. Other constants than zero
/// may be around X (-inf of a maximum), for readers that can take them (Guards.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_PADDING_H
#define TILEWRIGHT_CORE_ANALYSIS_PADDING_H

#include "core/Analysis/Contraction.h"

namespace tilewright {

/// A buffer that is an array with a constant around it, and nothing else; or, without `source`, that is what a nest
/// computes with a constant around it.
struct PaddedArray {
  mlir::Value buffer, source;
  llvm::SmallVector<int64_t, 4> sizes;       // of what is inside
  llvm::SmallVector<mlir::Value, 4> extents; // the same where it is dynamic, else null
  llvm::SmallVector<int64_t, 4> low;         // elements before the first one inside, per dimension
  llvm::SmallVector<unsigned, 4> dimensions; // that have elements before or behind
  mlir::TypedAttr around;                    // the constant
  mlir::affine::AffineForOp fill, copy;      // the nests that write the buffer, all of it and then its inside
  llvm::SmallVector<mlir::affine::AffineForOp, 1> others; // without `source`: nests behind, which go on with the inside

  /// `read`, an access to the buffer, as one to the array; its indices may lie outside.
  Access onSource(const Access &read) const;
};

/// What may be around the array: +0 alone, which copies write, or any constant.
enum class Around { Zero, Constant };

/// What `buffer` holds when `reader`, an operation of its block, begins; nullopt if it is no such buffer, it is not
/// known where the array ends, or that has not the same elements any more. `reason`, if not null, says which.
/// `mayCompute`: the inside may be computed, by a nest that does not read the buffer and ones that go on with
/// what it wrote.
std::optional<PaddedArray> findPadding(mlir::Value buffer, mlir::Operation *reader, std::string *reason = nullptr,
                                       bool mayCompute = false, Around around = Around::Zero);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_PADDING_H
