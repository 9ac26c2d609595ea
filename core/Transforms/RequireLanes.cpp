//===- RequireLanes.cpp - Passes of chips that run lanes ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The refusal that these passes share.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/RequireLanes.h"
#include "mlir/IR/Diagnostics.h"
#include "tilewright/TargetDescription.h"

using namespace tilewright;

llvm::FailureOr<LaneHierarchy> tilewright::requireLanes(mlir::Operation *op) {
  auto chip = targetOf(op);
  if (!chip)
    return op->emitError() << llvm::toString(chip.takeError());
  if (std::optional<LaneHierarchy> hierarchy = laneHierarchy(**chip))
    return *hierarchy;
  return op->emitError() << "chip " << (*chip)->target() << ":" << (*chip)->chip()
                         << " runs no lanes: it lacks levels grid, block and subgroup";
}

llvm::FailureOr<LaneHierarchy> tilewright::requireLaunches(mlir::Operation *op) {
  auto chip = targetOf(op);
  if (!chip)
    return op->emitError() << llvm::toString(chip.takeError());
  if (std::optional<LaneHierarchy> hierarchy = launchHierarchy(**chip))
    return *hierarchy;
  return requireLanes(op);
}
