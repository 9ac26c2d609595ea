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

/// On a tile.load of a version that stands under a check: what divides the innermost size of its array, where that is
/// dynamic.
inline constexpr llvm::StringLiteral rowMultipleAttr = "tilewright.row_multiple";

/// The hierarchy of the chip that the module attribute `tilewright.target` names; a diagnostic at `op` where it runs no
/// lanes.
llvm::FailureOr<LaneHierarchy> requireLanes(mlir::Operation *op);

/// The same for any chip whose programs are launches (launchHierarchy).
llvm::FailureOr<LaneHierarchy> requireLaunches(mlir::Operation *op);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_REQUIRELANES_H
