//===- LaneTail.h - What a kernel does with its sums ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tail of a contraction on lanes, as the cost model counts it: which arrays are
/// read and written where C's fragments lie.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LANETAIL_H
#define TILEWRIGHT_CORE_TRANSFORMS_LANETAIL_H

#include "core/CostModel/LanePrediction.h"
#include "mlir/IR/Operation.h"

namespace tilewright {

/// Of one fragment of C in `grid`, which was written by `plan`: every load from an array into a fragment, and every
/// store.
LaneTail tailOf(mlir::Operation *grid, const LaneContractionPlan &plan, const LaneHierarchy &hierarchy);

/// Elements of a lane that loads, maps and the store behind a sum take at a time, where the smallest element of them
/// has `bytes`.
int64_t elementsTogether(int64_t bytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LANETAIL_H
