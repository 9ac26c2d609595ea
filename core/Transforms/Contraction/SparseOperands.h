//===- SparseOperands.h - Multiplicands that keep some of k -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sum of products whose one factor is given compressed: of each group of 4
/// iterations of k, say, it has 2 elements, and an array of bytes says where in
/// the group each of them stands.
///
///   for i, j, k, s: C[i, j] += P[i, k floordiv 4, s] mod 4 == k mod 4 ? A[i, k floordiv 4, s] * B[k, j] : 0
///   ->
///   C[i, j] += A[i, e] * B[e floordiv 2 * 4 + P[i, e] mod 4, j]      with e over 2 of each 4 iterations of k
///
/// The first form multiplies four times as often as the second one, which a unit
/// with an index computes (MatrixUnit.td: sparseKept, sparseGroup, indexA). What
/// counts are access maps and the data flow of the body; the compressed arrays
/// have a dimension for the groups and one for the elements of a group.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SPARSEOPERANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SPARSEOPERANDS_H

#include "core/Analysis/Contraction.h"

namespace tilewright {

/// `nest` as a contraction whose A has an index, over its loops but that of the elements of a group. Failure where it
/// is none: the trip count of k is not a known multiple of the group, the body computes something else, or places are
/// compared with all of their bits or not promised to ascend (ascendingAttr). Writes views of the compressed arrays
/// before the nest, which read nothing.
mlir::FailureOr<Contraction> recognizeSparseContraction(const Nest &nest);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_SPARSEOPERANDS_H
