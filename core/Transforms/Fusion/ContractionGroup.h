//===- ContractionGroup.h - Nests that belong to a contraction --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A contraction seldom stands alone: a nest before it sets the result to zero,
/// and element-wise nests after it finish the result. They are rewritten in one
/// step, so that a register tile begins at zero and leaves finished:
///
///   C[m, n] = 0                     zeroInit
///   C[m, n] += A[m, k] * B[k, n]    the contraction
///   D[m, n] = max(C[m, n], 0)       epilogue; if nobody else reads C, it needs no memory
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_FUSION_CONTRACTIONGROUP_H
#define TILEWRIGHT_CORE_TRANSFORMS_FUSION_CONTRACTIONGROUP_H

#include "core/Transforms/Contraction/ContractionEmitter.h"

namespace tilewright {

/// Finds the nests that belong to `task.contraction` and fills in what is known of them: `zeroInit`, `epilogue`,
/// `keepC`, and which stores to keep. Returns the outermost loops of all, the contraction's first. Without epilogue:
/// what follows the sums stays nests of its own.
llvm::SmallVector<mlir::Operation *> gatherGroup(ContractionTask &task, bool withEpilogue = true);

/// The nest before `c` that sets all of its result to zero, with nothing between that touches the result; null if
/// there is none.
mlir::affine::AffineForOp findZeroInit(const Contraction &c);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_FUSION_CONTRACTIONGROUP_H
