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
#include "mlir/IR/Diagnostics.h"

using namespace tilewright;

llvm::FailureOr<std::shared_ptr<const TargetDescription>> tilewright::requireTarget(mlir::Operation *op) {
  auto chip = targetOf(op);
  if (!chip)
    return op->emitError() << llvm::toString(chip.takeError());
  return *chip;
}

/// The chip of `op` with the levels that `find` finds; where it finds none, a diagnostic with what the chip lacks.
template <typename Hierarchy>
static llvm::FailureOr<ChipWith<Hierarchy>>
require(mlir::Operation *op, std::optional<Hierarchy> (*find)(const TargetDescription &), llvm::StringRef lack) {
  auto chip = requireTarget(op);
  if (failed(chip))
    return mlir::failure();
  if (std::optional<Hierarchy> hierarchy = find(**chip))
    return ChipWith<Hierarchy>{*chip, *hierarchy};
  return op->emitError() << "chip " << (*chip)->target() << ":" << (*chip)->chip() << lack;
}

static constexpr llvm::StringLiteral runsNoLanes = " runs no lanes: it lacks levels grid, block and subgroup";

llvm::FailureOr<LaunchTarget> tilewright::requireLanes(mlir::Operation *op) {
  return require(op, laneHierarchy, runsNoLanes);
}

llvm::FailureOr<LaunchTarget> tilewright::requireLaunches(mlir::Operation *op) {
  return require(op, launchHierarchy, runsNoLanes);
}

llvm::FailureOr<CoreTarget> tilewright::requireCores(mlir::Operation *op) {
  return require(op, coreHierarchy, " has no cores with a scratchpad");
}

llvm::FailureOr<const MatrixUnit *> tilewright::requireUnit(mlir::Operation *op, const TargetDescription &chip,
                                                            llvm::StringRef name) {
  if (const MatrixUnit *unit = chip.unit(name))
    return unit;
  return op->emitOpError() << "chip " << chip.target() << ":" << chip.chip() << " has no unit \"" << name << "\"";
}
