//===- WorkspaceSharing.cpp - Temporaries of calls one after the other ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that was split into nests hands its arrays from call to call:
//
//   call @nest_0(%x, %a)   call @nest_1(%a, %b)   call @nest_2(%b, %c)
//
// For its caller %a, %b and %c would all live at the one call of the kernel, so bytes
// are shared here: %a and %c become views of one allocation. Buffers that something
// else than a call uses stay apart, since pointers of one function to different
// arrays do not overlap (`llvm.noalias`).
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Lower/LLVM/WorkspacePlanner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tilewright {

void WorkspacePlanner::shareAmongCalls(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return;
  Block &entry = function.front();
  DenseMap<Operation *, unsigned> order = positionsIn(entry);
  std::vector<WorkspaceBuffer> buffers;
  for (auto alloc : entry.getOps<memref::AllocOp>()) {
    WorkspaceBuffer buffer;
    SmallVector<Operation *> users;
    auto isCall = [](Operation *user) { return isa<func::CallOp, memref::DeallocOp>(user); };
    if (staysLocal(alloc, users) && llvm::all_of(users, isCall) && readBuffer(alloc, function, true, buffer)) {
      setLifetime(buffer, users, order);
      buffers.push_back(buffer);
    }
  }
  if (buffers.size() < 2)
    return;

  Location loc = function.getLoc();
  int64_t staticBytes = placeStatic(buffers);
  SmallVector<Value> slots(placeDynamic(buffers));
  builder.setInsertionPointToStart(&entry);
  IRMapping mapping;
  for (WorkspaceBuffer &buffer : buffers) {
    if (buffer.bytes >= 0)
      continue;
    SmallVector<Value> sizes;
    for (Value size : buffer.alloc.getDynamicSizes())
      sizes.push_back(cloneSlice(builder, size, buffer.slice, mapping, [&](BlockArgument array, int64_t dim) -> Value {
        return memref::DimOp::create(builder, loc, array, dim);
      }));
    Value bytes = bytesOf(builder, loc, buffer.alloc.getType(), sizes);
    Value &slot = slots[buffer.slot];
    slot = slot ? arith::MaxUIOp::create(builder, loc, slot, bytes).getResult() : bytes;
  }

  // One allocation for all buffers of static size, and one a slot.
  int64_t alignment = workspaceLineBytes;
  for (WorkspaceBuffer &buffer : buffers)
    alignment = std::max<int64_t>(alignment, buffer.alloc.getAlignment().value_or(1));
  auto allocate = [&](int64_t bytes, ValueRange size) -> Value {
    return memref::AllocOp::create(builder, loc, MemRefType::get({bytes}, builder.getI8Type()), size,
                                   builder.getI64IntegerAttr(alignment));
  };
  Value arena = staticBytes > 0 ? allocate(staticBytes, {}) : Value();
  for (Value &slot : slots)
    slot = allocate(ShapedType::kDynamic, slot);
  for (WorkspaceBuffer &buffer : buffers) {
    SmallVector<Value> sizes;
    for (Value size : buffer.alloc.getDynamicSizes())
      sizes.push_back(mapping.lookupOrDefault(size));
    eraseDeallocs(buffer.alloc);
    bool isStatic = buffer.bytes >= 0;
    Value offset = arith::ConstantIndexOp::create(builder, loc, isStatic ? buffer.offset : 0);
    Value view = memref::ViewOp::create(builder, buffer.alloc.getLoc(), buffer.alloc.getType(),
                                        isStatic ? arena : slots[buffer.slot], offset, sizes);
    buffer.alloc.replaceAllUsesWith(view);
  }
  for (WorkspaceBuffer &buffer : buffers)
    buffer.alloc.erase();
}

} // namespace tilewright
