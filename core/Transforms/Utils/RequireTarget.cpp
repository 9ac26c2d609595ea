//===- RequireTarget.cpp - What passes ask of the chip first --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The refusals that passes share.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/RequireTarget.h"
#include "core/Machine/LaneChecks.h"
#include "mlir/IR/Diagnostics.h"
#include "tilewright/MachineGraph.h"

using namespace tilewright;

llvm::FailureOr<std::shared_ptr<const TargetDescription>> tilewright::requireTarget(mlir::Operation *op) {
  auto chip = targetOf(op);
  if (!chip)
    return op->emitError() << llvm::toString(chip.takeError());
  return *chip;
}

/// The chip of `op` where its machine `has` what a pass needs; else a diagnostic with what it `lacks`.
static llvm::FailureOr<std::shared_ptr<const TargetDescription>>
require(mlir::Operation *op, bool (*has)(const MachineGraph &), std::string (*lacks)(const MachineGraph &)) {
  auto chip = requireTarget(op);
  if (failed(chip) || has((*chip)->graph()))
    return chip;
  return op->emitError() << "chip " << (*chip)->target() << ":" << (*chip)->chip() << lacks((*chip)->graph());
}

static llvm::FailureOr<LaunchTarget> requireLevels(mlir::Operation *op, bool (*has)(const MachineGraph &)) {
  auto chip = require(op, has, lackOfLanes);
  if (failed(chip))
    return mlir::failure();
  return LaunchTarget{*chip, LaneHierarchy::of((*chip)->graph())};
}

llvm::FailureOr<LaunchTarget> tilewright::requireLanes(mlir::Operation *op) {
  return requireLevels(op, [](const MachineGraph &graph) { return graph.hasBlocks(); });
}

llvm::FailureOr<LaunchTarget> tilewright::requireLaunches(mlir::Operation *op) {
  return requireLevels(op, [](const MachineGraph &graph) { return graph.startsLaunches(); });
}

llvm::FailureOr<CoreTarget> tilewright::requireCores(mlir::Operation *op) {
  auto chip = require(
      op, [](const MachineGraph &graph) { return graph.threadMemory() && graph.backing(); },
      [](const MachineGraph &) -> std::string { return " has no cores with a scratchpad"; });
  if (failed(chip))
    return mlir::failure();
  return CoreTarget{*chip, CoreHierarchy::of(**chip)};
}

llvm::FailureOr<const MatrixUnit *> tilewright::requireUnit(mlir::Operation *op, const TargetDescription &chip,
                                                            llvm::StringRef name) {
  if (const MatrixUnit *unit = chip.unit(name))
    return unit;
  return op->emitOpError() << "chip " << chip.target() << ":" << chip.chip() << " has no unit \"" << name << "\"";
}
