//===- Buffers.cpp - Which memrefs can name the same memory ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Follows memrefs through views, scf.if, scf.for, scf.while and arith.select
/// to the values that own memory.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Buffers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace tilewright {

void BufferOrigins::collect(Value memref, Set &set, llvm::SmallPtrSetImpl<Value> &visited) const {
  if (!visited.insert(memref).second)
    return;
  auto follow = [&](Value next) { collect(next, set, visited); };

  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (parent == function) {
      set.values.insert(memref);
    } else if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      unsigned index = argument.getArgNumber() - 1;
      follow(loop.getInitArgs()[index]);
      follow(loop.getBody()->getTerminator()->getOperand(index));
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      if (argument.getOwner() == loop.getBeforeBody()) {
        follow(loop.getInits()[argument.getArgNumber()]);
        follow(loop.getYieldOp()->getOperand(argument.getArgNumber()));
      } else {
        follow(loop.getConditionOp().getArgs()[argument.getArgNumber()]);
      }
    } else {
      set.unknown = true;
    }
    return;
  }

  Operation *op = memref.getDefiningOp();
  unsigned index = cast<OpResult>(memref).getResultNumber();
  if (isa<memref::AllocOp, memref::AllocaOp, memref::GetGlobalOp>(op)) {
    set.values.insert(memref);
  } else if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
    follow(view.getViewSource());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    follow(branch.thenYield()->getOperand(index));
    follow(branch.elseYield()->getOperand(index));
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    follow(loop.getInitArgs()[index]);
    follow(loop.getBody()->getTerminator()->getOperand(index));
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    follow(loop.getConditionOp().getArgs()[index]);
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    follow(select.getTrueValue());
    follow(select.getFalseValue());
  } else {
    set.unknown = true;
  }
}

bool BufferOrigins::isOnlyOrigin(Value memref) const {
  if (auto argument = dyn_cast<BlockArgument>(memref))
    return distinctArguments && argument.getOwner()->getParentOp() == function;
  return isa<memref::AllocOp, memref::AllocaOp>(memref.getDefiningOp());
}

bool BufferOrigins::mayAlias(Value a, Value b) const {
  Set first, second;
  llvm::SmallPtrSet<Value, 8> visited;
  collect(a, first, visited);
  visited.clear();
  collect(b, second, visited);
  if (first.unknown || second.unknown)
    return true;
  for (Value x : first.values)
    for (Value y : second.values) {
      if (x == y)
        return true;
      if (isa<BlockArgument>(x) && isa<BlockArgument>(y) && !distinctArguments)
        return true;
      // Two names of one global, which programs on memrefs write; a caller inside may pass one, too.
      auto g = x.getDefiningOp<memref::GetGlobalOp>(), h = y.getDefiningOp<memref::GetGlobalOp>();
      if (!distinctArguments && ((g && isa<BlockArgument>(y)) || (h && isa<BlockArgument>(x))))
        return true;
      if (g && h && g.getName() == h.getName())
        return true;
    }
  return false;
}

} // namespace tilewright
