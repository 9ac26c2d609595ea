//===- RowReduction.h - Nests that combine rows --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sums, maxima and the like along contiguous elements:
///
///   for %i { for %j { s[%i] = s[%i] + f(a[%i, %j], b[%j], t[%i]) } }
///
///   outer  i, in all results      lane  j, the innermost, contiguous in what is read      inner  what is between
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_ROWREDUCTION_H
#define TILEWRIGHT_CORE_ANALYSIS_ROWREDUCTION_H

#include "core/Analysis/Nest.h"
#include <memory>

namespace tilewright {

/// One element of memory that the row is combined into.
struct RowSum {
  const Access *load, *store;
  mlir::Operation *combine;
  mlir::TypedAttr neutral;
  mlir::Type type() const { return combine->getResult(0).getType(); }
};

/// A nest that combines rows of contiguous elements. Not to be copied or moved: `sums` point into `nest`.
struct RowReduction {
  Nest nest;
  llvm::SmallVector<RowSum, 2> sums;
  llvm::SmallVector<unsigned> outer; // parallel dimensions
  llvm::SmallVector<unsigned> inner; // reduced ones that run one after the other
  unsigned lane = 0;                 // the dimension of the lanes, the innermost loop

  const RowSum *sumOf(mlir::Operation *op) const {
    for (const RowSum &sum : sums)
      if (sum.load->op == op || sum.store->op == op)
        return &sum;
    return nullptr;
  }
  const Access &accessOf(mlir::Operation *op) const {
    return *llvm::find_if(nest.loads, [&](const Access &access) { return access.op == op; });
  }
};

/// The nest at `root` if it is such a one; null else. `mayReassociate`: sums of floats may take another order.
/// `mayCount`: what is combined may depend on the number of the element in its row.
std::unique_ptr<RowReduction> recognizeRows(mlir::affine::AffineForOp root, bool mayReassociate, bool mayCount = false);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_ROWREDUCTION_H
