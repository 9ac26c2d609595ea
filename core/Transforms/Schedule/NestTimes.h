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
/// for the others. Where cores have a scratchpad, its copy engines move what does
/// not lie there.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTTIMES_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTTIMES_H

#include "core/CostModel/Machine/PassModel.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

struct ContractionTask;

/// Nests that are computed as one: a contraction with its zero fill, its epilogue and what is computed while its
/// operands are packed, or neighbouring nests that move data.
struct NestGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  bool isContraction = false; // that a unit or tiles in registers compute
  double seconds = 0;
  std::optional<ContractionOperand> packed[2]; // operands that the plan copies into panels anew in each tile
  llvm::SmallVector<mlir::Value, 3> arrays;    // of a contraction: its operands and result
};

/// Bytes of the elements that `access` touches: each iteration of the loops that index it has its own.
double bytesOf(const Access &access, const Nest &nest);

/// Who computes nests, and what lies near already.
struct NestPlace {
  int64_t threads = 1;                  // that share the nests
  int64_t scratchpadBytes = 0;          // of a core with a scratchpad that are free
  llvm::ArrayRef<mlir::Value> placed{}; // arrays that are copied around the nests
};

/// The models of one chip.
struct NestTimes {
  explicit NestTimes(const TargetDescription &chip);

  /// The groups of `roots`, neighbours of one block in order.
  std::vector<NestGroup> groupsOf(llvm::ArrayRef<mlir::affine::AffineForOp> roots, const NestPlace &place) const;
  /// Seconds that one thread takes to pack `bytes` of an operand panel by panel: they are read, and transposed in
  /// registers; a panel stays near.
  double packSeconds(double bytes, int64_t elementBytes) const;

  const TargetDescription &chip;
  PassModel pass;
  PlanOptions options;                 // but for the number of threads
  std::optional<CoreHierarchy> cores;  // that have a scratchpad
  std::optional<LaneHierarchy> blocks; // of lanes, whose nests are launches

private:
  std::optional<NestGroup> contractionOf(const Contraction &contraction, const NestPlace &place,
                                         llvm::SmallPtrSetImpl<mlir::Operation *> &absorbed) const;
  double secondsOfRows(llvm::ArrayRef<mlir::Operation *> ops) const;
  double secondsOfPass(llvm::ArrayRef<mlir::Operation *> ops, const NestPlace &place) const;
  double secondsOfEpilogue(const ContractionTask &task, int64_t threads) const;
  double onThreads(double seconds, int64_t threads) const;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTTIMES_H
