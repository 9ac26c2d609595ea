//===- ContractionNest.h - The parts of a contraction's nest ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emitter of a contraction's nest, in two files:
///
///   ContractionEmitter.cpp   sections of the dimensions, loops over cache tiles, packing
///   ContractionTile.cpp      one register tile: accumulators, k loop, prefetches, epilogue
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_CONTRACTIONNEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_CONTRACTIONNEST_H

#include "core/Transforms/Contraction/ContractionEmitter.h"
#include "core/Transforms/Contraction/PackEmitter.h"
#include "core/Transforms/Utils/TileAccess.h"

namespace tilewright {

/// A run of equal panels or row tiles: `count` of them from position `first` on, each `width` unit steps wide;
/// the last unit step of a panel may be partial.
struct Section {
  mlir::AffineExpr first, count;
  int64_t width = 1;
  mlir::AffineExpr valid;           // rows or lanes of the last unit step that exist; null: all
  const MatrixUnit *tail = nullptr; // unit of the last unit step, if it is another
};

/// A block of the reduction.
struct KBlock {
  mlir::AffineExpr begin, length;
  bool first = true, last = true;
  mlir::AffineExpr most = {}; // elements that it may have; null: `length`
};

/// Rows of a register tile in one of its vectors. Several are a power of two, at most as many as a fragment has
/// columns, and unit rows of one row.
struct RowBlock {
  mlir::AffineExpr row, lane;            // global positions of the first row and of the vector
  int64_t count = 1, step = 1;           // unit rows, and the distance between two
  mlir::AffineExpr validRows, validCols; // of a fragment; null: all
  int64_t first = 0, vector = 0;         // in the register tile
};

/// Writes the nest of one plan. Positions are affine expressions over the loops entered so far.
class ContractionNest : NestWriter {
public:
  ContractionNest(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task)
      : NestWriter(builder, loc), task(task), c(task.contraction), p(task.plan), unit(*task.plan.unit),
        vectors(p.vectorOperand(c)), scalars(p.scalarOperand(c)), sums(c.c) {
    if (task.sumsIn)
      sums.memref = task.sumsIn;
  }

  void emit();

private:
  /// Panels from `begin` to the smallest of `ends`, as they lie for the k loops.
  struct Panels {
    const Section *section;
    mlir::AffineExpr begin;
    llvm::SmallVector<mlir::AffineExpr> ends;
    PackedBuffer buffer;          // empty if read in place
    mlir::AffineExpr firstPacked; // panel of the section that is the first one of the buffer
    mlir::Value compensation;     // [panel][lane] what an offset of the scalars adds, negated
  };

  /// The sums of a chain that `body` adds to zeros, added to `sums`.
  llvm::SmallVector<mlir::Value> chain(mlir::ValueRange sums,
                                       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);
  void sortDimensions();
  void splitDimensions();
  void dynamicRows(mlir::AffineExpr extent);
  void countEvenRows();
  void parallel(llvm::function_ref<void()> body);
  void overPieces(llvm::function_ref<void()> body);
  /// Where this core's part of a dimension begins, and its elements.
  mlir::AffineExpr baseOf(unsigned dim) { return dim == p.splitDim && pieceBase ? pieceBase : constant(0); }
  mlir::AffineExpr extentOf(unsigned dim) { return dim == p.splitDim && pieceBase ? pieceExtent : space.extent(dim); }
  mlir::AffineExpr extentOf(unsigned dim, llvm::ArrayRef<unsigned> outer) {
    mlir::AffineExpr extent = extentOf(dim);
    for (unsigned each : outer)
      extent = extent * space.extent(each);
    return extent;
  }
  void moveToRow(mlir::AffineExpr position) {
    if (p.rowDim)
      space.moveTo(position, *p.rowDim, p.outerRows);
  }
  void moveToLane(mlir::AffineExpr position) {
    if (p.laneDim)
      space.moveTo(position, *p.laneDim, p.outerLanes);
  }
  void outerLoops(llvm::ArrayRef<unsigned> dims, llvm::function_ref<void()> body);
  void reduceBlocks();
  void block(const KBlock &k);
  Panels packed(const Section &section, mlir::AffineExpr begin, llvm::ArrayRef<mlir::AffineExpr> ends, const KBlock &k);
  void multiply(llvm::ArrayRef<Panels> all, const KBlock &k);
  mlir::Value compensateOffset(const Panels &panels, const KBlock &k);
  llvm::SmallVector<PackedBuffer, 2> packAllRows(const KBlock &k);
  /// Whether the operand's part of a section is packed: the last fragment of a unit of several rows has no mask.
  bool packsVectors(const Section &section) const { return p.packVectors || (p.isBlock() && section.valid); }
  bool packsScalars(const Section &section) const { return p.packScalars || (p.isBlock() && section.valid); }
  std::pair<mlir::AffineExpr, mlir::AffineExpr> rowRange(const Section &section);
  PackRequest vectorRequest(const Section &section, const KBlock &k);
  PackRequest packRequest(const ContractionOperand &operand, const Section &section, const KBlock &k);
  /// The panels of each section, of all of k, in buffers that are filled before the function's first operation.
  void bindVectors();
  void packedRows(const Section &rowSection, const KBlock &k, mlir::AffineExpr first, mlir::AffineExpr end);
  void registerTile(const Section &rowSection, mlir::AffineExpr row, const Section &panelSection,
                    mlir::AffineExpr panel, const KBlock &k);
  llvm::SmallVector<mlir::Value> reduce(unsigned which, mlir::ValueRange accumulators, const KBlock &k);
  /// Whether rows of the register tile read elements of the scalars again in other iterations of reduction `dim`.
  bool sharesScalars(unsigned dim) const { return rowsThatShare(c, p, dim) > 0; }
  llvm::SmallVector<mlir::Value> reduceInside(unsigned which, mlir::ValueRange accumulators, mlir::AffineExpr group,
                                              const KBlock &k);
  llvm::SmallVector<mlir::Value> reduceMain(mlir::ValueRange accumulators, const KBlock &k);
  llvm::SmallVector<mlir::Value> step(mlir::ValueRange accumulators, mlir::AffineExpr group, const KBlock &k);
  void finishInMemory(llvm::ArrayRef<mlir::Value> accumulators, bool addsC, const KBlock &k);
  void prefetchNextPanel(mlir::AffineExpr iteration, int64_t iterations, const KBlock &k);
  /// The cache that a line is prefetched into, as affine.prefetch names it.
  enum Locality : uint32_t { SecondCache = 2, FirstCache = 3 };
  void prefetch(mlir::Value memref, const std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>> &place,
                Locality into);
  /// The line of `access` where the loops are.
  void prefetch(const Access &access, Locality into) { prefetch(access.memref, space.address(access), into); }
  void prefetchNextRows(mlir::AffineExpr group, const KBlock &k);
  void prefetchEpilogue();
  void prefetchTile(const Access &access);
  void finish(llvm::ArrayRef<mlir::Value> accumulators);
  void finishRows(const RowBlock &rows, mlir::ValueRange accumulators,
                  llvm::function_ref<tile::FragmentType(mlir::Type)> typeOf);
  /// What C held before is added to the sum of a block of k.
  mlir::Value addBefore(mlir::Value sum, mlir::Value before) { return addTiles(builder(), space.loc, sum, before); }

  /// The unit that computes vector `v` of the register tile.
  const MatrixUnit &unitOf(int64_t v) const { return tileTail && v == tileVectors - 1 ? *tileTail : unit; }
  /// Tiles of a section, 0 if not known.
  static int64_t countOf(const Section &section) {
    auto count = llvm::dyn_cast<mlir::AffineConstantExpr>(section.count);
    return count ? count.getValue() : 0;
  }
  /// What there is of the fragment in row r and column v of the register tile.
  TileAxes axesOf(int64_t r, int64_t v) const { return {p.rowDim, p.laneDim, validRowsOf(r), validColsOf(v)}; }
  /// What exists of the fragment in row r and column v of the register tile; null: all.
  mlir::AffineExpr validRowsOf(int64_t r) const { return r == tileRows - 1 ? tileValidRows : mlir::AffineExpr(); }
  mlir::AffineExpr validColsOf(int64_t v) const { return v == tileVectors - 1 ? tileValid : mlir::AffineExpr(); }

  // Rows of the register tile that are moved together (ContractionRows.cpp).
  bool isTransposed(const Access &access) const;
  bool epilogueIsTransposed() const;
  void forRowBlocks(bool together, llvm::function_ref<void(const RowBlock &)> body);
  llvm::SmallVector<mlir::Value> loadRows(const Access &access, tile::FragmentType type, const RowBlock &rows);
  void storeRows(mlir::ValueRange values, const Access &access, const RowBlock &rows);
  mlir::AffineMap columnMap(const Access &access, int64_t column);
  std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>> validColumn(const RowBlock &rows, int64_t column);

  const ContractionTask &task;
  const Contraction &c;
  const ContractionPlan &p;
  const MatrixUnit &unit;
  const ContractionOperand &vectors, &scalars;
  Access sums; // C, or what holds its sums between blocks of k
  mlir::Type vectorElement, scalarElement;
  llvm::SmallVector<unsigned> outerWithVectors, outerOther, otherK;
  llvm::SmallVector<Section> rowSections, panelSections;
  /// Register tiles of `rows` and `rows - 1` rows that a dynamic size has, and single rows.
  struct EvenRows {
    mlir::AffineExpr wide, narrow, single;
  };
  std::optional<EvenRows> evenRows;
  mlir::AffineExpr threadIndex;
  mlir::AffineExpr pieceBase, pieceExtent; // of the dimension that cores share, if its size is known

  // The register tile that is being written.
  int64_t tileRows = 1, tileVectors = 1;
  mlir::AffineExpr tileRow, tileLane;             // global positions
  mlir::AffineExpr tileValidRows, tileValid;      // rows of the last unit row and lanes of the last vector that exist
  const MatrixUnit *tileTail = nullptr;           // unit of the last vector
  mlir::AffineExpr localRow, localPanel;          // in the packed blocks
  mlir::AffineExpr tileIndex;                     // of the row section that prefetches, null in others
  int64_t tileCount = 0;                          // row tiles that share the prefetching of a panel
  PackedBuffer packedVectors, packedScalars;      // empty if read in place
  llvm::SmallVector<PackedBuffer, 2> boundPanels; // of the vector operand, a buffer for each panel section
  llvm::SmallVector<PackedBuffer, 2> packedOnce;  // the scalars of the block of k, a buffer for each row section
  mlir::Value tileBuffer;                         // what a register tile in registers of its own passes through
  mlir::Value compensation;                       // of these panels
};

constexpr unsigned noDim = ~0u;

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_CONTRACTIONNEST_H
