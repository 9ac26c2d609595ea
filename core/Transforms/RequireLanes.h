//===- RequireLanes.h - Passes of chips that run lanes ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What each of these passes asks first.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_REQUIRELANES_H
#define TILEWRIGHT_CORE_TRANSFORMS_REQUIRELANES_H

#include "mlir/IR/Operation.h"
#include "tilewright/LaneOps.h"

namespace tilewright {

/// The hierarchy of the chip that the module attribute `tilewright.target` names; a diagnostic at `op` where it runs no
/// lanes.
llvm::FailureOr<LaneHierarchy> requireLanes(mlir::Operation *op);

/// The same for any chip whose programs are launches (launchHierarchy).
llvm::FailureOr<LaneHierarchy> requireLaunches(mlir::Operation *op);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_REQUIRELANES_H
