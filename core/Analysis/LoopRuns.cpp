//===- LoopRuns.cpp - How often loops run an operation --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The product of constant trip counts.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/LoopRuns.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

std::optional<int64_t> tilewright::runsOf(mlir::Operation *op) {
  int64_t runs = 1;
  for (mlir::Operation *around = op->getParentOp(); around; around = around->getParentOp()) {
    std::optional<uint64_t> trips;
    if (auto affineLoop = llvm::dyn_cast<mlir::affine::AffineForOp>(around)) {
      trips = mlir::affine::getConstantTripCount(affineLoop);
    } else if (auto loop = llvm::dyn_cast<mlir::LoopLikeOpInterface>(around)) {
      if (std::optional<llvm::APInt> count = loop.getStaticTripCount())
        trips = count->getZExtValue();
    } else {
      continue;
    }
    if (!trips)
      return std::nullopt;
    runs *= static_cast<int64_t>(*trips);
  }
  return runs;
}
