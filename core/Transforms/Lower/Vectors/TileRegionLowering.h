//===- TileRegionLowering.h - Regions and units on vectors ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What lowerings of fragments share, whether one lane holds a fragment or many:
/// scalar regions executed on the vector of one lane, and calls of units by
/// record.
///
///   tile.map { arith.addf %x, %y : f32 }     ->  arith.addf %vx, %vy : vector<8xf32>
///   tile.mma {unit = "acme.dot"}             ->  call @tilewright.unit.acme.dot(%va, %vb, %vc)
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEREGIONLOWERING_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEREGIONLOWERING_H

#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Emits the ops of a scalar region on vectors of `count` elements; returns the yielded vectors. `outside` says what
/// values from outside the region have become (scalars are broadcast).
llvm::SmallVector<mlir::Value> vectorizeRegion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &body,
                                               mlir::ValueRange arguments, int64_t count,
                                               const mlir::IRMapping &outside = {});

/// The result of the unit that `op` names on the vectors of one lane; `besides`: scales of A and B, and the index of A,
/// where it takes them. A unit that the chip lacks, or fragments that differ from its record, are errors at `op`.
mlir::FailureOr<mlir::Value> callUnit(mlir::OpBuilder &builder, tile::MmaOp op, const MatrixUnit &unit,
                                      mlir::ModuleOp module, mlir::Value a, mlir::Value b, mlir::Value c,
                                      mlir::ValueRange besides);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_TILEREGIONLOWERING_H
