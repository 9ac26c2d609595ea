//===- RowProgramEmitter.h - A launch for nests over rows -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nests over the same rows (RowProgram.h) become one grid. A block takes a row,
/// or some, and goes through the phases; each is one tile.parallel over the
/// block's subgroups:
///
///   phase 0   x = load a             keep x              parts[subgroup] = max of x
///   phase 1   m = max of all parts   e = exp(x - m)      keep e   parts[subgroup] = sum of e
///   phase 2   s = sum of all parts   store e / s
///
/// What is kept lies in the scratchpad, where each lane finds its own elements
/// again. Values of which a row has one are computed by every lane.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_ROWPROGRAMEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_ROWPROGRAMEMITTER_H

#include "core/Analysis/RowProgram.h"
#include "core/CostModel/Schedules/RowModel.h"
#include "core/Transforms/Nests/RowFragments.h"
#include "core/Transforms/Utils/TileAccess.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// Writes the grid of `program` at the builder's place.
class RowProgramEmitter : NestWriter {
public:
  RowProgramEmitter(mlir::OpBuilder &builder, const RowProgram &program, const RowProgramPlan &plan,
                    const LaneHierarchy &hierarchy)
      : NestWriter(builder, program.steps.front()->nest().root().getLoc()), program(program), plan(plan),
        hierarchy(hierarchy), fragments{hierarchy.lanes}, width(hierarchy.lanes * plan.elements) {
    llvm::SmallVector<const RowStep *> again;
    uses = program.uses(plan.computesAgain ? &again : nullptr);
  }
  void emit();

private:
  /// Elements of one subgroup in one segment.
  tile::FragmentType rowOf(mlir::Type element) { return fragments.row(element, plan.elements, plan.vector); }
  /// A buffer of the block with `columns` for each of its rows.
  mlir::Value allocate(int64_t columns, mlir::Type element);
  void allocateBuffers();
  /// To the row of this number, the last dimension fastest.
  void goTo(mlir::AffineExpr number);
  /// The steps of the phase, segment by segment, and the subgroup's parts of its sums.
  void runPhase();
  /// What the subgroup's elements of a segment give the step's sums.
  llvm::SmallVector<mlir::Value> reduce(RowStep &step);
  /// Elements of a row in all segments, those beyond its end, too.
  int64_t padded() const { return width * plan.subgroups * plan.segments; }
  /// The subgroup's elements of what the step stores, in the order of its stores.
  llvm::SmallVector<mlir::Value> values(RowStep &step);
  /// Computes the step, keeps what later phases read and stores what others do.
  void compute(RowStep &step);
  /// Computes what the step and those that are computed again for it read of values that a row has once.
  void computeScalars(RowStep &step);
  /// One lane writes the values of which a row has one and which others use.
  void storeScalars();

  /// The numbers of the row where the step's operations use them.
  void mapRow(const RowStep &step, mlir::IRMapping &mapping);
  /// The value of which the row has one, as `user` reads it.
  mlir::Value scalar(RowStep &user, const Access &load);
  /// What `step` writes to `memref`.
  mlir::Value scalarOf(RowStep &step, mlir::Value memref);
  /// The subgroup's elements of the row that `load` reads.
  mlir::Value row(RowStep &user, const Access &load);
  mlir::Value loadKept(mlir::Value buffer);
  /// Writes the fragment to the scratchpad, the elements beyond the row's end, too, if a later phase reads it.
  void keep(RowSource source, mlir::Value fragment);
  /// Writes the results of a step's body: its values are in the mapping, the elements of further inputs in the range.
  using Results = llvm::function_ref<void(mlir::OpBuilder &, mlir::IRMapping &, mlir::ValueRange,
                                          llvm::SmallVectorImpl<mlir::Value> &)>;
  /// The step's body for the subgroup's elements, with `more` as further inputs.
  llvm::SmallVector<mlir::Value> mapped(RowStep &step, mlir::TypeRange types, llvm::ArrayRef<mlir::Value> more,
                                        Results results);
  /// What exists of the subgroup's elements; null: all.
  TileAxes axes() const;
  /// Columns of a fragment along a row of a buffer.
  mlir::AffineMap alongBuffer() const { return elements({constant(0), dim(1)}); }

  const RowProgram &program;
  const RowProgramPlan &plan;
  const LaneHierarchy &hierarchy;
  RowFragments fragments;
  int64_t width; // elements of one subgroup in one segment
  llvm::MapVector<RowSource, llvm::SmallVector<unsigned>> uses;
  llvm::DenseMap<RowSource, mlir::Value> kept;                            // rows in the scratchpad
  llvm::DenseMap<const RowSum *, mlir::Value> parts;                      // of sums, one of each subgroup
  mlir::AffineExpr own, subgroup;                                         // of the block's rows, of the row's subgroups
  unsigned now = 0;                                                       // the phase
  llvm::DenseMap<RowSource, mlir::Value> rows;                            // fragments of this phase and segment
  llvm::DenseMap<std::pair<RowStep *, mlir::Value>, mlir::Value> scalars; // of this phase
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_ROWPROGRAMEMITTER_H
