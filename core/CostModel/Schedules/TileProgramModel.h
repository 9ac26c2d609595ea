//===- TileProgramModel.h - Programs of rows on fragments -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the subgroups of a block share out a TileProgram, and what it costs. Each
/// has some of the rows; local arrays are fragments in the layout of the sums of
/// one matrix unit, and a sum becomes an operand of the next product in
/// registers. Operands without rows come through multi-stage buffers of the block.
///
///   clocks of a step = max(units, instructions, scratchpad, L2)     of all blocks of a multiprocessor (StepModel.h)
///   of one block     = products of all, then instructions of all    as measured: the one hides none of the other
///
/// A subgroup does not issue in every clock, since its instructions wait for each other: a few of them on an issue slot
/// take as long as one alone.
///
/// A member of the block is a subgroup, or a group of them that issues a unit together. Such a unit reads columns in
/// the scratchpad, in lines that it knows, and rows in registers or there.
///
/// Where rows are *transposed* they are columns of the unit's matrices: s' = k q'. Then a sum may have the layout of an
/// operand where s = q k' has not.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEPROGRAMMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEPROGRAMMODEL_H

#include "core/Analysis/TileProgram.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {

struct TileProgramPlan {
  const MatrixUnit *unit = nullptr;                      // rows come from registers, if any do
  const MatrixUnit *ofMoving = nullptr;                  // .. from the scratchpad: those that differ between steps
  bool transposed = false;                               // rows are columns of the unit's matrices
  int64_t subgroups = 1;                                 // members of a block
  int64_t unitRows = 1;                                  // units of a member along the rows
  int64_t stages = 2;                                    // of the buffers that steps fill
  llvm::MapVector<mlir::Operation *, StagedTile> staged; // of each contraction whose columns come from global memory
  llvm::MapVector<mlir::Operation *, StagedTile> stagedRows; // .. whose rows differ between steps
  bool loadsAhead = false; // lanes load what nests other than contractions read one step ahead
  std::string engine;      // that a role of the block fills the buffers by; empty: all lanes fill them
  bool inTurns = false;    // members take turns at their units, each while the lanes of others work
  int64_t workers = 0;     // blocks that take one tile each after the other; 0: each has one
  int64_t registers = 0, sharedBytes = 0, blocksAtATime = 1;
  double stepClocks = 0, seconds = 0;

  /// The unit of a contraction by whether its rows differ between steps.
  const MatrixUnit &unitFor(bool rowsMove) const { return rowsMove && ofMoving ? *ofMoving : *unit; }
  /// Subgroups of all members.
  int64_t allSubgroups() const { return subgroups * unit->scopeCount; }
  /// Rows and columns of one fragment, as the program counts them.
  int64_t rowsOfUnit() const { return transposed ? unit->n : unit->m; }
  int64_t columnsOfUnit() const { return transposed ? unit->m : unit->n; }
  /// Units that `columns` take: those that a contraction goes on with fill its operand.
  int64_t unitsAlong(int64_t columns, bool isOperand) const {
    int64_t together = isOperand ? std::max(unit->k, columnsOfUnit()) : columnsOfUnit();
    return llvm::divideCeil(columns, together) * (together / columnsOfUnit());
  }
  int64_t unitsOf(const TileStatement &statement) const { return unitsAlong(statement.columns(), statement.isOperand); }
  /// Columns and iterations of the sum that a stage of a contraction's buffer has: lanes share out powers of two.
  int64_t stagedColumns(const TileStatement &statement) const {
    return llvm::PowerOf2Ceil(unitsOf(statement) * columnsOfUnit());
  }
  int64_t stagedDepth(const TileStatement &statement) const { return llvm::PowerOf2Ceil(depthOf(statement) * unit->k); }
  /// Rows that a stage has, where each step reads others.
  int64_t rowsOfStage() const { return subgroups * unitRows * rowsOfUnit(); }
  /// Units along the sum of a contraction.
  int64_t depthOf(const TileStatement &statement) const { return llvm::divideCeil(statement.depth(), unit->k); }
  /// Whether units compute more rows than there are.
  bool hasFewerRows(const TileStatement &statement) const {
    return statement.hasFewerRows() || statement.rows() % rowsOfUnit() != 0;
  }
  /// Whether units compute more columns than there are.
  bool hasFewerColumns(const TileStatement &statement) const {
    return statement.hasFewerColumns() ||
           (statement.col && unitsOf(statement) * columnsOfUnit() != statement.columns());
  }
  /// Whether the last unit along the sum has more iterations than there are.
  bool endsInUnit(const TileStatement &statement) const {
    return statement.hasFewerSummands() || statement.depth() % unit->k != 0;
  }
  /// Units along `units` of the columns whose operands are loaded as one: 16 bytes of a lane.
  int64_t columnsTogether(int64_t units) const;
  /// Whether loads of `steps` run one step ahead: there is a first one in each tile.
  bool loadsAheadIn(const TileSteps &steps) const {
    mlir::affine::AffineForOp loop = steps.loop;
    return loadsAhead && loop.hasConstantBounds() && steps.most > 1;
  }
  /// Stages of the buffer of the columns of contraction `root` (or its rows): those of all steps that it serves.
  int64_t stagesOf(const TileProgram &program, mlir::Operation *root, bool isRows) const;
  llvm::json::Object toJSON() const;
};

/// `contraction` with A and B such that A's are the rows of the unit's matrices in `plan`.
Contraction oriented(const TileStatement &statement, bool transposed);
/// The layout of what a row of a fragment of `layout` has once.
Layout layoutOfRows(const Layout &layout, bool transposed);

/// Whether a group of subgroups issues `unit` on columns in the scratchpad and rows in registers or there, so that
/// lanes can fill the one and await the other.
bool computesInGroups(const MatrixUnit &unit, const Contraction &contraction, const LaneHierarchy &hierarchy,
                      const NumericFreedom &freedom);

/// Whether a unit of the chip computes all contractions of the program, whatever its tiles are.
bool hasUnit(const TileProgram &program, const TargetDescription &chip, const LaneHierarchy &hierarchy,
             const NumericFreedom &freedom);

/// The plan with the smallest modelled time for `blocks` tiles, of those that agree with `overrides`; nullopt and
/// `reason` where no unit computes the contractions, or registers or the block's memory have no room.
std::optional<TileProgramPlan> planTileProgram(const TileProgram &program, int64_t blocks,
                                               const TargetDescription &chip, const LaneHierarchy &hierarchy,
                                               const NumericFreedom &freedom, LanePlanOverrides overrides,
                                               std::string &reason);

/// Seconds below which no plan computes `products` multiplications in `blocks` tiles: those of the matrix units alone,
/// of as many multiprocessors as have a tile. `units`: of the chip, those that are considered.
double leastSecondsOfTiles(double products, int64_t blocks, const TargetDescription &chip,
                           const LaneHierarchy &hierarchy, const llvm::SmallBitVector &units);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEPROGRAMMODEL_H
