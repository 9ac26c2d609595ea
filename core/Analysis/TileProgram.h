//===- TileProgram.h - The nests of a tile as one program -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What tile-and-fuse left in one tile, seen as a program over the rows that all
/// of its nests have in common, or over one row where they have no such loop:
///
///   tile.parallel (%h, %i) .. {
///     m = -inf, l = 0, o = 0                      maps         loops: rows (, columns)
///     affine.for %j = 0 to 16 {                   steps
///       s[r, c] += q[64 %i + r, d] k[64 %j + c, d]   contraction  rows of A, columns of B
///       m[r] = max(m[r], s[r, c])                 reduction    of the columns of a row
///       ..
///
/// Arrays that only the tile touches are *local*: one row and one column index at most, the same everywhere. Members
/// that share out the rows then hand nothing to each other, and local arrays can lie in their registers.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_TILEPROGRAM_H
#define TILEWRIGHT_CORE_ANALYSIS_TILEPROGRAM_H

#include "core/Analysis/Contraction.h"
#include "dialects/Tile/TileDialect.h"
#include "llvm/ADT/MapVector.h"
#include <string>

namespace tilewright {

/// One nest of a tile.
struct TileStatement {
  enum class Kind { Contraction, Reduction, Map };
  Kind kind = Kind::Map;
  Nest nest;
  std::optional<unsigned> row;        // loop over the rows; none: the tile has one row
  std::optional<unsigned> col;        // loop over the columns: of C, of what is reduced, of what is computed
  std::optional<Contraction> sum;     // of a contraction
  unsigned k = 0;                     // .. its loop that is summed over
  bool rowsOfA = true;                // .. A has the rows, else B
  mlir::Operation *combine = nullptr; // of a reduction: combines `term` with what the result held
  mlir::Value term;
  llvm::SmallVector<int64_t, 4> trips; // of each loop, at most: the last tile may have fewer rows
  bool isOperand = false;              // a contraction sums over its columns, in arrays of the tile

  int64_t rows() const { return row ? trips[*row] : 1; }
  int64_t columns() const { return col ? trips[*col] : 1; }
  int64_t depth() const { return trips[k]; }
  bool hasFewerRows() const { return row && !nest.tripCounts[*row]; }
  bool hasFewerColumns() const { return col && !nest.tripCounts[*col]; }
  bool hasFewerSummands() const { return !nest.tripCounts[k]; }
  const ContractionOperand &ofRows() const { return rowsOfA ? sum->a : sum->b; }
  const ContractionOperand &ofColumns() const { return rowsOfA ? sum->b : sum->a; }
};

/// A local array.
struct TileArray {
  std::optional<unsigned> rowIndex, colIndex; // dimensions of the memref
  int64_t columns = 1;                        // at most: what is left over behind the last step has fewer
  bool isOperand = false;                     // as of `TileStatement`
  mlir::Type element;
};

/// A loop over steps of a tile.
struct TileSteps {
  mlir::affine::AffineForOp loop;
  int64_t most = 0; // iterations, in any tile
  double mean = 0;  // .. over all tiles
};

struct TileProgram {
  int64_t rows = 0;
  llvm::MapVector<mlir::Operation *, TileStatement> statements; // by the root of the nest, in order
  llvm::SmallVector<TileSteps> steps;                           // around statements, outermost first, in order
  llvm::MapVector<mlir::Value, TileArray> locals;

  const TileArray *local(mlir::Value memref) const {
    auto found = locals.find(memref);
    return found == locals.end() ? nullptr : &found->second;
  }
  /// The steps that a statement belongs to; null: none.
  const TileSteps *stepsAround(mlir::Operation *root) const;
  /// The first contraction that reads the same operand in the same way as `root` reads its columns (or its rows), in
  /// the same steps or in ones before them, which are done then; `root` itself where there is none.
  mlir::Operation *firstWithColumnsOf(mlir::Operation *root) const { return firstWith(root, /*isRows=*/false); }
  mlir::Operation *firstWithRowsOf(mlir::Operation *root) const { return firstWith(root, /*isRows=*/true); }
  /// Whether each step reads other elements of the rows of contraction `root`, none of which the tile computes.
  bool rowsMove(mlir::Operation *root) const;
  /// Local arrays that statements below `loop` write and that a later step, or what follows the steps, goes on with, in
  /// order.
  llvm::SmallVector<mlir::Value> handedOn(mlir::affine::AffineForOp loop) const;
  /// Whether two nests read the same elements with the same fragments.
  static bool readSame(const TileStatement &a, const Access &loadOfA, const TileStatement &b, const Access &loadOfB);
  /// What nests other than contractions read in the steps of `loop`, with the first nest that does: elements of arrays
  /// that others see, which differ between steps. In order, each once.
  llvm::SmallVector<std::pair<const TileStatement *, const Access *>>
  loadsOfSteps(mlir::affine::AffineForOp loop) const;
  /// Whether `statement` gives `memref` new values, whatever it held before.
  static bool replaces(const TileStatement &statement, mlir::Value memref);

private:
  mlir::Operation *firstWith(mlir::Operation *root, bool isRows) const;
};

/// The tiles of `tile`, where sizes that are not constant are assumed.
int64_t tilesOf(tile::ParallelOp tile);

/// The program of `tile`; failure with a reason where its body has another form. Sizes of rows and of what steps go
/// over need not be constant.
mlir::FailureOr<TileProgram> analyzeTileProgram(tile::ParallelOp tile, std::string &reason);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_TILEPROGRAM_H
