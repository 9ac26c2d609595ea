//===- ContractionExtents.h - How large a contraction is --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Trip counts of the dimensions that a plan tiles and of those that it leaves.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONEXTENTS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONEXTENTS_H

#include "core/Analysis/Contraction.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {

/// Extents of a contraction along the dimensions of a plan; dynamic ones as `assumed`. `parts`: of k, each of which is
/// a product like those of the outer dimensions.
struct ContractionExtents {
  int64_t m, n, k;
  int64_t outer, otherK = 1; // iterations of the dimensions left, of C and of the sum

  template <typename Plan>
  ContractionExtents(const Contraction &c, const Plan &plan, int64_t parts = 1, int64_t assumed = assumedExtent)
      : m(of(c, plan.mDim, assumed)), n(of(c, plan.nDim, assumed)), k(of(c, plan.kDim, assumed) / parts), outer(parts) {
    for (unsigned dim : plan.outer)
      outer *= of(c, dim, assumed);
    for (unsigned dim : plan.otherK)
      otherK *= of(c, dim, assumed);
  }
  /// Tiles of C, of `rows` x `columns` elements.
  int64_t tiles(int64_t rows, int64_t columns) const {
    return outer * llvm::divideCeil(m, rows) * llvm::divideCeil(n, columns);
  }
  static int64_t of(const Contraction &c, unsigned dim, int64_t assumed = assumedExtent) {
    return c.nest.tripCounts[dim].value_or(assumed);
  }
};

/// The size of as few even parts of `total` as there are of `most` each.
inline int64_t evenPart(int64_t total, int64_t most) { return llvm::divideCeil(total, llvm::divideCeil(total, most)); }

/// Whether half of a tile of `size` elements or more lies beyond an array of `extent`, though there is a smaller one,
/// of `least`.
inline bool isHalfBeyond(int64_t size, int64_t extent, int64_t least) { return size >= 2 * extent && size > least; }

/// Elements of an operand, each once: iterations of the loops that index it, and no more than its array has.
inline double elementsOf(const Contraction &c, const ContractionOperand &operand) {
  double elements = 1;
  for (unsigned dim : operand.access.dims().set_bits())
    elements *= double(ContractionExtents::of(c, dim));
  if (operand.index)
    elements *= double(operand.index->kept) / double(operand.index->group);
  auto type = mlir::cast<mlir::MemRefType>(operand.access.memref.getType());
  return type.hasStaticShape() ? std::min(elements, double(type.getNumElements())) : elements;
}

/// Bytes of the scales of an operand, each once.
inline double scaleBytes(const Contraction &c, const ContractionOperand &operand) {
  if (!operand.scale)
    return 0;
  const double each = double(elementBytes(operand.scale->element));
  return each * elementsOf(c, operand) / double(std::max<int64_t>(1, operand.scale->block));
}

/// Bytes of the places of a sparse operand's elements, each once.
inline double indexBytes(const Contraction &c, const ContractionOperand &operand) {
  return operand.index ? elementsOf(c, operand) : 0;
}

/// Clocks in which `global` moves the operands and `results` elements once.
inline double clocksOfArrays(const Contraction &c, double results, double elementBytes, const Memory &global) {
  const double elements = elementsOf(c, c.a) + elementsOf(c, c.b) + results;
  const double beside = scaleBytes(c, c.a) + scaleBytes(c, c.b) + indexBytes(c, c.a);
  return (elements * elementBytes + beside) / global.bytesPerClock;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONEXTENTS_H
