//===- RequireTarget.h - What passes ask of the chip first ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The chip of a module, or a diagnostic that says why there is none.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_REQUIRETARGET_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_REQUIRETARGET_H

#include "mlir/IR/Operation.h"
#include "tilewright/Cores.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// On a tile.load of a version that stands under a check: what divides the innermost size of its array, where that is
/// dynamic.
inline constexpr llvm::StringLiteral rowMultipleAttr = "tilewright.row_multiple";

/// The chip that the module attribute `tilewright.target` names; a diagnostic at `op` where none is named or known.
llvm::FailureOr<std::shared_ptr<const TargetDescription>> requireTarget(mlir::Operation *op);

/// A chip together with the levels that its programs use.
template <typename Hierarchy> struct ChipWith {
  std::shared_ptr<const TargetDescription> chip;
  Hierarchy hierarchy;
};
using LaunchTarget = ChipWith<LaneHierarchy>;
using CoreTarget = ChipWith<CoreHierarchy>;

/// The same for passes over lanes of blocks; a diagnostic at `op` where the chip runs none.
llvm::FailureOr<LaunchTarget> requireLanes(mlir::Operation *op);

/// The same for any chip whose programs are launches (`MachineGraph::startsLaunches`).
llvm::FailureOr<LaunchTarget> requireLaunches(mlir::Operation *op);

/// The same for passes over cores that have a memory of their own (`MachineGraph::threadMemory`).
llvm::FailureOr<CoreTarget> requireCores(mlir::Operation *op);

/// The unit that `op` names as `name`; a diagnostic where `chip` has none of this name.
llvm::FailureOr<const MatrixUnit *> requireUnit(mlir::Operation *op, const TargetDescription &chip,
                                                llvm::StringRef name);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_REQUIRETARGET_H
