//===- NestTimes.h - Modelled time of nests as they stand -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the passes after this one will make of nests, in seconds: contractions
/// with what runs on their registers and while they pack, and passes over memory
/// for the others.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTTIMES_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTTIMES_H

#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// Nests that are computed as one: a contraction with its zero fill, its epilogue and what is computed while its
/// operands are packed, or neighbouring nests that move data.
struct NestGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  bool isContraction = false;
  double seconds = 0;
  std::optional<ContractionOperand> packed[2]; // operands that the plan of a contraction copies into panels
  llvm::SmallVector<mlir::Value, 3> arrays;    // of a contraction: its operands and result
};

/// Seconds that one thread takes to pack `bytes` of an operand panel by panel: they are read, and transposed in
/// registers; a panel stays near.
double packSeconds(double bytes, int64_t elementBytes, const MemoryModel &model);

/// Bytes of the elements that `access` touches: each iteration of the loops that index it has its own.
double bytesOf(const Access &access, const Nest &nest);

/// The groups of `roots`, neighbours of one block in order, for so many threads as `options` has.
std::vector<NestGroup> groupNests(llvm::ArrayRef<mlir::affine::AffineForOp> roots, const TargetDescription &chip,
                                  const MemoryModel &model, const PlanOptions &options);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTTIMES_H
