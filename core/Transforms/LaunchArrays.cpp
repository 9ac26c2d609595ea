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

#include "core/Transforms/LaunchArrays.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

bool tilewright::mayOverlap(Operation *grid, ArrayRef<Value> arrays, const BufferOrigins &origins) {
  llvm::SmallPtrSet<Value, 4> written;
  bool any = false; // a write to one of several arrays, which a branch has chosen
  grid->walk([&](MemoryEffectOpInterface op) {
    for (Value operand : op->getOperands())
      if (op.getEffectOnValue<MemoryEffects::Write>(operand)) {
        while (auto view = operand.getDefiningOp<ViewLikeOpInterface>()) {
          if (!grid->isProperAncestor(view))
            break;
          operand = view.getViewSource();
        }
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
