//===- TileAccessLowering.h - Fragment accesses as vectors ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the elements that one lane holds lie in memory, and the vector accesses
/// that move them. The elements of an access are sorted by address and cut into
/// runs of consecutive addresses; a run is one vector access, and one shuffle
/// brings the runs into the order of the layout:
///
///   2x16 bf16, element = col * 2 + row, read from rows      two runs of 16, one interleaving shuffle
///   the same read from a buffer that interleaves the rows   one run of 32, no shuffle
///   1x16 f32 with (r, c) -> (0)                             one run of 1, a broadcast
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEACCESSLOWERING_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEACCESSLOWERING_H

#include "core/Transforms/Utils/SharedValues.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace tilewright {

/// Consecutive addresses of one access.
struct AccessRun {
  llvm::SmallVector<int64_t> offsets;    // of the first element, per memref dimension
  llvm::SmallVector<Position> positions; // matrix position that decides whether each address is read or written
};

/// The runs of a single-lane access in ascending order of address. `source[e]` is the index of element e in the
/// concatenation of all runs; `shared`: several elements of different positions have one address.
struct AccessPlan {
  llvm::SmallVector<AccessRun> runs;
  llvm::SmallVector<int64_t> source;
  bool shared = false;
  bool unitStride = true; // consecutive indices of the innermost dimension are consecutive addresses

  static AccessPlan of(tile::FragmentType fragment, mlir::MemRefType memref, mlir::AffineMap elements);
  bool isInOrder() const;
};

/// Plans of accesses: one for each fragment, array and order of elements.
class AccessPlans {
public:
  const AccessPlan &of(tile::FragmentType fragment, mlir::MemRefType memref, mlir::AffineMap elements);

private:
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Type, mlir::AffineMap>, std::unique_ptr<AccessPlan>> known;
};

/// The vector that holds the elements of a single-lane fragment.
mlir::VectorType vectorTypeOf(tile::FragmentType fragment);

/// Emits the vector form of a load; the result has type `vectorTypeOf(op.getType())`.
mlir::Value lowerLoad(mlir::OpBuilder &builder, tile::LoadOp op, SharedValues &shared, AccessPlans &plans);

/// Emits the vector form of a store of `value`.
void lowerStore(mlir::OpBuilder &builder, tile::StoreOp op, mlir::Value value, SharedValues &shared,
                AccessPlans &plans);

/// `value` (k elements) repeated to `count` elements: one element or one group the same in all lanes.
mlir::Value repeatGroup(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t count);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEACCESSLOWERING_H
