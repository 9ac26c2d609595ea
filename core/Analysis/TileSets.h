//===- TileSets.h - What a tile of a nest touches, as integer sets -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The elements of an array that one iteration of the loops around a block
/// touches, computed by isl from the access maps and the loop bounds:
///
///   affine.for %t = 0 to 25 {                 the block: the body of %t
///     affine.for %i = 0 to 4 {
///       affine.for %j = 0 to 300 {
///         affine.load %x[%t * 4 + %i, %j]     box: offset (4 t, 0), size (4, 300)
///
/// A box has a constant size, so that a buffer can hold it, and an offset that is
/// affine in the values around the block. Where a set has no such box, the answer
/// says why.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_TILESETS_H
#define TILEWRIGHT_CORE_ANALYSIS_TILESETS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/MapVector.h"
#include <memory>
#include <optional>

struct isl_ctx;
struct isl_map;
struct isl_set;

namespace tilewright {

/// Elements of an array as a function of the values around a block.
class TileRelation {
public:
  TileRelation() = default;
  explicit TileRelation(isl_map *map) : map(map) {}
  TileRelation(const TileRelation &other);
  TileRelation(TileRelation &&other) : map(std::exchange(other.map, nullptr)) {}
  TileRelation &operator=(TileRelation other) {
    std::swap(map, other.map);
    return *this;
  }
  ~TileRelation();

  explicit operator bool() const { return map; }
  isl_map *get() const { return map; }
  /// The elements of either.
  TileRelation unite(const TileRelation &other) const;
  /// Whether every element of `this` is one of `other`.
  bool isWithin(const TileRelation &other) const;

private:
  isl_map *map = nullptr;
};

/// A box of an array. Expressions are over `TileSets::outer()`, as dimensions.
struct TileBox {
  llvm::SmallVector<mlir::AffineExpr> offset;
  llvm::SmallVector<int64_t> size;            // elements that a buffer needs
  llvm::SmallVector<mlir::AffineExpr> extent; // elements that are touched, from the offset on; at most `size`

  int64_t elements() const;
};

/// The integer sets of one block. Not copyable: owns isl's context, whose work is bounded; beyond the bound
/// queries answer "not known", and callers take the way that needs no proof.
class TileSets {
public:
  /// `tiles`: loops, around the block or in it, that shall be cut, with the iterations of a whole tile; their induction
  /// variable stands for the first iteration of the tile in the results.
  explicit TileSets(mlir::Block &block, const llvm::SmallMapVector<mlir::affine::AffineForOp, int64_t, 4> &tiles = {});
  TileSets(const TileSets &) = delete;
  ~TileSets();

  /// The values around the block that the results depend on.
  llvm::ArrayRef<mlir::Value> outer() const { return values; }
  mlir::Block &around() const { return block; }
  const llvm::SmallMapVector<mlir::affine::AffineForOp, int64_t, 4> &tilesInThought() const { return tiles; }
  /// What an affine.load or affine.store below the block touches; a null relation where it is not known.
  TileRelation touched(mlir::Operation *access);
  /// What the accesses of `memref` among `roots` and below touch together; a null relation where one is not known, or
  /// there is none.
  TileRelation touched(mlir::Value memref, llvm::ArrayRef<mlir::Operation *> roots);
  /// The elements of `relation` for any of the values around the block that `op` defines: what all members of a level,
  /// or all iterations of a loop, touch together.
  TileRelation ofAll(const TileRelation &relation, mlir::Operation *op) const;
  /// The box of `relation` for an array of type `type`; nullopt and `reason` where there is none. Without
  /// `hasConstantSize` it is what is touched, and `size` is empty.
  std::optional<TileBox> box(const TileRelation &relation, mlir::MemRefType type, std::string &reason,
                             bool hasConstantSize = true);
  /// Whether `relation` has all elements of `box`.
  bool covers(const TileRelation &relation, const TileBox &box);

  /// Whether `expr`, over `outer()`, is at most `limit` wherever the relation has elements.
  bool isAtMost(const TileRelation &relation, mlir::AffineExpr expr, int64_t limit);

private:
  void constrain(isl_set *&set, mlir::AffineMap map, mlir::ValueRange operands, unsigned position,
                 llvm::ArrayRef<mlir::Value> inner, bool isLower, int64_t distance);
  void constrain(isl_set *&set, mlir::affine::AffineForOp loop, unsigned position, llvm::ArrayRef<mlir::Value> inner,
                 std::optional<int64_t> tile, int64_t whole = 1);

  mlir::Block &block;
  llvm::SmallMapVector<mlir::affine::AffineForOp, int64_t, 4> tiles;
  isl_ctx *ctx;
  llvm::SmallVector<mlir::Value> values;
};

/// Whether each load of `accesses`, which are all those of one array in a tile in the order of writing, reads what
/// stores before it wrote in the same tile: those with the same innermost block around them and the load write together
/// at least what the load reads.
bool readsOwn(llvm::ArrayRef<mlir::Operation *> accesses);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_TILESETS_H
