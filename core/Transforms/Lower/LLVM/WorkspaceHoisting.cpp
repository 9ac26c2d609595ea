//===- WorkspaceHoisting.cpp - Allocations move to where they live once ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Out of loops and branches, as far as their sizes are known there; one for each
// thread where the loop is parallel; then from private functions to the callers.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Lower/LLVM/SizeProduct.h"
#include "core/Transforms/Lower/LLVM/WorkspacePlanner.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

using namespace mlir;

namespace tilewright {

/// The operations that compute `value` from arguments of `function` and the dimensions of its arrays, in order.
/// False if something else enters, such as a loop counter or memory.
bool sizeSlice(Value value, func::FuncOp function, bool scalars, llvm::SetVector<Operation *> &slice) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return scalars && argument.getOwner() == &function.front();
  Operation *op = value.getDefiningOp();
  if (slice.contains(op))
    return true;
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto array = dyn_cast<BlockArgument>(dim.getSource());
    if (!array || array.getOwner() != &function.front() || !dim.getConstantIndex())
      return false;
    slice.insert(op);
    return true;
  }
  if (!isPure(op) || op->getNumRegions() != 0 || llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    return false;
  for (Value operand : op->getOperands())
    if (!sizeSlice(operand, function, scalars, slice))
      return false;
  slice.insert(op);
  return true;
}

/// Clones a slice with the function's arguments mapped; `dimension` gives the size of an array argument.
Value cloneSlice(OpBuilder &builder, Value value, const llvm::SetVector<Operation *> &slice, IRMapping &mapping,
                 llvm::function_ref<Value(BlockArgument, int64_t)> dimension) {
  for (Operation *op : slice) {
    if (mapping.contains(op->getResult(0)))
      continue;
    if (auto dim = dyn_cast<memref::DimOp>(op))
      mapping.map(dim.getResult(), dimension(cast<BlockArgument>(dim.getSource()), *dim.getConstantIndex()));
    else
      builder.clone(*op, mapping);
  }
  return mapping.lookupOrDefault(value);
}

/// Whether every use of the buffer, through views, stays inside the block that `alloc` stands in and ends there; the
/// users are collected.
bool staysLocal(Value buffer, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : buffer.getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return false;
    users.push_back(user);
    if (isa<ViewLikeOpInterface>(user)) {
      if (!staysLocal(user->getResult(0), users))
        return false;
    } else if (llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>) ||
               (isa<RegionBranchOpInterface>(user) && llvm::is_contained(user->getOperands(), buffer))) {
      return false;
    }
  }
  return true;
}

bool isParallel(Operation *op) { return isa<scf::ParallelOp, affine::AffineParallelOp>(op); }

/// Bytes of an array of this type with these dynamic sizes, at most unreachableBytes.
Value bytesOf(OpBuilder &builder, Location loc, MemRefType type, ArrayRef<Value> sizes) {
  int64_t factor = elementBytes(type.getElementType());
  Value bytes;
  for (int64_t dim : type.getShape())
    factor *= ShapedType::isDynamic(dim) ? 1 : dim;
  if (factor == 0 || sizes.empty())
    return arith::ConstantIndexOp::create(builder, loc, factor);
  for (Value size : sizes)
    bytes = bytes ? boundedProduct(builder, loc, bytes, size) : size;
  return boundedProduct(builder, loc, bytes, factor);
}

/// The outermost parallel loop around `op`.
Operation *parallelLoop(Operation *op) {
  Operation *outermost = nullptr;
  for (Operation *parent = op->getParentOp(); parent && !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    if (isParallel(parent))
      outermost = parent;
  return outermost;
}

std::vector<func::FuncOp> WorkspacePlanner::calleesFirst() {
  std::vector<func::FuncOp> order;
  DenseSet<Operation *> visited;
  std::function<void(func::FuncOp)> visit = [&](func::FuncOp function) {
    if (function.isExternal() || !visited.insert(function).second)
      return;
    function.walk([&](func::CallOp call) {
      if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
        visit(callee);
    });
    order.push_back(function);
  };
  for (auto function : module.getOps<func::FuncOp>())
    visit(function);
  return order;
}

void WorkspacePlanner::eraseDeallocs(Value buffer) {
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
    if (isa<memref::DeallocOp>(user))
      user->erase();
}

/// The number of this thread, at the start of a parallel loop's body.
Value WorkspacePlanner::threadNumber(Operation *parallel) {
  Type i32 = builder.getI32Type();
  auto query = module.lookupSymbol<func::FuncOp>("omp_get_thread_num");
  if (!query) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    query = func::FuncOp::create(top, module.getLoc(), "omp_get_thread_num", top.getFunctionType({}, i32));
    query.setPrivate();
  }
  builder.setInsertionPointToStart(&parallel->getRegion(0).front());
  Value number = func::CallOp::create(builder, parallel->getLoc(), query, ValueRange()).getResult(0);
  return arith::IndexCastOp::create(builder, parallel->getLoc(), builder.getIndexType(), number);
}

/// Allocations inside loops and branches move to the start of the function where their sizes are known there.
void WorkspacePlanner::hoist(func::FuncOp function) {
  SmallVector<memref::AllocOp> allocs;
  function.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  DenseMap<Operation *, Value> numbers;
  for (memref::AllocOp alloc : allocs) {
    if (alloc->getBlock() == &function.front() || !alloc.getSymbolOperands().empty())
      continue;
    SmallVector<Operation *> users;
    if (!staysLocal(alloc, users))
      continue;
    llvm::SetVector<Operation *> slice;
    bool known = llvm::all_of(alloc.getDynamicSizes(),
                              [&](Value size) { return sizeSlice(size, function, /*scalars=*/true, slice); });
    if (!known)
      continue;
    eraseDeallocs(alloc);
    builder.setInsertionPointToStart(&function.front());
    IRMapping mapping;
    SmallVector<Value> sizes;
    for (Value size : alloc.getDynamicSizes())
      sizes.push_back(cloneSlice(builder, size, slice, mapping, [&](BlockArgument array, int64_t dim) -> Value {
        return memref::DimOp::create(builder, alloc.getLoc(), array, dim);
      }));
    MemRefType type = alloc.getType();
    Operation *parallel = threads > 1 ? parallelLoop(alloc) : nullptr;
    if (!parallel) {
      Value moved = memref::AllocOp::create(builder, alloc.getLoc(), type, sizes, alloc.getAlignmentAttr());
      alloc.replaceAllUsesWith(moved);
      alloc.erase();
      continue;
    }
    // One buffer a thread, each on cache lines of its own.
    Location loc = alloc.getLoc();
    Value bytes = bytesOf(builder, loc, type, sizes);
    IntegerAttr line = builder.getI64IntegerAttr(workspaceLineBytes);
    Value all;
    if (std::optional<int64_t> fixed = getConstantIntValue(bytes)) {
      int64_t each = llvm::alignTo(*fixed, workspaceLineBytes);
      bytes = arith::ConstantIndexOp::create(builder, loc, each);
      all = memref::AllocOp::create(builder, loc, MemRefType::get({each * threads}, builder.getI8Type()), line);
    } else {
      Value round = arith::ConstantIndexOp::create(builder, loc, workspaceLineBytes - 1);
      Value mask = arith::ConstantIndexOp::create(builder, loc, -workspaceLineBytes);
      bytes = arith::AndIOp::create(builder, loc, arith::AddIOp::create(builder, loc, bytes, round), mask);
      Value total = boundedProduct(builder, loc, bytes, threads);
      all = memref::AllocOp::create(builder, loc, MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), total,
                                    line);
    }
    Value &number = numbers[parallel];
    if (!number)
      number = threadNumber(parallel);
    builder.setInsertionPointAfterValue(number);
    Value offset = arith::MulIOp::create(builder, loc, number, bytes);
    Value mine = memref::ViewOp::create(builder, loc, type, all, offset, sizes);
    alloc.replaceAllUsesWith(mine);
    alloc.erase();
  }
}

/// Allocations at the top of a private function become arguments that each caller allocates.
void WorkspacePlanner::moveToCallers(func::FuncOp function) {
  SmallVector<func::CallOp> calls;
  for (Operation *user : symbols.getUsers(function)) {
    auto call = dyn_cast<func::CallOp>(user);
    if (!call)
      return;
    calls.push_back(call);
  }
  if (calls.empty())
    return;
  for (auto alloc : llvm::make_early_inc_range(function.front().getOps<memref::AllocOp>())) {
    SmallVector<Operation *> users;
    llvm::SetVector<Operation *> slice;
    if (!alloc.getSymbolOperands().empty() || !staysLocal(alloc, users) ||
        !llvm::all_of(alloc.getDynamicSizes(), [&](Value size) { return sizeSlice(size, function, true, slice); }))
      continue;
    eraseDeallocs(alloc);
    for (func::CallOp call : calls) {
      builder.setInsertionPoint(call);
      IRMapping mapping;
      for (BlockArgument argument : function.getArguments().take_front(call.getNumOperands()))
        mapping.map(argument, call.getOperand(argument.getArgNumber()));
      SmallVector<Value> sizes;
      for (Value size : alloc.getDynamicSizes())
        sizes.push_back(cloneSlice(builder, size, slice, mapping, [&](BlockArgument array, int64_t dim) -> Value {
          return builder.createOrFold<memref::DimOp>(call.getLoc(), call.getOperand(array.getArgNumber()), dim);
        }));
      Value buffer = memref::AllocOp::create(builder, alloc.getLoc(), alloc.getType(), sizes, alloc.getAlignmentAttr());
      call->insertOperands(call.getNumOperands(), buffer);
    }
    BlockArgument argument = function.front().addArgument(alloc.getType(), alloc.getLoc());
    function.setType(builder.getFunctionType(function.front().getArgumentTypes(), function.getResultTypes()));
    alloc.replaceAllUsesWith(argument);
    alloc.erase();
  }
  if (ArrayAttr attributes = function.getAllArgAttrs()) {
    SmallVector<Attribute> padded(attributes.getValue());
    padded.resize(function.getNumArguments(), builder.getDictionaryAttr({}));
    function.setAllArgAttrs(builder.getArrayAttr(padded));
  }
}

} // namespace tilewright
