//===- LaneContractionNest.h - A contraction's nest on lanes ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emitter of a contraction on lanes, in two files:
///
///   LaneContractionEmitter.cpp   grid, clusters, blocks, subgroups; what is loaded and stored of C
///   LaneContractionSteps.cpp     copies into the scratchpad, multi-stage buffers, products of a step
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANECONTRACTIONNEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANECONTRACTIONNEST_H

#include "core/Analysis/ElementType.h"
#include "core/Machine/PackedElements.h"
#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Contraction/LaneContractionEmitter.h"
#include "core/Transforms/Contraction/StagedBuffer.h"
#include "core/Transforms/Utils/TileAccess.h"

namespace tilewright {

/// Writes the nest of one plan. Positions are affine expressions over the indices entered so far.
class LaneContractionNest : NestWriter {
public:
  LaneContractionNest(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task,
                      const LaneContractionPlan &plan, const LaneHierarchy &hierarchy, bool engine)
      : NestWriter(builder, loc), task(task), c(task.contraction), p(plan), unit(*plan.unit), hierarchy(hierarchy),
        engine(engine), bufferA(c.a, p.a, true, p.mDim, p.kDim, p.blockM(), c.a.along(p.depth) / perElement(unit.a),
                                p.engine, perElement(unit.a)),
        bufferB(c.b, p.b, false, p.nDim, p.kDim, p.blockN(), p.depth / perElement(unit.b), p.engine,
                perElement(unit.b)) {
    if (!unit.sparsity || !readsScratchpad(unit) || task.indexOfA) // lanes load places where their array is, or none
      return;
    places = ContractionOperand{c.a.index->access, builder.getI8Type()};
    bufferOfPlaces.emplace(places, plainTile, true, p.mDim, p.kDim, p.blockM(), c.a.along(p.depth), p.engine);
  }
  void emit();

private:
  mlir::Value allocExchange();
  /// Elements of a row of A's array before position `k` of the sum, where groups of a sparse A begin, and of B's.
  mlir::AffineExpr alongA(mlir::AffineExpr k) const {
    return c.a.index ? k.floorDiv(c.a.index->group) * c.a.index->kept : k.floorDiv(perElement(unit.a));
  }
  mlir::AffineExpr alongB(mlir::AffineExpr k) const { return k.floorDiv(perElement(unit.b)); }
  StagedPlace placeOf(bool isA, mlir::AffineExpr k, mlir::AffineExpr stage);
  mlir::Value copy(bool isA, mlir::AffineExpr k, mlir::AffineExpr stage, int64_t block = 0);
  llvm::SmallVector<mlir::Value> copyTiles(mlir::AffineExpr k, mlir::AffineExpr stage);
  void tile(llvm::ArrayRef<mlir::AffineExpr> place);
  /// Of one k of the unit, over the rows and the columns of the subgroup's tile.
  struct Fragments {
    llvm::SmallVector<mlir::Value> a, b, scalesA, scalesB; // scales: of each of a and of b, if a unit takes them
    llvm::SmallVector<mlir::Value> indexA;                 // of each of a, if it is sparse
    /// All of them, in this order.
    std::array<llvm::SmallVector<mlir::Value> *, 5> all() { return {&a, &b, &scalesA, &scalesB, &indexA}; }
  };
  Fragments loadFragments(mlir::AffineExpr stage, int64_t k);
  mlir::Value loadScales(bool isA, int64_t tile, mlir::AffineExpr stage, mlir::AffineExpr inStage);
  mlir::Value loadIndex(int64_t tile, mlir::AffineExpr stage, mlir::AffineExpr inStage);
  Fragments loadBehind(mlir::AffineExpr stage, int64_t k);
  void multiply(const Fragments &own, llvm::SmallVectorImpl<mlir::Value> &sums, llvm::StringRef mark);
  llvm::SmallVector<mlir::Value> multiply(mlir::ValueRange accumulators, mlir::AffineExpr stage);
  void multiplyAcross(Fragments &held, llvm::SmallVectorImpl<mlir::Value> &sums, mlir::AffineExpr stage,
                      llvm::function_ref<mlir::Operation *()> arrive);
  llvm::SmallVector<mlir::Value> reduce(unsigned which, mlir::ValueRange accumulators);
  llvm::SmallVector<mlir::Value> ring(mlir::ValueRange accumulators);
  llvm::SmallVector<mlir::Value> prefetch(int64_t k, mlir::ValueRange accumulators);
  bool addsBehind() const;
  void subgroup();
  /// What is done with the finished sums of the units from `tn` on of row `tm`, `together` of them.
  void finish(mlir::ValueRange sums, int64_t tm, int64_t tn);
  /// Adds what slices have summed up and finishes it; there are several.
  void finishSlices(mlir::ValueRange sums);
  mlir::Value add(mlir::Value a, mlir::Value b) { return addTiles(builder(), space.loc, a, b); }
  void at(int64_t tm, int64_t tn) {
    space.at[p.mDim] = row + tm * unit.m;
    space.at[p.nDim] = col + tn * unit.n;
  }
  TileAxes axesOf(int64_t tm, int64_t tn) const;

  const ContractionTask &task;
  const Contraction &c;
  const LaneContractionPlan &p;
  const MatrixUnit &unit;
  const LaneHierarchy &hierarchy;
  bool engine;
  bool kInside = false; // the copies to be written lie inside along k
  bool isLast = true;   // they may be those of the last step
  StagedBuffer bufferA, bufferB;
  ContractionOperand places; // of a sparse A that the unit reads by itself: they are staged like it, row after row
  StagedTile plainTile;
  std::optional<StagedBuffer> bufferOfPlaces;
  mlir::Value scalesA, scalesB, indexA;                              // buffers of images; null: there are none
  mlir::Value exchanged;                                             // sums of slices, null: there is one slice
  mlir::AffineExpr rank;                                             // of the block in its cluster
  mlir::AffineExpr blockRow, blockCol, row, col, localRow, localCol; // of the block, of the subgroup, inside the block
  mlir::AffineExpr slice, inSlice;                                   // of the subgroup, its number there
  mlir::AffineExpr stepBegin; // position of the sum where the step's stage begins
  bool stepInside = false;    // all of the step's k is inside
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_LANECONTRACTIONNEST_H
