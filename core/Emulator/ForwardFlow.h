//===- ForwardFlow.h - States before blocks ---------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The driver of forward data-flow analyses over the blocks of a kernel.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_FORWARDFLOW_H
#define TILEWRIGHT_CORE_EMULATOR_FORWARDFLOW_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {

/// The state before each block of `function`, `entry` before the first one. `advance(block, state)` makes the state
/// before a block the one after it; `join(state, other)` adds `other` to `state` and says whether it grew. States grow
/// finitely often.
template <typename State, typename Advance, typename Join>
llvm::DenseMap<mlir::Block *, State> forwardFlow(mlir::LLVM::LLVMFuncOp function, State entry, Advance advance,
                                                 Join join) {
  llvm::DenseMap<mlir::Block *, State> before;
  llvm::SetVector<mlir::Block *> changed;
  for (mlir::Block &block : function.getBody())
    changed.insert(&block);
  before[&function.front()] = std::move(entry);
  while (!changed.empty()) {
    mlir::Block *block = changed.front();
    changed.erase(changed.begin());
    State after = before[block];
    advance(*block, after);
    for (mlir::Block *next : block->getSuccessors())
      if (join(before[next], after))
        changed.insert(next);
  }
  return before;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_FORWARDFLOW_H
