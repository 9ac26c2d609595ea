//===- LaunchManifest.h - What the host does for its launches ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program for a chip that runs lanes is a list of launches; the host only
/// computes sizes. The manifest says it as data, so that a loader needs no
/// compiler. Sizes are s0, s1, .. in the order of the C signature; an expression
/// is a number, {"size": i}, or [op, a, b] with op one of + - * floordiv ceildiv
/// mod max min:
///
///   { "format": 1, "entry": "mm", "target": "acme:one", "sizes": 2,
///     "arguments":   [{"type": "f16", "bytes": 2, "shape": [{"size": 0}, 64], "written": false}, ..],
///     "temporaries": [{"bytes": ["*", {"size": 0}, 4]}],
///     "launches":    [{"kernel": "mm_launch_0", "threads": 128, "scratchpad": 65536, "grid": [x, y, z],
///                      "arguments": [{"array": 0}, {"temporary": 0}, {"value": expression}]}] }
///
/// "scratchpad" is what the launch has to give, in bytes. A kernel gets a pointer for each array and temporary, and a
/// 64-bit integer for each value.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LAUNCHMANIFEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_LAUNCHMANIFEST_H

#include "core/Analysis/Signature.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/LaneOps.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

class LaunchManifest {
public:
  /// `dynamicScratchpad`: a launch gives the size of its scratchpad.
  LaunchManifest(mlir::func::FuncOp function, const Signature &signature, bool dynamicScratchpad)
      : function(function), signature(signature), dynamicScratchpad(dynamicScratchpad) {}

  /// An op of the public function that is no launch: sizes and temporaries; a failure with a diagnostic for all others.
  mlir::LogicalResult host(mlir::Operation *op);
  /// A launch of `grid` as `kernel` with these values.
  mlir::LogicalResult launch(tile::ParallelOp grid, llvm::StringRef kernel, const LaunchShape &shape,
                             mlir::ValueRange arguments);
  /// Sets the attribute.
  mlir::LogicalResult finish();

private:
  /// The expression of an index value; a failure with a diagnostic at `user` if it does not follow from sizes.
  mlir::FailureOr<llvm::json::Value> expression(mlir::Operation *user, mlir::Value value);
  mlir::FailureOr<llvm::json::Value> expression(mlir::Operation *user, mlir::AffineExpr expr, mlir::ValueRange dims,
                                                mlir::ValueRange symbols);
  mlir::FailureOr<llvm::json::Value> dimension(mlir::Operation *user, mlir::Value array, int64_t d);
  const SignatureArgument *argumentOf(mlir::Value array, unsigned &index);

  mlir::func::FuncOp function;
  const Signature &signature;
  bool dynamicScratchpad;
  llvm::SmallVector<mlir::Value> temporaries;
  llvm::json::Array bytes, launches;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LAUNCHMANIFEST_H
