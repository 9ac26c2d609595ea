//===- PlanScratchpad.cpp - Where the buffers of a core lie ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lifetimes are ranges of operations of the block that a buffer stands in;
/// buffers are placed in the order of their size, each at the first gap among
/// those that live at the same time.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
};

/// One memory of a launch.
struct Plan {
  const Memory *memory;
  SmallVector<Buffer> buffers;
  int64_t bytes = 0;
};
} // namespace

/// From the allocation to the last use; to the end of the block where an engine works on the buffer, whose command may
/// still be under way.
static void findLifetime(Buffer &buffer) {
  Block *block = buffer.op->getBlock();
  unsigned position = 0;
  llvm::DenseMap<Operation *, unsigned> positions;
  for (Operation &op : *block)
    positions[&op] = position++;
  buffer.begin = buffer.end = positions[buffer.op];
  for (Operation *user : buffer.op->getUsers()) {
    bool engine = isa<tile::CopyOp, tile::MultiplyOp>(user);
    buffer.end = std::max(buffer.end, engine ? position - 1 : positions[block->findAncestorOpInBlock(*user)]);
  }
}

static void place(Plan &plan, int64_t align) {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : plan.buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
  SmallVector<Buffer *> placed;
  for (Buffer *buffer : order) {
    // Only buffers of one block are known to live at different times.
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (Buffer *other : placed)
      if (other->op->getBlock() != buffer->op->getBlock() ||
          (other->begin <= buffer->end && buffer->begin <= other->end))
        taken.push_back({other->offset, other->offset + other->bytes});
    llvm::sort(taken);
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + buffer->bytes <= begin)
        break;
      offset = std::max<int64_t>(offset, llvm::alignTo(end, align));
    }
    buffer->offset = offset;
    plan.bytes = std::max(plan.bytes, offset + buffer->bytes);
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
      Buffer buffer{op, int64_t(llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 8))};
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
