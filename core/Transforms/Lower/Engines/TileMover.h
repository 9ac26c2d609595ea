//===- TileMover.h - What a core does for one copy --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One tile.copy of at most two dimensions, seen as rows of the scratchpad: zeros
/// around what exists, loads and stores of the core, or commands of an engine.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_TILEMOVER_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_TILEMOVER_H

#include "core/CostModel/Copies/TileCopies.h"
#include "core/Transforms/Lower/Engines/EngineCommands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilewright {

/// Every array of a program is at a multiple of so many bytes of its device's memory: what `allocate` gives
/// (docs/device-protocol.md), and no less than runtimes give.
constexpr int64_t deviceArrayAlignment = 64;

/// A copy of at most two dimensions by rows of the scratchpad.
struct CopyForm {
  TileTransfer tile;
  unsigned row = ~0u, col = 0; // dimensions of the box; no row: one dimension
  bool vectors = false;        // runs along a row (TileOrder::Columns: a column) are the innermost ones of both memrefs
};

/// The copy by rows of the scratchpad; nullopt for other ranks and for element maps that are not linear.
std::optional<CopyForm> copyFormOf(tile::CopyOp op);

/// Elements that the core's loads and stores of a tile move, of which `rows` x `cols` exist: the last vector of a row
/// that the edge cuts reaches back. What `TileMover::move` writes.
int64_t movedElements(tile::CopyOp op, const CopyForm &form, int64_t rows, int64_t cols, const TargetDescription &chip);

/// Writes one copy at the builder's insertion point.
class TileMover {
public:
  TileMover(mlir::OpBuilder &builder, tile::CopyOp op, const CopyForm &form, const TargetDescription &chip);

  /// Zeros around what exists, from the last whole vector before the edge on: what exists is written over them.
  void clear(mlir::OpBuilder &builder);
  /// The loads and stores of the core.
  void move(mlir::OpBuilder &builder);
  /// i1: whether the engine can address both sides; null where it always can. Cores that do not reach the array move
  /// nothing themselves, so that arrays have to begin where those of devices do.
  mlir::Value aligned(mlir::OpBuilder &builder, const TileCopyPlan &plan, const CoreHierarchy &cores);
  /// The commands that `plan` says.
  void command(mlir::OpBuilder &builder, const TileCopyPlan &plan, EngineCommand engine);

private:
  struct Side {
    mlir::Value address, row, col; // of the first element; bytes from row to row, from element to element
  };
  using Body = llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)>;

  /// The dimension whose steps are between the rows that an engine moves of a side; nullopt for one row.
  std::optional<unsigned> across(const TileCopyPlan &plan, bool source) const;
  /// Bytes that divide all addresses of rows of a side whose memory begins at a multiple of `base`, a power of two.
  int64_t alignmentOf(bool source, int64_t base, std::optional<unsigned> across);
  void findExtents(mlir::OpBuilder &builder);
  /// Where the zeros behind `exist` of `full` points of dimension `d` end.
  mlir::Value zerosTo(mlir::OpBuilder &builder, unsigned d, mlir::Value exist, int64_t full);
  Side side(mlir::OpBuilder &builder, bool source);
  mlir::Value index(mlir::OpBuilder &builder, int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  void loop(mlir::OpBuilder &builder, mlir::Value lower, mlir::Value upper, int64_t step, Body body);
  mlir::Value offset(mlir::OpBuilder &builder, const Side &side, mlir::Value row, mlir::Value col);
  llvm::SmallVector<mlir::Value> point(mlir::Value row, mlir::Value col);
  void moveSingle(mlir::OpBuilder &builder, mlir::Value row, mlir::Value col);
  mlir::Value load(mlir::OpBuilder &builder, mlir::Value address, int64_t count);
  void store(mlir::OpBuilder &builder, mlir::Value value, mlir::Value address);
  void moveRow(mlir::OpBuilder &builder, const Side &from, const Side &to, mlir::Value row, bool allCols);
  void moveBlock(mlir::OpBuilder &builder, const Side &from, const Side &to, mlir::Value row, mlir::Value col,
                 int64_t side);
  void issue(mlir::OpBuilder &builder, llvm::StringRef name, mlir::ValueRange operands, mlir::Value rows,
             mlir::Value bytes);

  tile::CopyOp op;
  const CopyForm &form;
  const TargetDescription &chip;
  mlir::Location loc;
  mlir::Type element;
  bool scalar;
  int64_t lanes;
  mlir::Value rows, cols; // that exist, index
  mlir::Value whole;      // i1, null: always
  bool partRows = false, partCols = false;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_TILEMOVER_H
