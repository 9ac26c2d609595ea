//===- NestAccessMap.h - Indices of an access as written --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which loops move an affine.load or affine.store.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTACCESSMAP_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTACCESSMAP_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// Whether `map` of an access has `value` in result `d`.
inline bool occursIn(mlir::AffineMap map, unsigned d, mlir::ValueRange operands, mlir::Value value) {
  for (auto [i, operand] : llvm::enumerate(operands))
    if (operand == value && (i < map.getNumDims() ? map.getResult(d).isFunctionOfDim(i)
                                                  : map.getResult(d).isFunctionOfSymbol(i - map.getNumDims())))
      return true;
  return false;
}

/// The map of an affine.load or affine.store, and its operands.
struct AccessMap {
  explicit AccessMap(mlir::Operation *op) {
    if (auto load = llvm::dyn_cast<mlir::affine::AffineLoadOp>(op))
      map = load.getAffineMap(), operands = load.getMapOperands();
    else
      map = llvm::cast<mlir::affine::AffineStoreOp>(op).getAffineMap(),
      operands = llvm::cast<mlir::affine::AffineStoreOp>(op).getMapOperands();
  }
  bool uses(mlir::Value value) const {
    for (unsigned d = 0; d < map.getNumResults(); ++d)
      if (occursIn(map, d, operands, value))
        return true;
    return false;
  }
  mlir::AffineMap map;
  mlir::ValueRange operands;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_NESTACCESSMAP_H
