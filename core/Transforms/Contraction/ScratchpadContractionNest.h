//===- ScratchpadContractionNest.h - A nest on cores with engines -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emitter of a contraction on cores with engines, in two files:
///
///   ScratchpadContractionEmitter.cpp   tiles of a core, their steps of k, products
///   ScratchpadTail.cpp                 finished tiles: slices of their rows through the tail and out
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONNEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONNEST_H

#include "core/Transforms/Contraction/ScratchpadContractionEmitter.h"
#include "core/Transforms/Utils/IterationSpace.h"

namespace tilewright {

/// An array that the tail reads or writes, by slices of rows through a ring of two.
struct TailBuffer {
  Access access; // over the dimensions of the contraction
  mlir::Type element;
  bool rows = true, cols = true; // it differs between rows, between columns
  mlir::Value buffer;            // null: the array lies in the scratchpad, and is used there
};

/// The arrays that the tail of `task` reads and writes, in the order in which emitEpilogue asks for them.
void collectTail(const ContractionTask &task, llvm::SmallVectorImpl<TailBuffer> &loads,
                 llvm::SmallVectorImpl<TailBuffer> &stores);

/// Writes the nest of one plan, one thing after the other. Positions are affine expressions over the indices entered so
/// far. Stages of buffers follow the steps of k, and the slices of finished tiles, through all tiles of a core.
class ScratchpadContractionNest {
public:
  ScratchpadContractionNest(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task,
                            const ScratchpadContractionPlan &plan, const CoreHierarchy &cores)
      : task(task), c(task.contraction), p(plan), unit(*plan.unit), cores(cores), space(builder, loc) {}
  void emit();

private:
  mlir::AffineExpr constant(int64_t value) { return mlir::getAffineConstantExpr(value, space.builder.getContext()); }
  mlir::AffineExpr dim(unsigned i) { return mlir::getAffineDimExpr(i, space.builder.getContext()); }
  mlir::OpBuilder &builder() { return space.builder; }
  mlir::AffineMap elements(llvm::ArrayRef<mlir::AffineExpr> results) {
    return mlir::AffineMap::get(2, 0, results, builder().getContext());
  }

  mlir::Value alloc(llvm::ArrayRef<int64_t> shape, mlir::Type element, const Memory &memory);
  void enterTile(mlir::AffineExpr tile);
  void enterStep(mlir::AffineExpr step);
  void enter(llvm::ArrayRef<unsigned> dims, mlir::AffineExpr index);
  void core(mlir::AffineExpr count);
  void step(mlir::AffineExpr tile, mlir::AffineExpr step);
  /// One dimension of a copy: `size` elements of a tile that has `tile`.
  struct Span {
    unsigned dim;
    int64_t size, tile;
  };
  /// Extents from the current position to the end of the array; null where all tiles are whole.
  std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>> validFrom(llvm::ArrayRef<Span> spans) const;
  mlir::Value stageCopy(const ContractionOperand &operand, mlir::Value buffer, bool isA, mlir::AffineExpr stage);
  llvm::SmallVector<mlir::Value> operandAt(const Access &access, mlir::Value stages, mlir::AffineExpr stage);
  void wait(mlir::ValueRange tokens);

  // ScratchpadTail.cpp
  mlir::Value tailCopy(const TailBuffer &tail, mlir::AffineExpr slot, mlir::AffineExpr slice, bool in);
  void tailSlice(mlir::AffineExpr tile, mlir::AffineExpr slice);
  /// Where a vector of a finished row is read or written.
  struct Place {
    mlir::Value memref;
    mlir::AffineMap map, elements;
    llvm::SmallVector<mlir::Value> operands;
  };
  Place placeOf(const TailBuffer &tail, mlir::AffineExpr slot, mlir::AffineExpr top, mlir::AffineExpr row,
                mlir::AffineExpr col);
  void finishRow(mlir::AffineExpr half, mlir::AffineExpr slot, mlir::AffineExpr slice, mlir::AffineExpr row,
                 mlir::AffineExpr col);
  void clear(llvm::ArrayRef<mlir::AffineExpr> at);
  mlir::Value loadVector(const Place &place, mlir::Type element);

  const ContractionTask &task;
  const Contraction &c;
  const ScratchpadContractionPlan &p;
  const MatrixUnit &unit;
  const CoreHierarchy &cores;
  IterationSpace space;
  llvm::SmallVector<TailBuffer> loads, stores;
  mlir::Value stageA, stageB; // null: the unit reads the array
  mlir::Value sums;
  mlir::AffineExpr number, stride; // of the core; of its tiles
  mlir::AffineExpr tilesM, tilesN, kBlocks, stepCount;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SCRATCHPADCONTRACTIONNEST_H
