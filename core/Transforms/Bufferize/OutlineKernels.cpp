//===- OutlineKernels.cpp - Sequences of nests become functions ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Outlines maximal sequences of linalg operations, copies and affine nests
/// into private functions in which every size is a symbol and no two memrefs
/// alias.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Buffers.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/FoldedConstants.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace tilewright {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using tilewright::BufferOrigins;

namespace {

enum class Kind { Neutral, Nest, Opaque, Barrier };

/// Whether every operation inside `op` is affine, or computes a value from values.
bool isAffineInside(Operation *op) {
  return !op->walk([&](Operation *inner) {
              bool known = inner == op || isa<affine::AffineForOp, affine::AffineLoadOp, affine::AffineStoreOp,
                                              affine::AffineYieldOp, affine::AffineIfOp, linalg::YieldOp>(inner);
              return known || (isMemoryEffectFree(inner) && inner->getNumRegions() == 0) ? WalkResult::advance()
                                                                                         : WalkResult::interrupt();
            }).wasInterrupted();
}

Kind classify(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureBufferSemantics() ? (isAffineInside(op) ? Kind::Nest : Kind::Opaque) : Kind::Barrier;
  if (isa<memref::CopyOp>(op))
    return Kind::Nest;
  if (auto loop = dyn_cast<affine::AffineForOp>(op))
    return loop.getNumResults() != 0 ? Kind::Barrier : isAffineInside(op) ? Kind::Nest : Kind::Barrier;
  if (isa<memref::AllocOp, memref::GetGlobalOp>(op) || (isMemoryEffectFree(op) && op->getNumRegions() == 0))
    return op->hasTrait<OpTrait::IsTerminator>() ? Kind::Barrier : Kind::Neutral;
  return Kind::Barrier;
}

/// Whether a pass can fold `view` into the access maps of its users without div and mod.
bool isFoldable(Operation *view) {
  if (isa<memref::SubViewOp>(view))
    return true;
  // Reshapes that add or drop dimensions of size 1 only.
  auto reassociate = [](auto groups, MemRefType expanded) {
    for (const auto &group : groups) {
      unsigned real = 0;
      for (int64_t dim : group)
        real += expanded.getDimSize(dim) != 1;
      if (real > 1)
        return false;
    }
    return true;
  };
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(view))
    return reassociate(expand.getReassociationIndices(), expand.getResultType());
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view))
    return reassociate(collapse.getReassociationIndices(), collapse.getSrcType());
  return false;
}

/// The value that a kernel takes for `memref`: the nearest value behind foldable views that has the identity layout.
Value argumentFor(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    bool identity = cast<MemRefType>(memref.getType()).getLayout().isIdentity();
    if (!isa<ViewLikeOpInterface>(op) || (identity && !isFoldable(op)))
      break;
    memref = cast<ViewLikeOpInterface>(op).getViewSource();
  }
  return memref;
}

/// Whether `global` has contents that are worth to be packed once.
bool isLargeConstant(memref::GlobalOp global) {
  auto contents = global ? dyn_cast_or_null<ElementsAttr>(global.getConstantInitValue()) : ElementsAttr();
  return contents && !contents.isSplat() && contents.getElementType().isIntOrFloat() &&
         global.getType().getNumElements() * tilewright::elementBytes(global.getType().getElementType()) >=
             int64_t(tilewright::largeConstantBytes);
}

/// Whether `value` is the same in many calls of the public function `host`: a constant argument, a large constant of a
/// module that folds these, or a view of one that no number of the function chooses.
bool isConstantArray(Value value, func::FuncOp host, const SymbolTable &symbols) {
  auto isNumber = [](Value operand) { return matchPattern(operand, m_Constant()); };
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>()) {
    if (!llvm::all_of(view->getOperands(), [&](Value each) { return each == view.getViewSource() || isNumber(each); }))
      return false;
    value = view.getViewSource();
  }
  if (!host.isPublic())
    return false;
  if (auto global = value.getDefiningOp<memref::GetGlobalOp>())
    return tilewright::foldsConstants(host->getParentOp()) &&
           isLargeConstant(symbols.lookup<memref::GlobalOp>(global.getName()));
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &host.front() &&
         host.getArgAttr(argument.getArgNumber(), tilewright::constantAttr);
}

/// What one operation of a sequence reads and writes, as kernel arguments.
struct Footprint {
  llvm::SmallSetVector<Value, 4> reads, writes;
};

Footprint footprintOf(Operation *op) {
  Footprint result;
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    result.reads.insert(argumentFor(copy.getSource()));
    result.writes.insert(argumentFor(copy.getTarget()));
    return result;
  }
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()))
        (structured.isDpsInit(&operand) ? result.writes : result.reads).insert(argumentFor(operand.get()));
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      if (isa<MemRefType>(value.getType()))
        result.reads.insert(argumentFor(value));
    return result;
  }
  op->walk([&](Operation *inner) {
    if (auto load = dyn_cast<affine::AffineLoadOp>(inner))
      result.reads.insert(argumentFor(load.getMemRef()));
    if (auto store = dyn_cast<affine::AffineStoreOp>(inner))
      result.writes.insert(argumentFor(store.getMemRef()));
  });
  return result;
}

/// A sequence under construction.
struct Group {
  SmallVector<Operation *> ops;
  llvm::SmallSetVector<Value, 8> reads, writes;
  SmallVector<Value> views; // of both, what may be other names of one buffer
  bool opaque = false;
};

class Outliner {
public:
  Outliner(func::FuncOp host, SymbolTable &symbols) : host(host), symbols(symbols), origins(host) {}

  void run() {
    SmallVector<Block *> blocks;
    collectBlocks(host.getBody(), blocks);
    for (Block *block : blocks)
      processBlock(block);
  }

private:
  /// Blocks of the host's control flow, outermost first; not those of nests.
  static void collectBlocks(Region &region, SmallVector<Block *> &blocks) {
    for (Block &block : region) {
      blocks.push_back(&block);
      for (Operation &op : block)
        if (!isa<linalg::LinalgOp>(op) && classify(&op) == Kind::Barrier)
          for (Region &inner : op.getRegions())
            collectBlocks(inner, blocks);
    }
  }

  /// Whether `value`, written or read only, together with `group` would pass two aliasing memrefs of which one is
  /// written.
  bool conflicts(const Group &group, Value value, bool isWritten) {
    auto clash = [&](Value other) {
      return other != value && (group.writes.contains(other) || (isWritten && group.reads.contains(other))) &&
             origins.mayAlias(value, other);
    };
    if (origins.isOnlyOrigin(value))
      return llvm::any_of(group.views, clash);
    return llvm::any_of(group.writes, clash) || llvm::any_of(group.reads, clash);
  }
  bool conflicts(const Group &group, const Footprint &footprint) {
    return llvm::any_of(footprint.writes, [&](Value written) { return conflicts(group, written, true); }) ||
           llvm::any_of(footprint.reads, [&](Value read) { return conflicts(group, read, false); });
  }

  void add(Group &group, const Footprint &footprint) {
    for (const auto *values : {&footprint.reads, &footprint.writes})
      for (Value value : *values)
        if (!origins.isOnlyOrigin(value) && !group.reads.contains(value) && !group.writes.contains(value))
          group.views.push_back(value);
    group.reads.insert_range(footprint.reads);
    group.writes.insert_range(footprint.writes);
  }

  /// Whether one operation alone uses two views of one written buffer.
  bool conflictsWithItself(const Footprint &footprint) {
    Group alone;
    add(alone, footprint);
    return conflicts(alone, footprint);
  }

  /// Gives `op` copies of the operands that it reads from buffers which it also writes through another view.
  /// Returns the copies, which go into the sequence before it; failure if `op` is not of a kind that allows it.
  FailureOr<SmallVector<Operation *>> separate(Operation *op) {
    SmallVector<OpOperand *> reads;
    llvm::SmallSetVector<Value, 4> writes;
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      reads.push_back(&op->getOpOperand(0));
      writes.insert(argumentFor(copy.getTarget()));
    } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      for (OpOperand &operand : op->getOpOperands())
        if (isa<MemRefType>(operand.get().getType())) {
          if (structured.isDpsInit(&operand))
            writes.insert(argumentFor(operand.get()));
          else
            reads.push_back(&operand);
        }
    } else {
      return failure();
    }
    SmallVector<Operation *> copies;
    OpBuilder b(op);
    for (OpOperand *read : reads) {
      Value argument = argumentFor(read->get());
      if (llvm::none_of(writes, [&](Value w) { return w != argument && origins.mayAlias(w, argument); }))
        continue;
      auto type = cast<MemRefType>(read->get().getType());
      SmallVector<Value> sizes;
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (type.isDynamicDim(dim))
          sizes.push_back(memref::DimOp::create(b, op->getLoc(), read->get(), dim));
      Value fresh =
          memref::AllocOp::create(b, op->getLoc(), MemRefType::get(type.getShape(), type.getElementType()), sizes);
      copies.push_back(memref::CopyOp::create(b, op->getLoc(), read->get(), fresh));
      read->set(fresh);
    }
    return copies;
  }

  void processBlock(Block *block) {
    Group group;
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      Kind kind = classify(&op);
      if (kind == Kind::Neutral)
        continue;
      if (kind == Kind::Barrier) {
        flush(group);
        continue;
      }
      if (kind == Kind::Nest && conflictsWithItself(footprintOf(&op))) {
        FailureOr<SmallVector<Operation *>> copies = separate(&op);
        if (succeeded(copies))
          for (Operation *copy : *copies)
            append(group, copy, false);
        if (failed(copies) || conflictsWithItself(footprintOf(&op)))
          kind = Kind::Opaque;
      }
      append(group, &op, kind == Kind::Opaque);
    }
    flush(group);
  }

  /// Takes the last operations out of `group` that only fill what the operation with `footprint` updates: a reduction
  /// and the fill of its result are one kernel.
  SmallVector<Operation *> takeFills(Group &group, const Footprint &footprint) {
    SmallVector<Operation *> fills;
    while (group.ops.size() > 1) {
      Footprint own = footprintOf(group.ops.back());
      auto used = [&](Value written) {
        auto uses = [&](Operation *op) {
          Footprint other = footprintOf(op);
          return other.reads.contains(written) || other.writes.contains(written);
        };
        return !footprint.writes.contains(written) || llvm::any_of(llvm::drop_end(group.ops), uses);
      };
      if (!own.reads.empty() || llvm::any_of(own.writes, used))
        break;
      fills.push_back(group.ops.pop_back_val());
      for (Value written : own.writes)
        group.writes.remove(written);
    }
    std::reverse(fills.begin(), fills.end());
    return fills;
  }

  void append(Group &group, Operation *op, bool opaque) {
    Footprint footprint = footprintOf(op);
    if (opaque || group.opaque || conflicts(group, footprint)) {
      SmallVector<Operation *> fills =
          opaque || group.opaque ? SmallVector<Operation *>() : takeFills(group, footprint);
      flush(group);
      for (Operation *fill : fills)
        append(group, fill, false);
    }
    group.opaque = opaque;
    group.ops.push_back(op);
    add(group, footprint);
  }

  /// Makes the kernel of `group` and its call, and empties it.
  void flush(Group &group) {
    if (!group.ops.empty())
      outline(group);
    group = Group();
  }

  /// Whether the kernel makes its own copy of the operation that defines `value`.
  bool isCloned(Value value, const Group &group) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (op->hasTrait<OpTrait::ConstantLike>())
      return true;
    if (isa<MemRefType>(value.getType()) && isa<ViewLikeOpInterface>(op))
      return argumentFor(value) != value;
    return false;
  }

  /// Allocations of this block whose every use is inside `group`, seen through views that the kernel clones.
  bool isPrivate(memref::AllocOp alloc, const Group &group, const llvm::SmallPtrSetImpl<Operation *> &members) {
    if (alloc->getBlock() != group.ops.front()->getBlock())
      return false;
    SmallVector<Operation *> worklist{alloc};
    while (!worklist.empty()) {
      for (Operation *user : worklist.pop_back_val()->getUsers()) {
        Operation *top = alloc->getBlock()->findAncestorOpInBlock(*user);
        if (top && members.contains(top))
          continue;
        if (!isa<ViewLikeOpInterface>(user) || user->getNumResults() != 1 || user->getBlock() != alloc->getBlock() ||
            argumentFor(user->getResult(0)) != alloc.getResult())
          return false;
        worklist.push_back(user);
      }
    }
    return true;
  }

  void outline(Group &group) {
    llvm::SmallPtrSet<Operation *, 8> members(group.ops.begin(), group.ops.end());
    // Values that the kernel needs, in the order of their first use; operations that it clones, in order.
    llvm::SmallSetVector<Value, 16> arguments;
    llvm::SetVector<Operation *> cloned;
    SmallVector<memref::AllocOp> allocations;
    std::function<void(Value)> need = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (op && cloned.contains(op))
        return;
      if (auto alloc = value.getDefiningOp<memref::AllocOp>(); alloc && isPrivate(alloc, group, members)) {
        for (Value size : alloc.getDynamicSizes())
          need(size);
        cloned.insert(alloc);
        allocations.push_back(alloc);
      } else if (isCloned(value, group)) {
        for (Value operand : op->getOperands())
          need(operand);
        cloned.insert(op);
      } else {
        arguments.insert(value);
      }
    };
    for (Operation *op : group.ops) {
      for (Value operand : op->getOperands())
        need(operand);
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(op->getRegions(), captured);
      for (Value value : captured)
        need(value);
    }

    // Memrefs first, then numbers, sizes and indices last.
    SmallVector<Value> ordered(arguments.begin(), arguments.end());
    auto rank = [](Value v) { return isa<MemRefType>(v.getType()) ? 0 : v.getType().isIndex() ? 2 : 1; };
    llvm::stable_sort(ordered, [&](Value a, Value b) { return rank(a) < rank(b); });

    Location loc = group.ops.front()->getLoc();
    OpBuilder b(host);
    SmallVector<Type> types = llvm::to_vector(ValueRange(ordered).getTypes());
    std::string name = (host.getName() + "_kernel_" + std::to_string(count++)).str();
    auto kernel = func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
    kernel.setPrivate();
    kernel->setAttr(group.opaque ? tilewright::opaqueAttr : tilewright::kernelAttr, b.getUnitAttr());
    if (group.opaque && !conflictsWithItself(footprintOf(group.ops.front())))
      kernel->setAttr(tilewright::apartAttr, b.getUnitAttr());
    for (auto [position, value] : llvm::enumerate(ordered)) {
      if (isConstantArray(value, host, symbols))
        kernel.setArgAttr(position, tilewright::constantAttr, b.getUnitAttr());
      if (tilewright::isPromised(value, tilewright::ascendingAttr))
        kernel.setArgAttr(position, tilewright::ascendingAttr, b.getUnitAttr());
    }
    symbols.insert(kernel, std::next(host->getIterator()));

    Block *body = kernel.addEntryBlock();
    b.setInsertionPointToStart(body);
    IRMapping mapping;
    mapping.map(ordered, body->getArguments());
    for (Operation *op : cloned)
      b.clone(*op, mapping);
    for (Operation *op : group.ops) {
      if (auto copy = dyn_cast<memref::CopyOp>(op))
        linalg::CopyOp::create(b, copy.getLoc(), mapping.lookup(copy.getSource()), mapping.lookup(copy.getTarget()));
      else
        b.clone(*op, mapping);
    }
    func::ReturnOp::create(b, loc);

    b.setInsertionPointAfter(group.ops.back());
    func::CallOp::create(b, loc, kernel, ordered);
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
    for (Operation *op : llvm::reverse(cloned.getArrayRef()))
      if (op->use_empty())
        op->erase();
  }

  func::FuncOp host;
  SymbolTable &symbols;
  BufferOrigins origins;
  unsigned count = 0;
};

struct OutlineKernels : tilewright::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> hosts;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(tilewright::kernelAttr) &&
          !function->hasAttr(tilewright::opaqueAttr))
        hosts.push_back(function);
    for (func::FuncOp host : hosts)
      Outliner(host, symbols).run();
  }
};

} // namespace
