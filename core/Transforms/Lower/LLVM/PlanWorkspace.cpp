//===- PlanWorkspace.cpp - One arena for all temporaries ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Moves allocations from kernels to their callers and out of loops, then lays
/// those of the public function out in one arena by lifetime:
///
///   time ->   op 1   op 2   op 3           first fit by offset; buffers of
///   offset 0  [ A        ][ C   ]          disjoint lifetimes share bytes;
///   offset a  [    B            ]          dynamic sizes follow the static ones
///
/// A buffer inside a parallel loop exists once a thread.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/FoldedConstants.h"
#include "core/Analysis/Signature.h"
#include "core/Machine/FirstFit.h"
#include "core/Transforms/Lower/LLVM/SizeProduct.h"
#include "core/Transforms/Lower/LLVM/WorkspacePlanner.h"
#include "core/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

namespace tilewright {
#define GEN_PASS_DEF_PLANWORKSPACE
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

struct PlanWorkspace : tilewright::impl::PlanWorkspaceBase<PlanWorkspace> {
  void runOnOperation() override;
};

} // namespace

int64_t tilewright::placeStatic(std::vector<WorkspaceBuffer> &buffers) {
  std::vector<WorkspaceBuffer *> placed;
  int64_t total = 0;
  for (WorkspaceBuffer &buffer : buffers) {
    if (buffer.bytes < 0)
      continue;
    SmallVector<TakenBytes> taken;
    for (WorkspaceBuffer *other : placed)
      if (buffer.meets(*other))
        taken.push_back({other->offset, other->offset + other->bytes});
    int64_t alignment = std::max<int64_t>(workspaceLineBytes, buffer.alloc.getAlignment().value_or(1));
    buffer.offset = firstFit(buffer.bytes, alignment, std::move(taken));
    placed.push_back(&buffer);
    total = std::max(total, buffer.offset + buffer.bytes);
  }
  return llvm::alignTo(total, workspaceLineBytes);
}

unsigned tilewright::placeDynamic(std::vector<WorkspaceBuffer> &buffers) {
  std::vector<std::vector<WorkspaceBuffer *>> slots;
  for (WorkspaceBuffer &buffer : buffers) {
    if (buffer.bytes >= 0)
      continue;
    auto free = llvm::find_if(slots, [&](const std::vector<WorkspaceBuffer *> &slot) {
      return llvm::none_of(slot, [&](WorkspaceBuffer *other) { return buffer.meets(*other); });
    });
    buffer.slot = free - slots.begin();
    if (free == slots.end())
      slots.emplace_back();
    slots[buffer.slot].push_back(&buffer);
  }
  return slots.size();
}

bool tilewright::readBuffer(memref::AllocOp alloc, func::FuncOp function, bool scalars, WorkspaceBuffer &buffer) {
  buffer.alloc = alloc;
  MemRefType type = alloc.getType();
  if (!alloc.getSymbolOperands().empty() || !type.getLayout().isIdentity())
    return false;
  if (type.hasStaticShape())
    buffer.bytes = type.getNumElements() * elementBytes(type.getElementType());
  return llvm::all_of(alloc.getDynamicSizes(),
                      [&](Value size) { return sizeSlice(size, function, scalars, buffer.slice); });
}

void tilewright::setLifetime(WorkspaceBuffer &buffer, ArrayRef<Operation *> users,
                             const DenseMap<Operation *, unsigned> &order) {
  buffer.first = order.size();
  for (Operation *user : users) {
    if (isa<memref::DeallocOp>(user))
      continue;
    unsigned position = order.lookup(buffer.alloc->getBlock()->findAncestorOpInBlock(*user));
    buffer.first = std::min(buffer.first, position);
    buffer.last = std::max(buffer.last, position);
  }
}

DenseMap<Operation *, unsigned> tilewright::positionsIn(Block &block) {
  DenseMap<Operation *, unsigned> order;
  for (Operation &op : block)
    order.try_emplace(&op, order.size());
  return order;
}

namespace {

/// The buffers of one function in one arena: those of constant size first, then a slot for each of those of dynamic
/// sizes that live at the same time.
struct Arena {
  explicit Arena(std::vector<WorkspaceBuffer> &buffers)
      : buffers(buffers), staticBytes(placeStatic(buffers)), numSlots(placeDynamic(buffers)) {}

  /// Where the slots begin, then where the arena ends; and the sizes of the buffers as they were computed for that.
  struct Places {
    SmallVector<Value> offsets;
    IRMapping sizes;
  };
  Places places(OpBuilder &b, Location loc, llvm::function_ref<Value(BlockArgument, int64_t)> dimension) const;

  std::vector<WorkspaceBuffer> &buffers;
  int64_t staticBytes;
  unsigned numSlots;
};

} // namespace

Arena::Places Arena::places(OpBuilder &b, Location loc,
                            llvm::function_ref<Value(BlockArgument, int64_t)> dimension) const {
  Places result;
  SmallVector<Value> slots(numSlots);
  Value round = arith::ConstantIndexOp::create(b, loc, workspaceLineBytes - 1);
  Value mask = arith::ConstantIndexOp::create(b, loc, -workspaceLineBytes);
  for (WorkspaceBuffer &buffer : buffers) {
    if (buffer.bytes >= 0)
      continue;
    SmallVector<Value> sizes;
    for (Value size : buffer.alloc.getDynamicSizes())
      sizes.push_back(cloneSlice(b, size, buffer.slice, result.sizes, dimension));
    Value bytes = bytesOf(b, loc, buffer.alloc.getType(), sizes);
    bytes = arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, bytes, round), mask);
    Value &slot = slots[buffer.slot];
    slot = slot ? arith::MaxUIOp::create(b, loc, slot, bytes).getResult() : bytes;
  }
  Value end = arith::ConstantIndexOp::create(b, loc, staticBytes);
  for (Value slot : slots) {
    result.offsets.push_back(end);
    end = arith::AddIOp::create(b, loc, end, slot);
  }
  result.offsets.push_back(end);
  return result;
}

/// The buffers of the entry block that may lie in an arena.
static std::vector<WorkspaceBuffer> arenaBuffers(func::FuncOp function) {
  Block &entry = function.front();
  DenseMap<Operation *, unsigned> order = positionsIn(entry);
  std::vector<WorkspaceBuffer> buffers;
  for (auto alloc : entry.getOps<memref::AllocOp>()) {
    WorkspaceBuffer buffer;
    if (!readBuffer(alloc, function, /*scalars=*/false, buffer))
      continue;
    SmallVector<Operation *> users;
    bool returned = llvm::is_contained(entry.getTerminator()->getOperands(), alloc.getResult());
    if (returned)
      continue;
    if (staysLocal(alloc, users)) {
      setLifetime(buffer, users, order);
    } else {
      buffer.first = order[alloc];
      buffer.last = order.size(); // may be carried by loops: lives to the end
    }
    buffers.push_back(buffer);
  }
  return buffers;
}

/// A function for callers that returns the bytes of `arena`: it takes the dynamic dimensions of the array arguments in
/// order. Null if the signature has no form.
static func::FuncOp sizeFunction(OpBuilder &builder, func::FuncOp function, const Arena &arena) {
  auto signature = Signature::of(function);
  if (failed(signature))
    return nullptr;
  Location loc = function.getLoc();
  DenseMap<std::pair<unsigned, int64_t>, unsigned> positions;
  SmallVector<Type> types;
  for (const SignatureArgument &argument : signature->arguments) {
    if (argument.isScalar)
      continue;
    auto type = cast<MemRefType>(function.getArgumentTypes()[argument.position]);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim)) {
        positions[{argument.position, dim}] = types.size();
        types.push_back(builder.getIndexType());
      }
  }
  builder.setInsertionPoint(function);
  auto bytes = func::FuncOp::create(builder, loc, (function.getName() + ".bytes").str(),
                                    builder.getFunctionType(types, builder.getIndexType()));
  bytes.setPrivate();
  Block *body = bytes.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Arena::Places places = arena.places(builder, loc, [&](BlockArgument array, int64_t dim) -> Value {
    auto type = cast<MemRefType>(array.getType());
    if (!type.isDynamicDim(dim))
      return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
    return body->getArgument(positions.lookup({array.getArgNumber(), dim}));
  });
  func::ReturnOp::create(builder, loc, places.offsets.back());
  return bytes;
}

void WorkspacePlanner::planArena(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return;
  std::vector<WorkspaceBuffer> buffers = arenaBuffers(function);
  if (buffers.empty())
    return;
  const Arena arena(buffers);
  func::FuncOp bytes = sizeFunction(builder, function, arena);
  if (!bytes)
    return;

  Block &entry = function.front();
  Location loc = function.getLoc();
  BlockArgument memory = entry.addArgument(MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), loc);
  function.setType(builder.getFunctionType(entry.getArgumentTypes(), function.getResultTypes()));
  if (function.getAllArgAttrs())
    function->removeAttr(function.getArgAttrsAttrName());
  function->setAttr(workspaceAttr, FlatSymbolRefAttr::get(bytes));
  builder.setInsertionPointToStart(&entry);
  Arena::Places here = arena.places(builder, loc, [&](BlockArgument array, int64_t dim) -> Value {
    return memref::DimOp::create(builder, loc, array, dim);
  });
  for (WorkspaceBuffer &buffer : buffers) {
    Value offset = buffer.bytes >= 0 ? arith::ConstantIndexOp::create(builder, loc, buffer.offset).getResult()
                                     : here.offsets[buffer.slot];
    SmallVector<Value> sizes;
    for (Value size : buffer.alloc.getDynamicSizes())
      sizes.push_back(here.sizes.lookup(size));
    eraseDeallocs(buffer.alloc);
    Value view = memref::ViewOp::create(builder, buffer.alloc.getLoc(), buffer.alloc.getType(), memory, offset, sizes);
    buffer.alloc.replaceAllUsesWith(view);
  }
  for (WorkspaceBuffer &buffer : buffers) // last: the insertion point may be in front of one
    buffer.alloc.erase();
}

/// An allocation that stays is released at the end of its block.
void WorkspacePlanner::release(memref::AllocOp alloc) {
  SmallVector<Operation *> users;
  if (!staysLocal(alloc, users) || llvm::any_of(users, llvm::IsaPred<memref::DeallocOp>))
    return;
  builder.setInsertionPoint(alloc->getBlock()->getTerminator());
  memref::DeallocOp::create(builder, alloc.getLoc(), alloc);
}

/// An allocation whose size follows from data: its bytes do not wrap to fewer than it needs.
void WorkspacePlanner::bound(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  if (alloc.getDynamicSizes().empty() || !alloc.getSymbolOperands().empty() || !type.getLayout().isIdentity() ||
      type.getMemorySpace() || (type.getRank() == 1 && type.getElementType().isInteger(8)))
    return;
  Location loc = alloc.getLoc();
  builder.setInsertionPoint(alloc);
  SmallVector<Value> sizes(alloc.getDynamicSizes());
  Value bytes = bytesOf(builder, loc, type, sizes);
  auto raw = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  Value memory = memref::AllocOp::create(builder, loc, raw, bytes, alloc.getAlignmentAttr());
  Value start = arith::ConstantIndexOp::create(builder, loc, 0);
  alloc.replaceAllUsesWith(memref::ViewOp::create(builder, loc, type, memory, start, sizes).getResult());
  alloc.erase();
}

void WorkspacePlanner::run() {
  for (func::FuncOp function : calleesFirst()) {
    hoist(function);
    if (!function.isPrivate())
      continue;
    shareAmongCalls(function);
    moveToCallers(function);
  }
  for (func::FuncOp function : publicFunctions(module))
    planArena(function);
  if (func::FuncOp function = foldingFunction(module))
    planArena(function);
  module.walk([&](memref::AllocOp alloc) { release(alloc); });
  module.walk([&](memref::AllocOp alloc) { bound(alloc); });
}

void PlanWorkspace::runOnOperation() { WorkspacePlanner(getOperation()).run(); }
