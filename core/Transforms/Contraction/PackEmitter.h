//===- PackEmitter.h - Copies into panels -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Packing of a multiplicand into panels that the register tile reads with unit
/// stride (PackedBuffer.h). The copy also widens elements, transposes,
/// interleaves groups of k and fills with zeros what a partial vector or group
/// lacks.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKEMITTER_H

#include "core/Analysis/Contraction.h"
#include "core/Transforms/Contraction/PackedBuffer.h"
#include "core/Transforms/Fusion/OperandProducer.h"

namespace tilewright {

struct PackRequest {
  const ContractionOperand *operand = nullptr;
  const OperandProducer *producer = nullptr; // computes the elements; null: they are read
  mlir::Type element;                        // in the packed buffer
  unsigned freeDim = ~0u;                    // nest dimension of the panel; ~0u: none
  llvm::ArrayRef<unsigned> outerFree;        // dimensions in which it goes on where it ends, innermost first
  bool windows = false;                      // with gaps in the source
  unsigned kDim = 0;
  llvm::SmallVector<unsigned> otherK; // further reduction dimensions, packed whole
  bool tapsInside = false;            // they lie inside of k
  int64_t width = 1;                  // elements of the free dimension in a panel
  int64_t vector = 0;                 // lanes that are read at once; 0: read as scalars
  int64_t group = 1;                  // elements of k that lie together
  int64_t kStep = 1;      // elements of k that a unit reads at once: k is filled up to a multiple with zeros
  mlir::AffineExpr first; // position of panel 0 in the free dimension
  mlir::AffineExpr begin; // first panel to pack ...
  llvm::SmallVector<mlir::AffineExpr> ends; // ... up to the smallest of these
  int64_t capacity = 0;                     // panels in the buffer; 0: ends[0] - begin
  mlir::AffineExpr kBegin, kLength;
  mlir::AffineExpr kMost; // elements of k that the buffer has room for
  bool offset = false;    // add half the range: signed elements become unsigned
  mlir::AffineExpr valid; // elements of the last vector that exist; null: all
};

/// Emits the copy at the current place and returns the buffer.
PackedBuffer packPanels(IterationSpace &space, const PackRequest &request);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PACKEMITTER_H
