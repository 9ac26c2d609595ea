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
///   time ->   op 1   op 2   op 3           first fit by offset; buffers whose
///   offset 0  [ A        ][ C   ]          lifetimes do not meet share bytes;
///   offset a  [    B            ]          dynamic sizes follow the static ones
///
/// A buffer inside a parallel loop exists once a thread.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/SizeProduct.h"

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

/// Buffers start at multiples of a cache line, or of what they ask for.
constexpr int64_t lineBytes = 64;

struct PlanWorkspace : tilewright::impl::PlanWorkspaceBase<PlanWorkspace> {
  void runOnOperation() override;
};

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

/// Works on one module.
class Planner {
public:
  explicit Planner(ModuleOp module) : module(module), symbols(tables, module), builder(module.getContext()) {
    auto count = module->getAttrOfType<IntegerAttr>("tilewright.threads");
    threads = count ? std::max<int64_t>(1, count.getInt()) : 1;
  }

  void run() {
    for (func::FuncOp function : calleesFirst()) {
      hoist(function);
      if (function.isPrivate())
        moveToCallers(function);
    }
    for (func::FuncOp function : publicFunctions(module))
      planArena(function);
    module.walk([&](memref::AllocOp alloc) { release(alloc); });
  }

private:
  std::vector<func::FuncOp> calleesFirst();
  void hoist(func::FuncOp function);
  void moveToCallers(func::FuncOp function);
  void planArena(func::FuncOp function);
  void release(memref::AllocOp alloc);
  Value threadNumber(Operation *parallel);
  void eraseDeallocs(Value buffer);

  ModuleOp module;
  SymbolTableCollection tables;
  SymbolUserMap symbols;
  OpBuilder builder;
  int64_t threads = 1;
};

std::vector<func::FuncOp> Planner::calleesFirst() {
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

void Planner::eraseDeallocs(Value buffer) {
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
    if (isa<memref::DeallocOp>(user))
      user->erase();
}

/// The number of this thread, at the start of a parallel loop's body.
Value Planner::threadNumber(Operation *parallel) {
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
void Planner::hoist(func::FuncOp function) {
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
    Value round = arith::ConstantIndexOp::create(builder, loc, lineBytes - 1);
    Value mask = arith::ConstantIndexOp::create(builder, loc, -lineBytes);
    bytes = arith::AndIOp::create(builder, loc, arith::AddIOp::create(builder, loc, bytes, round), mask);
    Value total = boundedProduct(builder, loc, bytes, threads);
    auto raw = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    Value all = memref::AllocOp::create(builder, loc, raw, total, builder.getI64IntegerAttr(lineBytes));
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
void Planner::moveToCallers(func::FuncOp function) {
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
      Value buffer =
          memref::AllocOp::create(builder, alloc.getLoc(), alloc.getType(), sizes, alloc.getAlignmentAttr());
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

/// Where a buffer lives among the operations of the entry block, and where it lies.
struct Buffer {
  memref::AllocOp alloc;
  unsigned first = 0, last = 0;
  int64_t bytes = -1; // -1: dynamic
  int64_t offset = 0; // static ones
  unsigned slot = 0;  // dynamic ones
  llvm::SetVector<Operation *> slice;
  bool meets(const Buffer &other) const { return first <= other.last && other.first <= last; }
};

int64_t roundUp(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// First fit: the lowest offset at which no buffer that lives at the same time overlaps. Returns the bytes of all.
int64_t placeStatic(std::vector<Buffer> &buffers) {
  std::vector<Buffer *> placed;
  int64_t total = 0;
  for (Buffer &buffer : buffers) {
    if (buffer.bytes < 0)
      continue;
    int64_t alignment = std::max<int64_t>(lineBytes, buffer.alloc.getAlignment().value_or(1));
    bool moved = true;
    while (moved) {
      moved = false;
      for (Buffer *other : placed)
        if (buffer.meets(*other) && buffer.offset < other->offset + other->bytes &&
            other->offset < buffer.offset + buffer.bytes) {
          buffer.offset = roundUp(other->offset + other->bytes, alignment);
          moved = true;
        }
    }
    placed.push_back(&buffer);
    total = std::max(total, buffer.offset + buffer.bytes);
  }
  return roundUp(total, lineBytes);
}

/// Buffers of dynamic size that never live at the same time share a slot. Returns the number of slots.
unsigned placeDynamic(std::vector<Buffer> &buffers) {
  std::vector<std::vector<Buffer *>> slots;
  for (Buffer &buffer : buffers) {
    if (buffer.bytes >= 0)
      continue;
    auto free = llvm::find_if(slots, [&](const std::vector<Buffer *> &slot) {
      return llvm::none_of(slot, [&](Buffer *other) { return buffer.meets(*other); });
    });
    buffer.slot = free - slots.begin();
    if (free == slots.end())
      slots.emplace_back();
    slots[buffer.slot].push_back(&buffer);
  }
  return slots.size();
}

void Planner::planArena(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return;
  Block &entry = function.front();
  DenseMap<Operation *, unsigned> order;
  unsigned count = 0;
  for (Operation &op : entry)
    order[&op] = count++;

  std::vector<Buffer> buffers;
  for (auto alloc : entry.getOps<memref::AllocOp>()) {
    Buffer buffer;
    buffer.alloc = alloc;
    if (!alloc.getSymbolOperands().empty() || !alloc.getType().getLayout().isIdentity() ||
        !llvm::all_of(alloc.getDynamicSizes(),
                      [&](Value size) { return sizeSlice(size, function, /*scalars=*/false, buffer.slice); }))
      continue;
    SmallVector<Operation *> users;
    bool returned = llvm::is_contained(entry.getTerminator()->getOperands(), alloc.getResult());
    if (returned)
      continue;
    if (staysLocal(alloc, users)) {
      buffer.first = count;
      for (Operation *user : users) {
        if (isa<memref::DeallocOp>(user))
          continue;
        unsigned position = order.lookup(entry.findAncestorOpInBlock(*user));
        buffer.first = std::min(buffer.first, position);
        buffer.last = std::max(buffer.last, position);
      }
    } else {
      buffer.first = order[alloc];
      buffer.last = count; // may be carried by loops: lives to the end
    }
    MemRefType type = alloc.getType();
    if (type.hasStaticShape())
      buffer.bytes = type.getNumElements() * elementBytes(type.getElementType());
    buffers.push_back(buffer);
  }
  if (buffers.empty())
    return;
  int64_t staticBytes = placeStatic(buffers);
  unsigned numSlots = placeDynamic(buffers);

  // Offsets of the slots and the size of the arena, once in the function and once for its callers.
  Location loc = function.getLoc();
  auto layOut = [&](OpBuilder &b, llvm::function_ref<Value(BlockArgument, int64_t)> dimension) {
    SmallVector<Value> slots(numSlots);
    IRMapping mapping;
    Value round = arith::ConstantIndexOp::create(b, loc, lineBytes - 1);
    Value mask = arith::ConstantIndexOp::create(b, loc, -lineBytes);
    for (Buffer &buffer : buffers) {
      if (buffer.bytes >= 0)
        continue;
      MemRefType type = buffer.alloc.getType();
      SmallVector<Value> sizes;
      for (Value size : buffer.alloc.getDynamicSizes())
        sizes.push_back(cloneSlice(b, size, buffer.slice, mapping, dimension));
      Value bytes = bytesOf(b, loc, type, sizes);
      bytes = arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, bytes, round), mask);
      Value &slot = slots[buffer.slot];
      slot = slot ? arith::MaxUIOp::create(b, loc, slot, bytes).getResult() : bytes;
    }
    SmallVector<Value> offsets;
    Value end = arith::ConstantIndexOp::create(b, loc, staticBytes);
    for (Value slot : slots) {
      offsets.push_back(end);
      end = arith::AddIOp::create(b, loc, end, slot);
    }
    offsets.push_back(end);
    return std::make_pair(offsets, mapping);
  };

  // The size for callers takes the dynamic dimensions of the array arguments in order.
  std::string name = (function.getName() + ".bytes").str();
  DenseMap<std::pair<unsigned, int64_t>, unsigned> positions;
  SmallVector<Type> types;
  auto signature = Signature::of(function);
  if (failed(signature))
    return;
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
  auto bytes = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, builder.getIndexType()));
  bytes.setPrivate();
  Block *body = bytes.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto fromSizes = layOut(builder, [&](BlockArgument array, int64_t dim) -> Value {
    auto type = cast<MemRefType>(array.getType());
    if (!type.isDynamicDim(dim))
      return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
    return body->getArgument(positions.lookup({array.getArgNumber(), dim}));
  });
  func::ReturnOp::create(builder, loc, fromSizes.first.back());

  auto raw = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  BlockArgument arena = entry.addArgument(raw, loc);
  function.setType(builder.getFunctionType(entry.getArgumentTypes(), function.getResultTypes()));
  if (function.getAllArgAttrs())
    function->removeAttr(function.getArgAttrsAttrName());
  function->setAttr(workspaceAttr, FlatSymbolRefAttr::get(bytes));
  builder.setInsertionPointToStart(&entry);
  auto here = layOut(builder, [&](BlockArgument array, int64_t dim) -> Value {
    return memref::DimOp::create(builder, loc, array, dim);
  });
  for (Buffer &buffer : buffers) {
    Value offset = buffer.bytes >= 0 ? arith::ConstantIndexOp::create(builder, loc, buffer.offset).getResult()
                                     : here.first[buffer.slot];
    SmallVector<Value> sizes;
    for (Value size : buffer.alloc.getDynamicSizes())
      sizes.push_back(here.second.lookup(size));
    eraseDeallocs(buffer.alloc);
    Value view = memref::ViewOp::create(builder, buffer.alloc.getLoc(), buffer.alloc.getType(), arena, offset, sizes);
    buffer.alloc.replaceAllUsesWith(view);
  }
  for (Buffer &buffer : buffers) // last: the insertion point may be in front of one
    buffer.alloc.erase();
}

/// An allocation that stays is released at the end of its block.
void Planner::release(memref::AllocOp alloc) {
  SmallVector<Operation *> users;
  if (!staysLocal(alloc, users) || llvm::any_of(users, llvm::IsaPred<memref::DeallocOp>))
    return;
  builder.setInsertionPoint(alloc->getBlock()->getTerminator());
  memref::DeallocOp::create(builder, alloc.getLoc(), alloc);
}

} // namespace

void PlanWorkspace::runOnOperation() { Planner(getOperation()).run(); }
