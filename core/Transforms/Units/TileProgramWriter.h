//===- TileProgramWriter.h - Writes a tile's program ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Goes through the nests of a tile in their order and keeps, for each local array,
/// the fragments that hold it now: those of a row of units follow each other. What
/// statements become is in TileProgramStatements.cpp, what steps and copies become in
/// TileProgramEmitter.cpp.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UNITS_TILEPROGRAMWRITER_H
#define TILEWRIGHT_CORE_TRANSFORMS_UNITS_TILEPROGRAMWRITER_H

#include "core/CostModel/Schedules/TileProgramModel.h"
#include "core/Transforms/Contraction/StagedBuffer.h"
#include "mlir/IR/IRMapping.h"
#include <map>
#include <memory>

namespace tilewright {

class TileProgramWriter {
public:
  TileProgramWriter(tile::ParallelOp tile, const TileProgram &program, const TileProgramPlan &plan,
                    const LaneHierarchy &hierarchy)
      : tile(tile), program(program), p(plan), unit(*plan.unit), hierarchy(hierarchy), builder(tile.getContext()),
        loc(tile.getLoc()) {}
  void emit();

private:
  using Fragments = llvm::SmallVector<mlir::Value>;
  /// The columns of a contraction, or its rows.
  struct Side {
    const TileStatement *statement;
    bool isRows = false;
  };
  /// A side that comes from global memory.
  struct Staged {
    std::unique_ptr<ContractionOperand> operand; // as the copy that is written reads it
    std::unique_ptr<StagedBuffer> buffer;
    int64_t stages = 1;
  };
  /// A number of iterations that a body computes with: that of the fragment's first element, and what it grows by from
  /// row to row and from column to column.
  struct Number {
    mlir::Value value, first;
    int64_t perRow = 0, perColumn = 0;
  };
  /// A loop over steps, with the values of its bounds.
  struct StepRange {
    mlir::affine::AffineForOp loop;
    mlir::Value first, end;
  };
  /// The space of one statement: its loops, and the subgroup's first row.
  struct Place {
    Place(TileProgramWriter &emitter, const TileStatement &statement);
    /// To a unit along the rows of the subgroup and one along the columns.
    void goTo(int64_t row, int64_t column);
    IterationSpace space;
    mlir::AffineExpr firstRow; // of the subgroup
    const TileStatement &statement;
    const TileProgramPlan &plan;
  };

  mlir::AffineExpr constant(int64_t value) const { return mlir::getAffineConstantExpr(value, loc.getContext()); }
  tile::FragmentType typeOf(mlir::Type element, bool hasColumns) const;
  Access now(const Access &access, mlir::affine::AffineForOp ahead = {}, int64_t steps = 0) const;
  mlir::AffineMap elementsOf(const Access &access, const TileStatement &statement, std::optional<unsigned> along) const;
  mlir::AffineMapAttr validOf(Place &place, const TileStatement &statement, std::optional<unsigned> along,
                              bool endsAlong, llvm::SmallVectorImpl<mlir::Value> &operands) const;
  mlir::Value withoutMissing(const TileStatement &statement, unsigned along, mlir::Value fragment, int64_t column,
                             mlir::TypedAttr other);
  void write(mlir::Operation &op);
  llvm::SmallVector<mlir::Value> handedOn(mlir::affine::AffineForOp loop);
  void steps(mlir::affine::AffineForOp loop);
  void statement(const TileStatement &statement);
  Fragments loaded(const TileStatement &statement, const Access &load);
  void map(const TileStatement &statement);
  void reduction(const TileStatement &statement);
  void contraction(const TileStatement &statement);
  llvm::SmallVector<const TileStatement *> contractionsOf(mlir::Block &block) const;
  static mlir::Operation *rootOf(const TileStatement &statement) {
    return mlir::affine::AffineForOp(statement.nest.loops.front());
  }
  static tile::FragmentType operandType(const UnitOperand &own, const ContractionOperand &operand) {
    return fragmentOf(own, elementIn(own, operand.element));
  }
  mlir::Value argument(const TileStatement &statement, const Access &load, int64_t row, int64_t column);
  llvm::SmallVector<mlir::Value> compute(const TileStatement &statement, llvm::ArrayRef<mlir::Value> results,
                                         int64_t row, int64_t column);
  mlir::Value reduceColumns(mlir::Operation *how, mlir::Value fragment);
  Fragments rowsOf(const TileStatement &statement);
  bool isInvariant(const TileStatement &statement, mlir::affine::AffineForOp loop) const;
  void stage(Side side);
  mlir::Operation *firstWith(Side side) const {
    mlir::Operation *root = rootOf(*side.statement);
    return side.isRows ? program.firstWithRowsOf(root) : program.firstWithColumnsOf(root);
  }
  Staged &stagedOf(Side side) { return staged.find({firstWith(side), side.isRows})->second; }
  llvm::SmallVector<mlir::Value> copy(Side side, const StepRange *steps, mlir::Value from, int64_t distance);
  llvm::SmallVector<std::pair<const TileStatement *, const Access *>>
  loadsAheadOf(mlir::affine::AffineForOp loop) const;
  using LoadsOfSteps = llvm::ArrayRef<std::pair<const TileStatement *, const Access *>>;
  llvm::SmallVector<mlir::Value> loadAhead(mlir::affine::AffineForOp loop, LoadsOfSteps loads, mlir::Value at);
  void take(mlir::affine::AffineForOp loop, llvm::ArrayRef<mlir::Value> arrays, LoadsOfSteps loads,
            mlir::ValueRange given);
  llvm::SmallVector<Side> stageSides(mlir::affine::AffineForOp loop);
  mlir::Value boundOf(mlir::affine::AffineForOp loop, bool isLower);
  Number numberOf(const TileStatement &statement, mlir::Value value, int64_t row, int64_t column);
  mlir::Value accessed(const TileStatement &statement, const Access &access, tile::FragmentType type, int64_t row,
                       int64_t column, mlir::Value stored);

  tile::ParallelOp tile;
  const TileProgram &program;
  const TileProgramPlan &p;
  const MatrixUnit &unit;
  const LaneHierarchy &hierarchy;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Value subgroup, step;        // the one that is written, null: outside of steps
  mlir::Operation *behind = nullptr; // the end of the tile's body: buffers stand there, before the loop over subgroups
  mlir::IRMapping values;            // steps
  llvm::DenseMap<mlir::Value, Fragments> held;
  llvm::DenseMap<mlir::Operation *, Fragments> loadedAhead; // what loads of the step that is written give, by the load
  llvm::DenseMap<mlir::Operation *, Fragments> rowOperands; // loaded before the steps
  std::map<std::pair<mlir::Operation *, bool>, Staged>
      staged; // by the first contraction that reads it, and whether rows
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UNITS_TILEPROGRAMWRITER_H
