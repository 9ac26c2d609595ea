//===- TileAccess.h - Tiles of arrays at a position of a nest ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What emitters of tile ops write of an access: rows of a tile go along one dimension of the nest, columns along
/// another one, from the current position of an IterationSpace on.
///
///   C[m, 2 n + 1]   with rows along m and columns along n:   (row, col) -> (row, 2 col) from C[at m, 2 at n + 1] on
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_TILEACCESS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_TILEACCESS_H

#include "core/Transforms/Utils/IterationSpace.h"
#include "dialects/Tile/TileDialect.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// The dimensions of a nest along which a tile has rows and columns (none: its rows, or columns, are all the same), and
/// how many of each exist (null: all).
struct TileAxes {
  std::optional<unsigned> row, col;
  mlir::AffineExpr validRows = {}, validCols = {};
};

/// By how much row d0 and column d1 move the indices of `access`, which is linear in both dimensions.
mlir::AffineMap elementsOf(const Access &access, std::optional<unsigned> row, std::optional<unsigned> col);

/// A unit's fragment of these elements.
tile::FragmentType fragmentOf(const UnitOperand &operand, mlir::Type element);
/// What elements of this type are in a fragment: a unit that reads fewer of their bits takes them as they are.
mlir::Type elementIn(const UnitOperand &operand, mlir::Type memory);

/// A buffer for tiles in the memory of this name.
mlir::Value allocateTile(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> shape,
                         mlir::Type element, llvm::StringRef memory, tile::ArrangementAttr arrangement = {},
                         bool overlays = false);

/// The fragment of `access` at the current position; `reread` as tile.load has it.
mlir::Value loadTile(IterationSpace &space, const Access &access, tile::FragmentType type, const TileAxes &axes,
                     bool reread = false);
void storeTile(IterationSpace &space, mlir::Value fragment, const Access &access, const TileAxes &axes);

/// The fragment whose element (d0, d1) is `elements` beyond `place` in `buffer`.
mlir::Value loadTile(IterationSpace &space, mlir::Value buffer, llvm::ArrayRef<mlir::AffineExpr> place,
                     mlir::AffineMap elements, tile::FragmentType type);
void storeTile(IterationSpace &space, mlir::Value fragment, mlir::Value buffer, llvm::ArrayRef<mlir::AffineExpr> place,
               mlir::AffineMap elements);

/// The copy of `shape` rows and columns of `access` at the current position to those that are `elements` beyond `place`
/// in `buffer`, with zeros for what does not exist; not `in`: back, and what does not exist stays.
tile::CopyOp copyTile(IterationSpace &space, const Access &access, const TileAxes &axes, llvm::ArrayRef<int64_t> shape,
                      mlir::Value buffer, llvm::ArrayRef<mlir::AffineExpr> place, mlir::AffineMap elements,
                      bool in = true, llvm::ArrayRef<int64_t> bounded = {});

/// Fragments combined element by element.
mlir::Value combineTiles(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange fragments,
                         llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> combine);
/// The same by a copy of the operation `how`.
mlir::Value combineTiles(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange fragments,
                         mlir::Operation *how);
mlir::Value addTiles(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);

/// What the emitters of nests begin with, whatever runs them: the space of the nest, and expressions over it.
class NestWriter {
protected:
  NestWriter(mlir::OpBuilder &builder, mlir::Location loc) : space(builder, loc), loc(loc) {}

  mlir::OpBuilder &builder() const { return space.builder; }
  mlir::AffineExpr constant(int64_t value) const { return builder().getAffineConstantExpr(value); }
  mlir::AffineExpr dim(unsigned i) const { return builder().getAffineDimExpr(i); }
  /// Whether dimension `d` has a known size, a multiple of `step`.
  bool divides(unsigned d, int64_t step) const {
    return llvm::isa<mlir::AffineConstantExpr>(space.extent(d)) && space.extent(d).isMultipleOf(step);
  }
  /// A map of row d0 and column d1 of a tile.
  mlir::AffineMap elements(llvm::ArrayRef<mlir::AffineExpr> results) const {
    return mlir::AffineMap::get(2, 0, results, builder().getContext());
  }

  IterationSpace space;
  mlir::Location loc;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_TILEACCESS_H
