//===- UnitChoice.h - A contraction on a unit, or on vectors ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The cores of a scratchpad target compute a contraction on a matrix unit, in tiles that are multiples of its shape,
/// or on their vectors, as the nests that it stands in:
///
///   unit       planScratchpadContraction: copies, the unit and the epilogue at a time
///   vectors    its nests, each by the schedule that schedule-kernels gives it (NestSchedule.h)
///
/// What takes less time is done. A product of few elements, or one whose operands no engine can copy into tiles, is
/// faster on vectors.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_UNITCHOICE_H
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_UNITCHOICE_H

#include "core/Transforms/Contraction/ScratchpadContractionEmitter.h"

namespace tilewright {

/// Both ways, and which one is taken.
struct UnitChoice {
  std::optional<ScratchpadContractionPlan> unit; // the fastest one; nullopt: none computes it, by `reason`
  std::optional<double> vectorSeconds;           // nullopt: cores do not reach what the nests work on
  std::string reason;
  std::vector<ScratchpadContractionPlan> considered; // of units, where they are listed
  bool isForced = false;                             // fields of the tile, so that the unit is taken

  bool takesUnit() const { return unit && (isForced || !vectorSeconds || unit->seconds <= *vectorSeconds); }
  /// What was compared, for --explain.
  llvm::json::Array toJSON() const;
};

/// `group`: the nests of `task` (gatherGroup). `placed`: arrays that are copied around them, where they stand in the
/// program of a core. `lists`: whether tiles that were considered are kept.
UnitChoice chooseUnit(const ContractionTask &task, llvm::ArrayRef<mlir::Operation *> group,
                      const TargetDescription &chip, const CoreHierarchy &cores, const CoreShare &share,
                      const PlanOptions &options, bool lists = false, llvm::ArrayRef<mlir::Value> placed = {});

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_UNITCHOICE_H
