//===- PaddedOperands.h - Operands read past their padding ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution with padding need not read a padded image: copies into the
/// scratchpad take zeros where an index is outside of the image (`bounded` of
/// tile.copy). The launches that fill the buffer and copy the image into it
/// are not needed then:
///
///   P = 0;  P[h + 1, w + 1] = X[h, w];  .. += P[h + r, w + s] * W[r, s]
///   .. += X[h + r - 1, w + s - 1] * W[r, s]           // zero outside of X
///
/// The model decides: checks take instructions of the main loop, the buffer takes
/// two launches, and is written and read once. Where others read the buffer too,
/// they share what it takes.
///
/// Where the image is computed into the buffer, by what follows the convolution
/// before, it gets a buffer of its own first. So it can be computed on that
/// convolution's sums, and the next one reads it where it is:
///
///   P = 0;  P[h + 1, w + 1] = max(Y[h, w], 0);                              before
///   P = 0;  I[h, w] = max(Y[h, w], 0);  P[h + 1, w + 1] = I[h, w];          after
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PADDEDOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PADDEDOPERANDS_H

#include "core/Analysis/Padding.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {

/// What was decided for a contraction.
struct PaddedOperands {
  llvm::SmallVector<PaddedArray, 2> passedBy; // buffers that it reads no more
  llvm::json::Array considered;               // "padded" (operands that are read from a padded buffer), "seconds"

  /// `c` with operands that are read where they are. For an analysis of the same nest that was made anew.
  void apply(Contraction &c) const;
  /// Erases the buffers that nothing reads any more, and the nests that fill them.
  void eraseBuffers() const;
};

/// What decides which operands are read past their padding.
struct PaddingOptions {
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  NumericFreedom freedom;      // as for planLaneContraction
  LanePlanOverrides overrides; // as for planLaneContraction
  int64_t padded;              // operands that keep a padded buffer all the same (`turnsA`, `turnsB`)
};

/// Which operands of `c` are read past their padding. `computed`: a buffer whose inside another nest would write
/// without a launch of its own, or null.
PaddedOperands findPaddedOperands(const Contraction &c, const PaddingOptions &options, mlir::Value computed = {});

/// Writes a buffer like `array.buffer`, of the elements of `inside`, before the builder's place: zeros, and in them
/// `inside`, which has the sizes of the array's inside. The buffer.
mlir::Value padArray(mlir::OpBuilder &builder, const PaddedArray &array, mlir::Value inside);

/// A buffer of its own for what is computed into a padded one, with a copy from there into it.
struct SeparatedInside {
  llvm::SmallVector<mlir::Operation *, 2> accesses; // to what is computed
  mlir::Value inside;
  mlir::affine::AffineForOp copy;
};

/// Separates what `array`, without `source`, has inside.
SeparatedInside separateInside(const PaddedArray &array);

/// Nests that read the buffer, or null for another operation that does.
llvm::SmallSetVector<mlir::Operation *, 4> readersOf(mlir::Value buffer);

/// Gives what is computed into padded buffers of `function` buffers of their own, with copies behind, where all that
/// read one are contractions that then read past it.
void separateInsides(mlir::func::FuncOp function, const PaddingOptions &options);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PADDEDOPERANDS_H
