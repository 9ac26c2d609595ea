//===- BatchLanes.h - Contractions without reuse ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A contraction whose operands are all contiguous in a batch dimension, as the depthwise convolution of a
/// channels-last image:
///
///   C[y, x, c] += A[y + p, x + q, c] * B[p, q, c]
///
/// Vectors along that dimension multiply element by element, and no register tile can use one twice. As a plain nest it
/// needs two loads a product; as a product of matrices it must gather lanes that lie far apart. Which takes longer is
/// a question of its sizes. The same holds where one operand is a filter of few taps that neighbouring results share:
///
///   C[c, y, x] += A[c, y + p, x + q] * B[c, p, q]
///
/// The lanes then run along x, and each product needs one load.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_BATCHLANES_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_BATCHLANES_H

#include "core/Analysis/Contraction.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Modelled seconds of `contraction` as a plain nest of vectors along such a dimension; nullopt where it has none, or
/// the chip has no vectors. Unknown extents count as the planner assumes them.
std::optional<double> secondsOverBatchLanes(const Contraction &contraction, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_BATCHLANES_H
