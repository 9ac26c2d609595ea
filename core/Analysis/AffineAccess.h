//===- AffineAccess.h - One affine load or store -------------- -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an affine load or store touches, with every affine.apply before it
/// folded into the address.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_AFFINEACCESS_H
#define TILEWRIGHT_CORE_ANALYSIS_AFFINEACCESS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Value.h"

namespace tilewright {

struct AffineAccess {
  mlir::Value memref;
  mlir::AffineMap map; // simplified; its inputs are `operands`
  llvm::SmallVector<mlir::Value> operands;
  bool isStore = false;
};

/// The access of an affine.load or affine.store, of one element or of a vector: that of its first element.
AffineAccess affineAccess(mlir::Operation *op);

/// Its array alone.
mlir::Value arrayOf(mlir::Operation *access);

/// Whether `op` writes no memory and frees none.
bool onlyReads(mlir::Operation *op);

/// Lets each affine.load and affine.store below `root` compute its indices itself, erases every affine.apply that
/// nobody uses then, and moves others into the loop where they are used: loops with nothing else between them are
/// perfect again.
void composeAccesses(mlir::Operation *root);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_AFFINEACCESS_H
