//===- StaticCounts.h - Counts of launches before a program runs --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The counts of LaunchCounts.h of launches whose manifests give the grid and all numbers as
/// constants, as those of programs of static sizes do:
///
///   {"launch": "mm_launch_0", "grid": [64, 1, 1], "arguments": [{"buffer": 0}, ..]}      counted
///   {"launch": "mm_launch_0", "grid": [["ceildiv", {"size": 0}, 128], 1, 1], ..}         nullopt
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_STATICCOUNTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_STATICCOUNTS_H

#include "core/Transforms/Host/LaunchCounts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright {

/// A copy of the launches of `program`, as stage 4 leaves it, with affine ops lowered; null where that fails.
mlir::OwningOpRef<mlir::ModuleOp> launchesOf(mlir::ModuleOp program);

/// Of each kernel of `program`, as stage 4 leaves it, the counts of one launch. Kernels whose launches differ are left
/// out, and those of which one is not static.
llvm::StringMap<LaunchCounts> staticCounts(mlir::ModuleOp program, const TargetDescription &chip);

/// Writes what launches move into the manifests of `module`, before its launches are lowered: to each that is static
/// "predicted": {"bytes": to and from global memory}.
void addBytesToManifests(mlir::ModuleOp module, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_STATICCOUNTS_H
