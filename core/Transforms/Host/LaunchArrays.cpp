//===- LaunchArrays.cpp - Whether arrays of a launch overlap --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Effects on arrays and where those come from.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/LaunchArrays.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include <numeric>

using namespace mlir;

bool tilewright::isByteView(Value array) {
  while (Operation *view = array.getDefiningOp()) {
    if (isa<memref::ViewOp>(view))
      return true;
    if (!isa<ViewLikeOpInterface>(view))
      return false;
    array = cast<ViewLikeOpInterface>(view).getViewSource();
  }
  return false;
}

Value tilewright::behindViewsIn(Operation *grid, Value array) {
  while (auto view = array.getDefiningOp<ViewLikeOpInterface>()) {
    if (!grid->isProperAncestor(view))
      break;
    array = view.getViewSource();
  }
  return array;
}

bool tilewright::mayOverlap(Operation *grid, ArrayRef<Value> arrays, const BufferOrigins &origins) {
  llvm::SmallPtrSet<Value, 4> written;
  bool any = false; // a write to one of several arrays, which a branch has chosen
  grid->walk([&](MemoryEffectOpInterface op) {
    for (Value operand : op->getOperands())
      if (op.getEffectOnValue<MemoryEffects::Write>(operand)) {
        operand = behindViewsIn(grid, operand);
        written.insert(operand);
        bool isInside = grid->isAncestor(operand.getParentRegion()->getParentOp());
        any |= isInside && !isa_and_present<memref::AllocOp, memref::AllocaOp, tile::AllocOp>(operand.getDefiningOp());
      }
  });
  return llvm::any_of(arrays, [&](Value array) {
    return (any || written.contains(array)) &&
           llvm::any_of(arrays, [&](Value other) { return array != other && origins.mayAlias(array, other); });
  });
}
