//===- NestStatement.h - Nests as the model of schedules sees them -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads what runs on a core together into the shape that NestSchedule.h prices, with the operations that its numbers
/// stand for:
///
///   affine.for %i = 0 to 100 { affine.for %k = 0 to 300 { s[%i] += x[%i, %k] } }
///   ->  loops {100, 300}, the first of the band; arrays {x: read, s: read and written}; accesses x[l0, l1], s[l0],
///   s[l0]
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTSTATEMENT_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTSTATEMENT_H

#include "core/CostModel/Schedules/NestSchedule.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// The operations of one piece of work, as the model and the integer sets see them.
struct NestStatement {
  NestShape shape;
  llvm::SmallVector<mlir::affine::AffineForOp> loops;
  llvm::SmallVector<mlir::Value> arrays;
  llvm::SmallVector<mlir::Operation *> accesses;
  mlir::Operation *opaque = nullptr; // touches memory in a way that is not an affine access
  mlir::Value strange;               // an array whose elements do not lie row by row
};

/// Instructions of a core for `op`: of an elementary function those of its expansion.
double coreWorkOf(mlir::Operation *op);

/// `work`, neighbours in order. If it is one nest, its band is marked: loops of the perfect chain at the root whose
/// bounds do not depend on the nest and that are parallel; after one that is not, those whose tiles may stand outside
/// of it. Arrays in the scratchpad of `cores` are near.
NestStatement statementOf(llvm::ArrayRef<mlir::Operation *> work, const CoreHierarchy &cores);

/// Seconds of `nests` on the vectors of cores, one after the other: each on all cores with the schedule that
/// schedule-kernels gives it, or, in the program of a core, where it stands, with `placed` arrays copied around it.
/// Sums are priced as fuse-nests leaves them, with what begins and finishes them in the loop around; dynamic extents
/// count as `assumedExtent`. nullopt where cores do not reach what they work on.
std::optional<double> secondsOfNests(llvm::ArrayRef<mlir::Operation *> nests, const CoreHierarchy &cores,
                                     const TargetDescription &chip, llvm::ArrayRef<mlir::Value> placed = {});

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTSTATEMENT_H
