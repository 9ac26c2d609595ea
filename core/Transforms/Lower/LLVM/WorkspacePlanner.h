//===- WorkspacePlanner.h - The parts of plan-workspace ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the files of plan-workspace share:
///
///   WorkspaceHoisting.cpp   allocations move out of loops and to the callers
///   WorkspaceSharing.cpp    before, those that one private function hands to calls one after the other become one
///   PlanWorkspace.cpp       those of a public function lie in one arena
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_WORKSPACEPLANNER_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_WORKSPACEPLANNER_H

#include "core/Analysis/Settings.h"
#include "core/Transforms/Utils/SymbolUsers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
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

/// Where a buffer lives among the operations of the entry block, and where it lies.
struct WorkspaceBuffer {
  mlir::memref::AllocOp alloc;
  unsigned first = 0, last = 0;
  int64_t bytes = -1; // -1: dynamic
  int64_t offset = 0; // static ones
  unsigned slot = 0;  // dynamic ones
  llvm::SetVector<mlir::Operation *> slice;
  bool meets(const WorkspaceBuffer &other) const { return first <= other.last && other.first <= last; }
};

/// Reads the size of an allocation; false if it has a layout, or a size that `function`'s arguments do not tell.
bool readBuffer(mlir::memref::AllocOp alloc, mlir::func::FuncOp function, bool scalars, WorkspaceBuffer &buffer);

/// The operations of a block by their places.
llvm::DenseMap<mlir::Operation *, unsigned> positionsIn(mlir::Block &block);

/// A buffer lives from the first to the last of its users.
void setLifetime(WorkspaceBuffer &buffer, llvm::ArrayRef<mlir::Operation *> users,
                 const llvm::DenseMap<mlir::Operation *, unsigned> &order);

/// First fit: the lowest offset at which no buffer that lives at the same time overlaps. Returns the bytes of all.
int64_t placeStatic(std::vector<WorkspaceBuffer> &buffers);

/// Buffers of dynamic size that never live at the same time share a slot. Returns the number of slots.
unsigned placeDynamic(std::vector<WorkspaceBuffer> &buffers);

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
      : module(module), symbols(module), builder(module.getContext()), threads(Settings::of(module).threads) {}

  void run();

private:
  std::vector<mlir::func::FuncOp> calleesFirst();
  void hoist(mlir::func::FuncOp function);
  void shareAmongCalls(mlir::func::FuncOp function);
  void moveToCallers(mlir::func::FuncOp function);
  void planArena(mlir::func::FuncOp function);
  void release(mlir::memref::AllocOp alloc);
  void bound(mlir::memref::AllocOp alloc);
  mlir::Value threadNumber(mlir::Operation *parallel);
  void eraseDeallocs(mlir::Value buffer);

  mlir::ModuleOp module;
  SymbolUsers symbols;
  mlir::OpBuilder builder;
  int64_t threads;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_WORKSPACEPLANNER_H
