//===- StepWriter.h - Dependent reductions in one loop ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the statements of a chain anew: once before, in and after its steps. What
/// is written is in OnlineReductions.cpp; arrays, nests and expressions of it are in
/// StepWriter.cpp.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TILE_STEPWRITER_H
#define TILEWRIGHT_CORE_TRANSFORMS_TILE_STEPWRITER_H

#include "core/Analysis/DependentReductions.h"
#include "core/Analysis/MaskedSteps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright {

/// An array in steps, with the loops that index it, each alone; `map`: an array of the program, at its indices.
/// `ofEachStep`: its first index is the number of the step.
struct StepArray {
  mlir::Value buffer;
  llvm::SmallVector<unsigned> loops;
  mlir::AffineMap map;
  bool ofEachStep = false;
};

/// The three arrays of a maximum that exponentials stand at, and what states at it are multiplied by.
struct BaseArrays {
  StepArray old, base;
  llvm::SmallMapVector<unsigned, StepArray, 2> corrections; // of each base with this maximum
};

/// The mean so far, what it has moved by in this step, and of how many iterations it was.
struct MeanArrays {
  StepArray base, shift, count;
};

/// Loops that `map` of an array of the chain names, in the order of its dimensions, as far as `used`.
llvm::SmallVector<unsigned> indexLoops(const DependentReductions &chain, mlir::AffineMap map,
                                       const llvm::SmallBitVector &used);

/// Writes one chain with `step` iterations of the common loop at a time; arrays of steps are allocated by `buffers`.
class StepWriter {
public:
  StepWriter(DependentReductions &chain, int64_t step, mlir::OpBuilder buffers, int64_t numParts = 0)
      : chain(chain), step(std::min(step, chain.loops[chain.common].trips)), buffers(buffers), numParts(numParts),
        conditions(liveConditions(chain)), loc(chain.statements.front().root->getLoc()) {}
  virtual ~StepWriter() = default;
  void write(mlir::OpBuilder &builder);

protected:
  using Body = llvm::function_ref<void(mlir::OpBuilder &)>;
  /// An array over these loops, one for each of `parts` of the common loop where that is not 0.
  StepArray allocate(llvm::ArrayRef<unsigned> loops, mlir::Type element, int64_t parts = 0);
  StepArray &partOf(unsigned statement, unsigned part);
  StepArray &stateOf(unsigned statement, unsigned part);
  void nest(mlir::OpBuilder &builder, llvm::ArrayRef<unsigned> loops, Body body);
  mlir::Value load(mlir::OpBuilder &builder, const StepArray &array);
  void store(mlir::OpBuilder &builder, mlir::Value value, const StepArray &array);
  std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>> indices(mlir::AffineMap map);
  std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>> placeIn(const StepArray &array);
  virtual mlir::Value emit(mlir::OpBuilder &builder, const Term *term);
  bool standsAtBase(const Term *term) const;
  virtual mlir::Value emitLoad(mlir::OpBuilder &builder, const Term *term);
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value exponential(mlir::OpBuilder &builder, const ReductionBase &base, mlir::Value from, mlir::Value to);
  mlir::Value isAbove(mlir::OpBuilder &builder, const ReductionBase &base, mlir::Value value);

  /// What the statement makes of a sum and one more term.
  static mlir::Value combined(mlir::OpBuilder &builder, const ReductionStatement &s, mlir::Value sum, mlir::Value term);
  void writeWhole(mlir::OpBuilder &builder, const ReductionStatement &s);
  void writeLocal(mlir::OpBuilder &builder, unsigned number);
  void writeState(mlir::OpBuilder &builder, unsigned number);
  void writeBase(mlir::OpBuilder &builder, unsigned number, BaseArrays &arrays);
  void scale(mlir::OpBuilder &builder, const StepArray &state, llvm::ArrayRef<unsigned> bases);
  void writeMean(mlir::OpBuilder &builder, const ReductionStatement &sum, MeanArrays &arrays);
  void moveMean(mlir::OpBuilder &builder, unsigned number, unsigned part);
  const Term *lowerTerm(const SeparablePair &pair, unsigned power);
  StepArray *lowerState(unsigned statement, unsigned part, unsigned power);
  mlir::Value lowerSum(mlir::OpBuilder &builder, unsigned statement, unsigned part, unsigned power, mlir::Value shift);
  void writeStep(mlir::OpBuilder &builder);
  /// The sum of g of a pair over all steps, and what it is multiplied by to stand at the value of base `number`.
  virtual mlir::Value sumOf(mlir::OpBuilder &builder, unsigned statement, unsigned part);
  virtual mlir::Value lastCorrection(mlir::OpBuilder &builder, unsigned number);
  mlir::Value resultOf(mlir::OpBuilder &builder, unsigned number);
  void readOut(mlir::OpBuilder &builder, unsigned number);
  void writeBegin(mlir::OpBuilder &builder);
  void writeSteps(mlir::OpBuilder &builder);
  void writeLoop(mlir::OpBuilder &builder, const StepRange &range);

  DependentReductions &chain;
  int64_t step;
  mlir::OpBuilder buffers;
  int64_t numParts;      // of the common loop, each with arrays of its own; 0: steps, which use the same ones
  Conditions conditions; // of iterations of the common loop that count
  llvm::MapVector<unsigned, BaseArrays> bases;                         // by the statement of the maximum
  std::map<std::tuple<unsigned, unsigned, unsigned>, StepArray> lower; // of powers of distances from a mean
  llvm::MapVector<unsigned, MeanArrays> means;                         // by number
  std::map<std::pair<unsigned, unsigned>, StepArray> parts, states;    // of statements and their pairs
  llvm::DenseMap<mlir::Value, StepArray> ofArrays;                     // in steps, for arrays of the program
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  // Of the place that is written:
  mlir::Location loc;
  mlir::Value stepNumber; // null: `whole`
  int64_t whole = 0;      // whole steps
  int64_t size = 0;       // iterations of the step, at most
  mlir::Value rest;       // those of a step that may have fewer; null: `size`
  mlir::Value any;        // whether there is an iteration at all; null: there is
  bool inStep = false;
  Conditions given;                                // that hold in all iterations of the step
  llvm::DenseMap<unsigned, mlir::Value> positions; // of loops
  llvm::DenseMap<const Term *, mlir::Value> emitted;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_STEPWRITER_H
