//===- StatementLoops.cpp - Loops around single statements ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The statement is what the store follows from.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/StatementLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

/// The operations of its block that `store` needs, in order, itself last; constants, sizes and allocations
/// stay outside. Empty if a value that it reads may have changed since.
static SmallVector<Operation *> neededBy(affine::AffineStoreOp store) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Operation *> worklist{store};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!slice.insert(op))
      continue;
    if (isa<affine::AffineLoadOp>(op))
      for (Operation *next = op->getNextNode(); next != store; next = next->getNextNode())
        if (!isMemoryEffectFree(next) && !isa<affine::AffineLoadOp, memref::AllocOp>(next))
          return {};
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || producer->getNumRegions() != 0 || producer->hasTrait<OpTrait::ConstantLike>() ||
          isa<memref::AllocOp, memref::DimOp, affine::AffineApplyOp>(producer) || isa<IndexType>(operand.getType()))
        continue;
      if (!isa<affine::AffineLoadOp>(producer) && !isMemoryEffectFree(producer))
        return {};
      worklist.push_back(producer);
    }
  }
  SmallVector<Operation *> ordered = llvm::to_vector(slice);
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

void tilewright::wrapStatement(affine::AffineStoreOp store) {
  SmallVector<Operation *> statement = neededBy(store);
  if (statement.empty())
    return;
  OpBuilder b(store);
  auto loop = affine::AffineForOp::create(b, store.getLoc(), 0, 1);
  b.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  for (Operation *op : statement)
    b.clone(*op, mapping);
  for (Operation *op : llvm::reverse(statement))
    if (op->use_empty())
      op->erase();
}
