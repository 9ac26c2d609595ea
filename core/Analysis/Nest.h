//===- Nest.h - An affine loop nest seen as a statement ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Summary of a perfect, rectangular affine nest with scalar accesses: its
/// loops, the access maps of its loads and stores over those loops, and
/// whether its body is otherwise free of side effects. What stage 2 leaves of a
/// linalg op is such a nest; recognition, fusion and vectorisation read it.
///
///   affine.for %i = 0 to 64 { affine.for %j = 0 to %n {
///     %x = affine.load %A[%i, %j + 1]          loads[0]:  (d0, d1) -> (d0, d1 + 1)
///     affine.store %x, %B[%j, %i]              stores[0]: (d0, d1) -> (d1, d0)
///   } }                                        tripCounts {64, nullopt}
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_NEST_H
#define TILEWRIGHT_CORE_ANALYSIS_NEST_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>

namespace tilewright {

/// One affine.load or affine.store; `map` takes the nest's loops, outermost first, as dimensions and `symbols`
/// (values defined outside the nest) as symbols, and yields the memref's indices.
struct Access {
  mlir::Operation *op = nullptr;
  mlir::Value memref;
  mlir::AffineMap map;
  llvm::SmallVector<mlir::Value, 2> symbols;
  bool isStore = false;

  /// Loop dimensions that occur in the map.
  llvm::SmallBitVector dims() const;
  /// Change of the linear element address per step of loop `dim` for an identity-layout memref; nullopt if it is
  /// not constant (dynamic inner sizes, div or mod).
  std::optional<int64_t> stride(unsigned dim) const;
  /// Whether each iteration of the first `dims` loops has an element of its own, with a plain index each.
  bool isOwn(unsigned dims) const;
};

/// Coefficient of dimension `dim` in `expr`; nullopt where `expr` is not linear in it.
std::optional<int64_t> linearCoefficient(mlir::AffineExpr expr, unsigned dim);

/// An index that is a dimension and an expression of symbols.
struct ShiftedDim {
  unsigned dim;
  mlir::AffineExpr shift;
};

/// `expr`, a result of `map`, in this form; nullopt where it has another one.
std::optional<ShiftedDim> shiftedDim(mlir::AffineExpr expr, mlir::AffineMap map);

/// Whether `expr` is proved not to be negative where its dimensions and symbols are not, by a linear lower bound:
/// 256 x - 4096 floor(x / 16) >= 256 x - 4096 x / 16 = 0.
bool isNeverNegative(mlir::AffineExpr expr);

struct Nest {
  llvm::SmallVector<mlir::affine::AffineForOp, 6> loops;   // outermost first, lower bound 0, step 1
  llvm::SmallVector<std::optional<int64_t>, 6> tripCounts; // nullopt: dynamic
  llvm::SmallVector<Access, 4> loads, stores;
  mlir::Block *body = nullptr; // of the innermost loop

  mlir::affine::AffineForOp root() const { return loops.front(); }
  unsigned depth() const { return loops.size(); }
};

/// Whether a nest may have reads that only some iterations do (Guards.h); then they are among its loads.
enum class GuardedReads { Refused, Allowed };

/// Summarises the nest at `root`; failure if it is not perfect, not rectangular (bounds may be symbols), has
/// iter_args, accesses that are not scalar affine, or other side effects in its body.
mlir::FailureOr<Nest> analyzeNest(mlir::affine::AffineForOp root, GuardedReads guarded = GuardedReads::Refused);

/// `expr`, over `numDims` dimensions and then symbols that are `operands`, over the loops of `nest` as dimensions; null
/// where an operand is another value inside the nest. Operands outside of it are appended to `symbols`, each once.
mlir::AffineExpr overLoops(mlir::AffineExpr expr, unsigned numDims, mlir::ValueRange operands,
                           llvm::ArrayRef<mlir::affine::AffineForOp> loops,
                           llvm::SmallVectorImpl<mlir::Value> &symbols);

/// The dimensions of `map`, if each of its results is a symbol expression, or one dimension beside such a one, and no
/// dimension occurs twice: then different values of these dimensions are different elements. Else nullopt.
std::optional<llvm::SmallBitVector> ownDims(mlir::AffineMap map);

/// Top-level operations of `block` after `from` and before `to` (both excluded) that may read or write `memref`.
llvm::SmallVector<mlir::Operation *> accessesBetween(mlir::Value memref, mlir::Operation *from, mlir::Operation *to);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_NEST_H
