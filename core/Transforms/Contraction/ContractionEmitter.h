//===- ContractionEmitter.h - The tiled nest of a contraction ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the nest that a ContractionPlan describes: loops over cache tiles,
/// packing, and register tiles of tile.mma with the accumulators as iter_args.
/// Legality comes from the recognised contraction; nothing is analysed again.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_CONTRACTIONEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_CONTRACTIONEMITTER_H

#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Time/TailModel.h"
#include "core/Transforms/Contraction/IndexImages.h"
#include "core/Transforms/Fusion/OperandProducer.h"
#include "core/Transforms/Utils/TileAccess.h"
#include "mlir/IR/Builders.h"

namespace tilewright {

/// An element-wise nest that follows the contraction and is executed on its finished fragments. `toContraction[d]` is
/// the contraction's dimension that runs like the step's dimension d.
struct EpilogueStep {
  Nest nest;
  llvm::SmallVector<unsigned> toContraction;
  llvm::SmallVector<bool> keepStore; // per store of the nest: somebody else reads the result from memory
};

struct ContractionTask {
  Contraction contraction;
  ContractionPlan plan;
  bool zeroInit = false;      // C is zero before: it need not be read
  bool keepC = true;          // somebody else reads C from memory
  bool mayReassociate = true; // C may be added after the sum of a block of k instead of before
  mlir::Value sumsIn;         // a result of the epilogue that holds the sums between blocks of k in C's place; or null
  std::optional<OperandProducer> producerOfA, producerOfB; // computed while they are packed
  std::optional<ScaleImages> scalesOfA, scalesOfB;         // for units that find them in a memory of the block
  std::optional<IndexImages> indexOfA;                     // the same of a sparse A
  std::vector<EpilogueStep> epilogue;
  TailPlan tail;         // where the epilogue takes fragments of vectors from
  int64_t lineBytes = 1; // of the nearest cache

  /// What computes `operand` (the contraction's A or B) while it is packed; null: it lies in memory.
  const OperandProducer *producerOf(const ContractionOperand &operand) const {
    const std::optional<OperandProducer> &producer = &operand == &contraction.a ? producerOfA : producerOfB;
    return producer ? &*producer : nullptr;
  }
};

/// Vectors of constants that the epilogue of `task` needs for every fragment.
int64_t constantsOfEpilogue(const ContractionTask &task);

/// A result of the epilogue that may hold C's sums until the epilogue overwrites them, so that C needs no memory of its
/// own: nobody else reads C, the elements lie alike, and nothing that the contraction or the epilogue reads is in it.
mlir::Value findPlaceOfSums(const ContractionTask &task);

/// The access of an epilogue step over the contraction's dimensions.
Access onContraction(const Access &access, const EpilogueStep &step, const Contraction &contraction);

/// What the epilogue reads of memory, but for what itself or the contraction has written, and what it leaves there:
/// over the contraction's dimensions, in the order in which emitEpilogue asks for them.
struct EpilogueAccesses {
  llvm::SmallVector<Access> loads, stores;
};
EpilogueAccesses epilogueAccesses(const ContractionTask &task);
/// C, if somebody else reads it, and what the epilogue leaves in memory.
llvm::SmallVector<Access> resultsOf(const ContractionTask &task);

/// Clones the epilogue's steps on one finished element `sum`; `load` gives the element of an access over the
/// contraction's dimensions. The elements to store, in the order of `epilogueAccesses`.
llvm::SmallVector<mlir::Value> cloneEpilogue(mlir::OpBuilder &builder, const ContractionTask &task, mlir::Value sum,
                                             llvm::function_ref<mlir::Value(const Access &)> load);

/// Emits the epilogue's steps on one finished fragment as one tile.map, between loads of what they read and stores of
/// what they write; accesses are over the contraction's dimensions. `fragmentOf`: the accumulator's fragment of an
/// element type.
void emitEpilogue(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task, mlir::Value accumulator,
                  llvm::function_ref<tile::FragmentType(mlir::Type)> fragmentOf,
                  llvm::function_ref<mlir::Value(const Access &, tile::FragmentType)> load,
                  llvm::function_ref<void(mlir::Value, const Access &)> store);

/// The same for fragments at the current position of `space`, whose accesses have `axes`.
void emitEpilogue(IterationSpace &space, const ContractionTask &task, mlir::Value accumulator,
                  llvm::function_ref<tile::FragmentType(mlir::Type)> fragmentOf, const TileAxes &axes);

/// Emits the nest at the builder's insertion point. The caller erases what it replaces.
void emitContraction(mlir::OpBuilder &builder, mlir::Location loc, const ContractionTask &task);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_CONTRACTIONEMITTER_H
