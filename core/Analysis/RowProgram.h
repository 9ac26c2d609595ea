//===- RowProgram.h - Nests that work on the same rows ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Soft-max, layer norm and the like are some nests, one behind the other, over the same rows of contiguous elements:
///
///   for %i {           s[%i] = 0 }                                  Scalar       one value a row
///   for %i { for %j {  e[%i, %j] = exp(a[%i, %j] - m[%i]) } }       Elementwise  a row from rows
///   for %i { for %j {  s[%i] = s[%i] + e[%i, %j] } }                Reduction    one value from a row
///   for %i { for %j {  r[%i, %j] = e[%i, %j] / s[%i] } }            Elementwise
///
/// If no row reads what another one writes, each row can take all of the nests
/// before the next row begins: what lies between them stays where the row is.
/// A row has to be whole before what a reduction of it gives can be used, so the
/// nests are in *phases*: a nest stands in the first phase behind those of the
/// reductions that it uses, and not before the nests in front of it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_ROWPROGRAM_H
#define TILEWRIGHT_CORE_ANALYSIS_ROWPROGRAM_H

#include "core/Analysis/RowReduction.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace tilewright {

class BufferOrigins;

struct RowStep;

/// Where a row's elements come from: the step that computes them and its store, or none and the first load of that
/// place of an array as it was before the program.
using RowSource = std::pair<RowStep *, const Access *>;

/// One nest of a row program.
struct RowStep {
  enum class Kind { Scalar, Elementwise, Reduction };

  Kind kind = Kind::Scalar;
  Nest own;                                // unless it is a reduction
  std::unique_ptr<RowReduction> reduction; // else null
  unsigned phase = 0;                      // of Elementwise and Reduction
  unsigned available = 0;                  // the first phase that can use what the step gives
  /// Whether later phases can compute what the step gives, too: from arrays that the program does not write, from
  /// values that a row has once, and from rows of which the same holds.
  bool canComputeAgain = false;
  /// The step whose value a load reads; null: an array as it was before the program. Loads of a sum that a reduction
  /// adds to are among them.
  llvm::DenseMap<mlir::Operation *, RowStep *> definitions;
  /// What a load along the row reads. Loads of one place of an array have the same source.
  llvm::DenseMap<mlir::Operation *, RowSource> sources;

  const Nest &nest() const { return reduction ? reduction->nest : own; }
  /// Whether `load` reads an element for each of the row's.
  bool isAlongRow(const Access &load) const { return kind != Kind::Scalar && load.stride(nest().depth() - 1) == 1; }
  /// Whether `load` is that of a sum the reduction adds to.
  bool isSum(const Access &load) const { return reduction && reduction->sumOf(load.op); }
  /// The store to `memref`.
  const Access *storeTo(mlir::Value memref) const;
};

/// Nests over the same rows, with at least one reduction and one more nest over the rows' elements.
struct RowProgram {
  std::vector<std::unique_ptr<RowStep>> steps;
  llvm::SetVector<mlir::Value> results;               // arrays written that are used outside of the program
  llvm::DenseMap<mlir::Value, RowStep *> lastWriters; // of the arrays written: who gives them their last value
  unsigned phases = 1;
  int64_t length = 0;   // elements of a row; 0: dynamic
  bool mayGoOn = false; // cut by `mostSteps`: nests behind it may belong to it

  /// The loops over rows and, as the last, over a row's elements.
  llvm::ArrayRef<mlir::affine::AffineForOp> loops() const;
  /// Dimensions of the rows.
  unsigned outer() const { return loops().size() - 1; }
  /// Phases in which each row of elements is used, in the order of the program. The first one of a step's is its own.
  /// With `again`, later phases compute what they can, so that it is used in its own phase alone; the steps are
  /// appended there, once for each such phase.
  llvm::MapVector<RowSource, llvm::SmallVector<unsigned>>
  uses(llvm::SmallVectorImpl<const RowStep *> *again = nullptr) const;
};

/// Recognises the programs of one function. Time grows with the number of nests that are read.
class RowProgramReader {
public:
  /// `mayReassociate`: sums of floats may take another order. `origins` are those of the function. `fewest`: nests over
  /// elements of a row that a program has at least, one of them a reduction.
  RowProgramReader(const BufferOrigins &origins, bool mayReassociate, unsigned fewest = 2)
      : origins(origins), mayReassociate(mayReassociate), fewest(fewest) {}

  /// The longest program that begins with the nest at `root`, cut after `mostSteps` nests, but not before it has a
  /// reduction; null if there is none. Nests at and behind `root` must be those that the first call saw.
  std::unique_ptr<RowProgram> read(mlir::affine::AffineForOp root, size_t mostSteps);

private:
  /// The first reduction along rows in the run of nests that begins at `root`; null if there is none.
  mlir::affine::AffineForOp firstReduction(mlir::affine::AffineForOp root);

  const BufferOrigins &origins;
  bool mayReassociate;
  unsigned fewest;
  llvm::DenseMap<mlir::Operation *, mlir::affine::AffineForOp> reductions; // what firstReduction has found
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_ROWPROGRAM_H
