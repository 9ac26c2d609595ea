//===- TileBufferLowering.h - Buffers and copies on the host ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sequential meaning of tile.alloc, tile.fill and tile.copy as loops, and
/// the form of a copy that a processor with vectors runs well:
///
///   both sides contiguous in one dimension    rows of full vectors, a masked remainder
///   the destination interleaves groups        a load per row of the group, one interleaved store
///   contiguous in different dimensions        square blocks, transposed in registers
///   anything else                             scalars
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEBUFFERLOWERING_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEBUFFERLOWERING_H

#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace tilewright {

/// Nested scf loops from 0 to constant or dynamic extents around `body`.
void buildLoops(mlir::OpBuilder &builder, mlir::Location loc, mlir::ArrayRef<mlir::OpFoldResult> extents,
                mlir::function_ref<void(mlir::OpBuilder &, mlir::ValueRange)> body);

/// `map(operands) + elements(point)`, one index per result.
mlir::SmallVector<mlir::Value> subscriptsAt(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineMap map,
                                            mlir::ValueRange operands, mlir::AffineMap elements,
                                            mlir::ValueRange point);

/// i1: whether `point` lies inside the extents that `valid` gives; null if there is no map (all do).
mlir::Value isValidAt(mlir::OpBuilder &builder, mlir::Location loc, std::optional<mlir::AffineMap> valid,
                      mlir::ValueRange operands, mlir::ValueRange point);

/// `inside`, or where that is null nothing, and whether `indices` of `memref` are inside of it along `dimensions`; null
/// where neither says anything.
mlir::Value isWithin(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memref, mlir::ValueRange indices,
                     llvm::ArrayRef<int64_t> dimensions, mlir::Value inside);

/// Replaces the buffer by an aligned memref.alloc that is freed at the end of its block.
void lowerAlloc(mlir::RewriterBase &rewriter, tile::AllocOp op);
void lowerFill(mlir::RewriterBase &rewriter, tile::FillOp op);

/// Emits the copy before `op`, which stays (its token may have uses).
void emitCopyAsLoops(mlir::OpBuilder &builder, tile::CopyOp op);
/// The same with tile.load, tile.store and vector ops; `vectorBytes` is the width of a vector register.
void emitCopyAsVectors(mlir::OpBuilder &builder, tile::CopyOp op, int64_t vectorBytes);

/// Emits the products of `op` as scalar loops before it; a failure with a diagnostic if the chip has no such unit.
mlir::LogicalResult emitMultiplyAsLoops(mlir::OpBuilder &builder, tile::MultiplyOp op);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEBUFFERLOWERING_H
