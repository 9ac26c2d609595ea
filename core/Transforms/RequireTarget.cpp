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

#include "core/Transforms/RequireTarget.h"
#include "mlir/IR/Diagnostics.h"

using namespace tilewright;

llvm::FailureOr<std::shared_ptr<const TargetDescription>> tilewright::requireTarget(mlir::Operation *op) {
  auto chip = targetOf(op);
  if (!chip)
    return op->emitError() << llvm::toString(chip.takeError());
  return *chip;
}

llvm::FailureOr<LaunchTarget> tilewright::requireLanes(mlir::Operation *op) {
  auto chip = requireTarget(op);
  if (failed(chip))
    return mlir::failure();
  if (std::optional<LaneHierarchy> hierarchy = laneHierarchy(**chip))
    return LaunchTarget{*chip, *hierarchy};
  return op->emitError() << "chip " << (*chip)->target() << ":" << (*chip)->chip()
                         << " runs no lanes: it lacks levels grid, block and subgroup";
}

llvm::FailureOr<LaunchTarget> tilewright::requireLaunches(mlir::Operation *op) {
  auto chip = requireTarget(op);
  if (failed(chip))
    return mlir::failure();
  if (std::optional<LaneHierarchy> hierarchy = launchHierarchy(**chip))
    return LaunchTarget{*chip, *hierarchy};
  return requireLanes(op);
}
