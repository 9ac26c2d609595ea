//===- WorkspacePlanner.h - The parts of plan-workspace ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the two files of plan-workspace share:
///
///   WorkspaceHoisting.cpp   allocations move out of loops and to the callers
///   PlanWorkspace.cpp       those of a public function lie in one arena
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_WORKSPACEPLANNER_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_WORKSPACEPLANNER_H

#include "core/Analysis/Settings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace tilewright {

/// Buffers of a workspace start at multiples of a cache line, or of what they ask for.
constexpr int64_t workspaceLineBytes = 64;

/// The operations that compute `value` from arguments of `function` and the dimensions of its arrays, in order.
/// False if something else enters, such as a loop counter or memory.
bool sizeSlice(mlir::Value value, mlir::func::FuncOp function, bool scalars, llvm::SetVector<mlir::Operation *> &slice);

/// Clones a slice with the function's arguments mapped; `dimension` gives the size of an array argument.
mlir::Value cloneSlice(mlir::OpBuilder &builder, mlir::Value value, const llvm::SetVector<mlir::Operation *> &slice,
                       mlir::IRMapping &mapping,
                       llvm::function_ref<mlir::Value(mlir::BlockArgument, int64_t)> dimension);

/// Whether every use of the buffer, through views, stays inside the block that `alloc` stands in and ends there; the
/// users are collected.
bool staysLocal(mlir::Value buffer, llvm::SmallVectorImpl<mlir::Operation *> &users);

bool isParallel(mlir::Operation *op);

/// Bytes of an array of this type with these dynamic sizes, at most unreachableBytes.
mlir::Value bytesOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type,
                    llvm::ArrayRef<mlir::Value> sizes);

/// The outermost parallel loop around `op`.
mlir::Operation *parallelLoop(mlir::Operation *op);

/// Works on one module.
class WorkspacePlanner {
public:
  explicit WorkspacePlanner(mlir::ModuleOp module)
      : module(module), symbols(tables, module), builder(module.getContext()), threads(Settings::of(module).threads) {}

  void run();

private:
  std::vector<mlir::func::FuncOp> calleesFirst();
  void hoist(mlir::func::FuncOp function);
  void moveToCallers(mlir::func::FuncOp function);
  void planArena(mlir::func::FuncOp function);
  void release(mlir::memref::AllocOp alloc);
  void bound(mlir::memref::AllocOp alloc);
  mlir::Value threadNumber(mlir::Operation *parallel);
  void eraseDeallocs(mlir::Value buffer);

  mlir::ModuleOp module;
  mlir::SymbolTableCollection tables;
  mlir::SymbolUserMap symbols;
  mlir::OpBuilder builder;
  int64_t threads;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_WORKSPACEPLANNER_H
