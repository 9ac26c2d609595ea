//===- RowFragments.h - Rows in the registers of a subgroup -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A row that the lanes of a subgroup share, as grids over single reductions
/// (MapRowsToLanes) and over whole programs (RowProgramEmitter.h) hold it. With
/// 4 lanes, vectors of 2 and 4 elements a lane:
///
///   column   0  1  2  3  4  5  6  7 | 8  9 10 11 12 13 14 15
///   lane     0  0  1  1  2  2  3  3 | 0  0  1  1  2  2  3  3
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_ROWFRAGMENTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_ROWFRAGMENTS_H

#include "core/Analysis/RowReduction.h"
#include "dialects/Tile/TileDialect.h"

namespace tilewright {

/// Fragments of one row over `lanes` lanes, a power of two.
struct RowFragments {
  int64_t lanes;

  /// Each lane holds `elements` columns, neighbouring vectors of `vector` of them (both powers of two), then the same a
  /// subgroup's width of vectors further on.
  Layout layout(int64_t elements, int64_t vector) const;
  /// 1 x (lanes * elements) in that layout.
  tile::FragmentType row(mlir::Type element, int64_t elements, int64_t vector) const;
  /// 1 x 1: one value that all lanes hold.
  tile::FragmentType one(mlir::Type element) const;
  /// The elements of a row combined to one value that all lanes hold.
  mlir::Value reduced(mlir::OpBuilder &builder, mlir::Location loc, const RowSum &sum, mlir::Value fragment) const;
};

/// `a` and `b` combined, in this order.
mlir::Value combined(mlir::OpBuilder &builder, const RowSum &sum, mlir::Value a, mlir::Value b);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_ROWFRAGMENTS_H
