//===- ProducerSlices.h - What a tile needs of the nests before it -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A nest that writes an array is computed inside of a tile, as far as the tile
/// reads it:
///
///   for i < 66 { t[i] = f(x[i]) }                  for %t < 8 {
///   for i < 64 { y[i] = g(t[i], .., t[i + 2]) }      for i < 10 { t[8 %t + i] = f(x[8 %t + i]) }
///     in tiles of 8                                  for i < 8 { y[8 %t + i] = g(t[8 %t + i], ..) } }
///
/// The elements are found by integer sets. Where tiles read the same elements, each computes them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TILE_PRODUCERSLICES_H
#define TILEWRIGHT_CORE_TRANSFORMS_TILE_PRODUCERSLICES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include <string>

namespace tilewright {

/// Writes copies of `producers` at the beginning of `tile`, in their order, with the loops that index what they write
/// bounded to the elements that operations of `tile` touch. Of a nest with a result of its own, which nothing in the
/// tile touches, the loops are bounded to the elements that it reads of what the tile touches. Failure with a reason if
/// a nest is not perfect and rectangular, a result of it is not indexed by loops with a constant distance, or the
/// elements are no box, or more than the nest writes. The originals stay. `refused` becomes then the number of a
/// producer which, with those after it, is enough for the failure: whatever is before it plays no part.
mlir::LogicalResult pullSlices(mlir::Block &tile, llvm::ArrayRef<mlir::affine::AffineForOp> producers,
                               std::string &reason, size_t &refused);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_PRODUCERSLICES_H
