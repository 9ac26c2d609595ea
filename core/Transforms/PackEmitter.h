//===- PackEmitter.h - Copies into panels -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Packing of a multiplicand into panels that the register tile reads with unit
/// stride. The copy also widens elements, transposes, interleaves groups of k
/// and fills with zeros what a partial vector or group lacks:
///
///   panels   [panel][other k...][k / group][width * group]   element (k, free) at k / group, free * group + k % group
///   rows     [panel][width][other k...][k, up to a step]     where the source has k contiguous and scalars are read
///
/// A unit that reads several groups a step (`kStep` > `group`) finds them one after the other.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_PACKEMITTER_H
#define TILEWRIGHT_CORE_TRANSFORMS_PACKEMITTER_H

#include "core/Analysis/Contraction.h"
#include "core/Transforms/IterationSpace.h"
#include "core/Transforms/OperandProducer.h"
#include "dialects/Tile/TileDialect.h"

namespace tilewright {

struct PackRequest {
  const ContractionOperand *operand = nullptr;
  const OperandProducer *producer = nullptr; // computes the elements; null: they are read
  mlir::Type element;                        // in the packed buffer
  unsigned freeDim = ~0u;                    // nest dimension of the panel; ~0u: none
  unsigned kDim = 0;
  llvm::ArrayRef<unsigned> otherK; // further reduction dimensions, packed whole
  int64_t width = 1;               // elements of the free dimension in a panel
  int64_t vector = 0;              // lanes that are read at once; 0: read as scalars
  int64_t group = 1;               // elements of k that lie together
  int64_t kStep = 1;               // elements of k that a unit reads at once: k is filled up to a multiple with zeros
  mlir::AffineExpr first;          // position of panel 0 in the free dimension
  mlir::AffineExpr begin;          // first panel to pack ...
  llvm::SmallVector<mlir::AffineExpr> ends; // ... up to the smallest of these
  int64_t capacity = 0;                     // panels in the buffer; 0: ends[0] - begin
  mlir::AffineExpr kBegin, kLength;
  bool offset = false;    // add half the range: signed elements become unsigned
  mlir::AffineExpr valid; // elements of the last vector that exist; null: all
};

struct PackedBuffer {
  mlir::Value memref;
  bool rows = false; // the second form
  int64_t group = 1;
  llvm::SmallVector<unsigned> otherK;
  explicit operator bool() const { return bool(memref); }
};

/// Emits the copy at the current place and returns the buffer.
PackedBuffer packPanels(IterationSpace &space, const PackRequest &request);

/// Loads the fragment of unit step `step` of k and free elements `offset`... of panel `panel`; the free dimension runs
/// along the fragment's columns or rows.
mlir::Value loadPacked(IterationSpace &space, const PackedBuffer &buffer, tile::FragmentType type,
                       mlir::AffineExpr panel, mlir::AffineExpr step, int64_t offset, bool freeIsColumn);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_PACKEMITTER_H
