//===- WidenOperands.h - Operands that no unit takes as they are -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On SIMT targets, copies into the scratchpad do not convert. Where no
/// unit multiplies 8-bit floats of a product, but one multiplies f16 or bf16,
/// which hold all of their values, the operands are widened into buffers first:
///
///   for i, k: W[i, k] = extf A[i, k] : f8E4M3FN to f16
///   for i, j, k: C[i, j] += extf W[i, k] * extf B[k, j]
///
/// Of an array with zeros around it (Padding.h) the array is widened, which then has
/// zeros around it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_WIDENOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_WIDENOPERANDS_H

#include "core/Analysis/Contraction.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Rewrites `c` so, with a remark; false, and nothing is changed, where a unit takes it as it is, none takes it
/// widened, or no element of an operand is used twice, so that reading it as it is costs less than a buffer.
bool widenOperands(const Contraction &c, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_WIDENOPERANDS_H
