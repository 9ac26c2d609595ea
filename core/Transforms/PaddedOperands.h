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
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_PADDEDOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_PADDEDOPERANDS_H

#include "core/Analysis/Padding.h"
#include "core/CostModel/LaneContractionModel.h"

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

/// Which operands of `c` are read past their padding. `padded`: those that keep a padded buffer all the same
/// (`turnsA`, `turnsB`); `fast`, `overrides`: as for planLaneContraction.
PaddedOperands findPaddedOperands(const Contraction &c, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                                  bool fast, LanePlanOverrides overrides, int64_t padded);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_PADDEDOPERANDS_H
