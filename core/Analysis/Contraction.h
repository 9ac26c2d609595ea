//===- Contraction.h - Sums of products, by access maps ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A contraction is a nest whose body is C[..] += cast(A[..]) * cast(B[..]),
/// whatever op it came from: matmul in any transposition, batched, einsum-like,
/// convolution. The loops are classified by the operands that they index:
///
///   in C, A and B   batch      in C and A   m      in C and B   n      not in C   k
///
/// Look-alikes (min-plus, masked or guarded products, a product that is used
/// twice) are not taken for one.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_CONTRACTION_H
#define TILEWRIGHT_CORE_ANALYSIS_CONTRACTION_H

#include "core/Analysis/Nest.h"

namespace tilewright {

/// Factors of a multiplicand that a unit applies.
struct OperandScale {
  Access access; // over the loops of the nest, of which that of the sum counts blocks
  mlir::Type element;
  int64_t block = 0; // iterations of that loop for which a factor serves; 0: all
};

/// Which of each `group` iterations of the sum's loop the elements of a sparse multiplicand belong to: it has `kept` of
/// them, in the order of memory.
struct OperandIndex {
  Access access; // of the places in the groups, bytes; like that of the elements, it counts kept ones along the loop
  int64_t kept = 1, group = 1;
};

/// A multiplicand: where it is read and what its element is before the widening cast.
struct ContractionOperand {
  Access access;
  mlir::Type element;      // in memory
  bool isUnsigned = false; // integers: widened by zero extension
  /// Dimensions of the array outside of which zeros are read (Padding.h).
  llvm::SmallVector<unsigned, 4> bounded = {};
  std::optional<OperandScale> scale = {}; // ScaledOperands.h
  std::optional<OperandIndex> index = {}; // SparseOperands.h
  /// Elements for `count` iterations of the sum's loop.
  int64_t along(int64_t count) const { return index ? llvm::divideCeil(count, index->group) * index->kept : count; }
};

struct Contraction {
  Nest nest;
  ContractionOperand a, b;
  Access c;                                   // the store; the load has the same memref and map
  mlir::Type accumulator;                     // type of the sum
  llvm::SmallVector<unsigned> batch, m, n, k; // loop dimensions, outermost first
};

/// Recognises `nest`; failure if it is no contraction. C's map must be injective on the dimensions that are not k.
mlir::FailureOr<Contraction> recognizeContraction(const Nest &nest);

/// Whether a unit may compute `nest`: a contraction with a dimension of the result for each of two operands.
bool isProduct(const Nest &nest);

// Parts of this, for other forms of such sums (SparseOperands.h).

/// `value` as a load of the nest, through one widening cast at most.
std::optional<ContractionOperand> multiplicandOf(mlir::Value value, const Nest &nest);
/// Whether `value` is a load of what the nest stores to, used once.
bool isAccumulator(mlir::Value value, const Nest &nest);
/// Puts the loops of the nest of `c` among m, n, k and the batch by which of a, b and c they move.
void sortLoops(Contraction &c);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_CONTRACTION_H
