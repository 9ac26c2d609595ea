//===- PlanScratchpad.cpp - Where the buffers of a core lie ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lifetimes are ranges of operations of the block that a buffer stands in, and end
/// where its commands are waited for; buffers are placed in the order of their size,
/// each at the first gap among those that live at the same time.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Machine/FirstFit.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "tilewright/LaneOps.h"
#include "tilewright/PointerOffset.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilewright {
#define GEN_PASS_DEF_PLANSCRATCHPAD
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct Buffer {
  tile::AllocOp op;
  int64_t bytes = 0, offset = 0;
  unsigned begin = 0, end = 0; // operations of its block, both included
  bool outlives = false;       // a command may be under way when its block ends
};

/// One memory of a launch.
struct Plan {
  const Memory *memory;
  SmallVector<Buffer> buffers;
  int64_t bytes = 0;
};
} // namespace

static unsigned positionIn(Block *block, Operation *op) {
  Operation *top = block->findAncestorOpInBlock(*op);
  return std::distance(block->begin(), top->getIterator());
}

/// Calls `visit` with each wait for `token`, also where loops and branches hand it on; false where it leaves `block` or
/// nobody waits for it.
static bool forEachWait(Value token, Block *block, llvm::DenseSet<Value> &seen, function_ref<void(Operation *)> visit) {
  if (!seen.insert(token).second)
    return true;
  if (token.use_empty() || !block->getParent()->isAncestor(token.getParentRegion()))
    return false;
  for (OpOperand &use : token.getUses()) {
    Operation *user = use.getOwner();
    SmallVector<Value, 2> next;
    if (isa<tile::WaitOp>(user)) {
      visit(user);
      continue;
    }
    // The number of the value among those that a loop carries or a branch gives.
    std::optional<unsigned> index;
    Operation *parent = user;
    if (auto loop = dyn_cast<LoopLikeOpInterface>(user)) {
      for (auto [i, init] : llvm::enumerate(loop.getInitsMutable()))
        if (&init == &use)
          index = i;
    } else if (user->hasTrait<OpTrait::IsTerminator>()) {
      parent = user->getParentOp();
      index = use.getOperandNumber();
    } else if (user->getNumResults() == 1 && isa<tile::TokenType>(user->getResult(0).getType())) { // a choice
      next = {user->getResult(0)};
    }
    if (index && *index < parent->getNumResults()) {
      next.push_back(parent->getResult(*index));
      if (auto loop = dyn_cast<LoopLikeOpInterface>(parent))
        next.push_back(loop.getRegionIterArgs()[*index]);
    }
    if (next.empty())
      return false;
    for (Value each : next)
      if (!forEachWait(each, block, seen, visit))
        return false;
  }
  return true;
}

/// From the allocation to the last use, or the last wait for a command of an engine on the buffer.
static void findLifetime(Buffer &buffer) {
  Block *block = buffer.op->getBlock();
  buffer.begin = buffer.end = positionIn(block, buffer.op);
  for (Operation *user : buffer.op->getUsers()) {
    buffer.end = std::max(buffer.end, positionIn(block, user));
    if (!isa<tile::CopyOp, tile::MultiplyOp>(user))
      continue;
    llvm::DenseSet<Value> seen;
    bool ends = forEachWait(user->getResult(0), block, seen,
                            [&](Operation *wait) { buffer.end = std::max(buffer.end, positionIn(block, wait)); });
    if (!ends) {
      buffer.outlives = true;
      buffer.end = block->getOperations().size();
    }
  }
}

/// Whether two buffers need their bytes at the same time.
static bool meet(const Buffer &a, const Buffer &b) {
  // The innermost block around both.
  Block *common = Buffer(a).op->getBlock();
  while (!common->findAncestorOpInBlock(*Buffer(b).op))
    common = common->getParentOp()->getBlock();
  auto range = [&](Buffer buffer) -> std::pair<unsigned, unsigned> {
    if (buffer.op->getBlock() == common)
      return {buffer.begin, buffer.end};
    unsigned at = positionIn(common, buffer.op);
    return {at, buffer.outlives ? ~0u : at};
  };
  auto [beginA, endA] = range(a);
  auto [beginB, endB] = range(b);
  return beginA <= endB && beginB <= endA;
}

static void place(Plan &plan, int64_t align) {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : plan.buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
  SmallVector<Buffer *> placed;
  for (Buffer *buffer : order) {
    SmallVector<TakenBytes> taken;
    for (Buffer *other : placed)
      if (meet(*other, *buffer))
        taken.push_back({other->offset, other->offset + other->bytes});
    buffer->offset = firstFit(buffer->bytes, align, std::move(taken));
    plan.bytes = std::max(plan.bytes, buffer->offset + buffer->bytes);
    placed.push_back(buffer);
  }
}

/// The map of a memory, one buffer a line.
static std::string mapOf(Plan &plan) {
  std::string text = "\n    offset     bytes  buffer";
  SmallVector<Buffer *> order;
  for (Buffer &buffer : plan.buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
  for (Buffer *buffer : order) {
    std::string type;
    llvm::raw_string_ostream(type) << cast<MemRefType>(buffer->op.getMemref().getType());
    text += llvm::formatv("\n{0,10}{1,10}  {2}", buffer->offset, buffer->bytes, type);
  }
  return text;
}

namespace {
struct PlanScratchpad : tilewright::impl::PlanScratchpadBase<PlanScratchpad> {
  void runOnOperation() override {
    llvm::MapVector<const Memory *, int64_t> sizes; // the most that a launch needs
    SmallVector<Plan> plans;
    std::optional<CoreTarget> target; // of modules that launch
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!launchShapeOf(function))
        continue;
      if (!target) {
        FailureOr<CoreTarget> found = requireCores(function);
        if (failed(found))
          return signalPassFailure();
        target = *found;
      }
      if (failed(plan(function, *target->chip, target->hierarchy, plans, sizes)))
        return signalPassFailure();
    }
    for (Plan &plan : plans)
      for (Buffer &buffer : plan.buffers)
        replace(buffer, *plan.memory, sizes[plan.memory], scratchpadAlignment(target->hierarchy));
  }

  static LogicalResult plan(func::FuncOp function, const TargetDescription &chip, const CoreHierarchy &cores,
                            SmallVectorImpl<Plan> &plans, llvm::MapVector<const Memory *, int64_t> &sizes) {
    llvm::MapVector<const Memory *, Plan> own;
    WalkResult walk = function.walk([&](tile::AllocOp op) {
      auto type = cast<MemRefType>(op.getMemref().getType());
      auto name = dyn_cast_or_null<StringAttr>(type.getMemorySpace());
      const Memory *memory = name ? chip.memory(name.getValue()) : nullptr;
      if (!memory || (memory != cores.scratchpad && memory != cores.accumulator)) {
        op.emitOpError() << "must name a memory of the core: \"" << cores.scratchpad->name
                         << (cores.accumulator ? "\" or \"" + cores.accumulator->name : std::string()) << "\"";
        return WalkResult::interrupt();
      }
      if (!type.hasStaticShape() || op.getArrangement()) {
        op.emitOpError() << "must have a static shape and no arrangement to lie in the memory \"" << memory->name
                         << "\"";
        return WalkResult::interrupt();
      }
      Buffer buffer{op, type.getNumElements() * elementBytes(type.getElementType())};
      findLifetime(buffer);
      own[memory].buffers.push_back(buffer);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    for (auto &[memory, plan] : own) {
      plan.memory = memory;
      place(plan, scratchpadAlignment(cores));
      if (plan.bytes > memory->bytes)
        return function.emitError() << "needs " << plan.bytes << " bytes of the memory \"" << memory->name << "\"; a "
                                    << memory->level << " of " << chip.target() << ":" << chip.chip() << " has "
                                    << memory->bytes << mapOf(plan);
      int64_t &most = sizes[memory];
      most = std::max(most, plan.bytes);
      plans.push_back(std::move(plan));
    }
    return success();
  }

  static MemRefType withoutSpace(MemRefType type) {
    return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout());
  }
  /// Views of a memref without a memory space have none either.
  static void dropSpaceOfViews(Value memref) {
    for (Operation *user : memref.getUsers())
      if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1) {
        user->getResult(0).setType(withoutSpace(cast<MemRefType>(user->getResult(0).getType())));
        dropSpaceOfViews(user->getResult(0));
      }
  }

  /// The buffer as a range of the memory's global.
  static void replace(Buffer &buffer, const Memory &memory, int64_t bytes, int64_t align) {
    auto module = buffer.op->getParentOfType<ModuleOp>();
    Location loc = buffer.op.getLoc();
    OpBuilder builder(buffer.op);
    std::string name = "tilewright_" + memory.name;
    if (!module.lookupSymbol(name)) {
      OpBuilder global = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
      LLVM::GlobalOp::create(global, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                             LLVM::UndefAttr::get(builder.getContext()), align, scratchpadSpace);
    }
    auto there = LLVM::LLVMPointerType::get(builder.getContext(), scratchpadSpace);
    Value pointer = LLVM::AddressOfOp::create(builder, loc, there, name);
    if (buffer.offset)
      pointer = elementBehind(builder, loc, pointer, builder.getI8Type(), buffer.offset);
    pointer = LLVM::AddrSpaceCastOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), pointer);
    auto type = withoutSpace(cast<MemRefType>(buffer.op.getMemref().getType()));
    Value memref = memrefFromPointer(builder, loc, type, pointer, {});
    buffer.op.getMemref().replaceAllUsesWith(memref);
    buffer.op.erase();
    dropSpaceOfViews(memref);
  }
};
} // namespace
