//===- FuseNests.cpp - Fuse nests into fused row-wise reductions ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Merges loops of one block from the outside in, then makes memory of what the
// merged loops hand to each other as small as it can be: a forwarded value, a
// scalar, a row. Softmax, layer normalisation and any chain of row reductions
// and maps become one loop over rows this way.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_FUSENESTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

//===----------------------------------------------------------------------===//
// Merging loops
//===----------------------------------------------------------------------===//

/// Whether `op`, no access, has effects of its own.
bool isUnknown(Operation *op) {
  return !isa<AffineForOp, memref::AllocOp, memref::AllocaOp>(op) && !isMemoryEffectFree(op);
}

/// What an operation with everything below it touches.
struct Effects {
  llvm::SmallDenseSet<Value> reads, writes;
  llvm::SmallDenseSet<Operation *> uses; // of its block that give its operands
  bool unknown = false;

  Effects() = default;
  explicit Effects(Operation *root) {
    root->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == root->getBlock())
          uses.insert(def);
      if (auto load = dyn_cast<AffineLoadOp>(op))
        reads.insert(load.getMemRef());
      else if (auto store = dyn_cast<AffineStoreOp>(op))
        writes.insert(store.getMemRef());
      else
        unknown |= isUnknown(op);
    });
  }

  void add(const Effects &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    uses.insert(other.uses.begin(), other.uses.end());
    unknown |= other.unknown;
  }
};

bool intersects(const llvm::SmallDenseSet<Value> &a, const llvm::SmallDenseSet<Value> &b) {
  return llvm::any_of(a, [&](Value value) { return b.contains(value); });
}

/// Whether `op`, which has the effects `own`, must stay before operations with the effects `later`.
bool isNeeded(Operation *op, const Effects &own, const Effects &later) {
  return own.unknown || later.unknown || intersects(own.writes, later.writes) || intersects(own.writes, later.reads) ||
         intersects(own.reads, later.writes) || later.uses.contains(op);
}

/// Whether both touch one memref: only then merging saves anything.
bool shareData(const Effects &a, const Effects &b) {
  return intersects(a.reads, b.reads) || intersects(a.writes, b.reads) || intersects(a.reads, b.writes) ||
         intersects(a.writes, b.writes);
}

/// Merges the loops of one block.
class LoopMerger {
public:
  explicit LoopMerger(Block &block) : block(block) {}

  /// Nearest first, then those inside them. A loop that grew may share data with one that it had nothing to do with
  /// before (an initialisation takes in its reduction), hence the repetition.
  void run() {
    for (auto loop : block.getOps<AffineForOp>())
      noteFirst(loop, effectsOf(loop));
    for (bool changed = true; changed;) {
      changed = false;
      for (auto loop : llvm::make_early_inc_range(block.getOps<AffineForOp>()))
        changed |= mergeIntoEarlier(loop);
    }
    for (auto loop : block.getOps<AffineForOp>())
      LoopMerger(*loop.getBody()).run();
    for (auto level : block.getOps<tile::ParallelOp>())
      if (level.getScheduleAttr()) // tiles of nests that are no code yet
        LoopMerger(level.getBody().front()).run();
  }

private:
  const Effects &effectsOf(Operation *op) {
    std::unique_ptr<Effects> &effects = known[op];
    if (!effects)
      effects = std::make_unique<Effects>(op);
    return *effects;
  }

  /// A loop of plain accesses stays one when another is merged into it; null: it is none.
  IterationAccesses *accessesOf(AffineForOp loop) {
    std::unique_ptr<std::optional<IterationAccesses>> &accesses = plain[loop];
    if (!accesses)
      accesses = std::make_unique<std::optional<IterationAccesses>>(IterationAccesses::ofPlain(loop));
    return *accesses ? &**accesses : nullptr;
  }

  bool mayMerge(AffineForOp p, AffineForOp q) {
    if (!equalTripCounts(p, q))
      return false;
    const IterationAccesses *ofP = accessesOf(p), *ofQ = accessesOf(q);
    return ofP && ofQ && !ofP->meetInOtherIterations(*ofQ);
  }

  /// Tells that `loop` touches what `effects` has, and stands where it does.
  void noteFirst(Operation *loop, const Effects &effects) {
    for (Value memref : llvm::concat<const Value>(effects.reads, effects.writes))
      if (Operation *&first = firstOf[memref]; !first || loop->isBeforeInBlock(first))
        first = loop;
  }

  /// The first loop before `q` that touches a memref of `own`; null: there is none.
  Operation *firstSharing(AffineForOp q, const Effects &own) {
    Operation *first = q;
    for (Value memref : llvm::concat<const Value>(own.reads, own.writes))
      if (Operation *loop = firstOf.lookup(memref); loop && loop->isBeforeInBlock(first))
        first = loop;
    return first == q ? nullptr : first;
  }

  /// Merges `q` into the nearest loop before it that the operations between allow: those that `q` needs must be
  /// movable in front of that loop, all others stay behind the merged one.
  bool mergeIntoEarlier(AffineForOp q) {
    const Effects &own = effectsOf(q);
    Operation *first = firstSharing(q, own);
    if (!first)
      return false;
    SmallVector<Operation *> needed;
    Effects ofNeeded;
    for (Operation *op = q->getPrevNode(); op; op = op->getPrevNode()) {
      const Effects &effects = effectsOf(op);
      bool isBefore = !needed.empty() && isNeeded(op, effects, ofNeeded);
      if (auto p = dyn_cast<AffineForOp>(op); p && !isBefore && shareData(effects, own) && mayMerge(p, q)) {
        merge(p, q, needed);
        return true;
      }
      if (op == first)
        return false;
      if (!isBefore && !isNeeded(op, effects, own))
        continue;
      needed.push_back(op);
      ofNeeded.add(effects);
    }
    return false;
  }

  void merge(AffineForOp p, AffineForOp q, ArrayRef<Operation *> needed) {
    for (Operation *op : llvm::reverse(needed)) {
      op->moveBefore(p);
      if (isa<AffineForOp>(op))
        noteFirst(op, *known[op]);
    }
    Operation *terminator = p.getBody()->getTerminator();
    q.getInductionVar().replaceAllUsesWith(p.getInductionVar());
    terminator->getBlock()->getOperations().splice(terminator->getIterator(), q.getBody()->getOperations(),
                                                   q.getBody()->begin(), std::prev(q.getBody()->end()));
    known[p]->add(*known[q]);
    accessesOf(p)->add(*accessesOf(q));
    noteFirst(p, *known[q]);
    known.erase(q);
    plain.erase(q);
    q.erase();
  }

  Block &block;
  llvm::DenseMap<Operation *, std::unique_ptr<Effects>> known;
  llvm::DenseMap<Operation *, std::unique_ptr<std::optional<IterationAccesses>>> plain;
  llvm::DenseMap<Value, Operation *> firstOf; // loop of the block that touches a memref
};

//===----------------------------------------------------------------------===//
// Smaller memory
//===----------------------------------------------------------------------===//

/// Whether both accesses name the same element (same map, same operands).
bool sameElement(Operation *a, Operation *b) {
  LinearAccess left = linearAccess(a), right = linearAccess(b);
  if (left.memref != right.memref)
    return false;
  for (auto [l, r] : llvm::zip_equal(left.indices, right.indices)) {
    if (!l || !r || l->constant != r->constant)
      return false;
    for (auto [value, factor] : l->terms)
      if (r->coefficient(value) != factor)
        return false;
    for (auto [value, factor] : r->terms)
      if (l->coefficient(value) != factor)
        return false;
  }
  return true;
}

bool mayTouch(Operation *root, Value memref, bool onlyWrites) {
  return root
      ->walk([&](Operation *op) {
        if (auto load = dyn_cast<AffineLoadOp>(op))
          return WalkResult(!onlyWrites && load.getMemRef() == memref ? WalkResult::interrupt()
                                                                      : WalkResult::advance());
        if (auto store = dyn_cast<AffineStoreOp>(op))
          return WalkResult(store.getMemRef() == memref ? WalkResult::interrupt() : WalkResult::advance());
        return isUnknown(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Replaces loads by the value that the same block stored or loaded before, and drops stores that the same block
/// overwrites unread.
void forward(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        forward(inner);
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      for (Operation *before = op.getPrevNode(); before; before = before->getPrevNode()) {
        if (isa<AffineStoreOp, AffineLoadOp>(before) && sameElement(before, load)) {
          auto store = dyn_cast<AffineStoreOp>(before);
          load.getResult().replaceAllUsesWith(store ? store.getValueToStore() : before->getResult(0));
          load.erase();
          break;
        }
        if (mayTouch(before, load.getMemRef(), /*onlyWrites=*/true))
          break;
      }
    } else if (auto store = dyn_cast<AffineStoreOp>(op)) {
      for (Operation *before = op.getPrevNode(); before; before = before->getPrevNode()) {
        if (isa<AffineStoreOp>(before) && sameElement(before, store)) {
          before->erase();
          break;
        }
        if (mayTouch(before, store.getMemRef(), /*onlyWrites=*/false))
          break;
      }
    }
  }
}

/// Whether all uses of the buffer are scalar affine accesses or deallocations.
bool onlyAffineUses(memref::AllocOp buffer) {
  return llvm::all_of(buffer->getUsers(), [&](Operation *user) {
    auto store = dyn_cast<AffineStoreOp>(user);
    return isa<AffineLoadOp, memref::DeallocOp>(user) || (store && store.getValueToStore() != buffer.getResult());
  });
}

/// Erases a buffer that is only written.
bool eraseUnread(memref::AllocOp buffer) {
  if (!onlyAffineUses(buffer) ||
      llvm::any_of(buffer->getUsers(), [](Operation *user) { return isa<AffineLoadOp>(user); }))
    return false;
  for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
    user->erase();
  buffer.erase();
  return true;
}

/// The innermost loop around all `ops`, null if they share none.
AffineForOp commonLoop(ArrayRef<Operation *> ops) {
  auto candidate = ops.front()->getParentOfType<AffineForOp>();
  while (candidate && !llvm::all_of(ops, [&](Operation *op) { return candidate->isProperAncestor(op); }))
    candidate = candidate->getParentOfType<AffineForOp>();
  return candidate;
}

/// A buffer whose every access lies in one loop and is indexed by that loop in one dimension hands nothing from one
/// iteration to another: it moves into the loop and loses the dimension. Likewise for the loops around it.
bool shrink(memref::AllocOp buffer) {
  MemRefType type = buffer.getType();
  if (!onlyAffineUses(buffer) || !type.getLayout().isIdentity())
    return false;
  SmallVector<Operation *> accesses;
  for (Operation *user : buffer->getUsers())
    if (!isa<memref::DeallocOp>(user))
      accesses.push_back(user);
  if (accesses.empty())
    return false;
  AffineForOp inner = commonLoop(accesses);
  if (!inner || inner->isProperAncestor(buffer))
    return false;
  SmallVector<AffineForOp> loops; // innermost first
  for (AffineForOp loop = inner; loop && !loop->isProperAncestor(buffer); loop = loop->getParentOfType<AffineForOp>())
    loops.push_back(loop);
  // From the outside in: a loop that does not index the buffer may carry a value, and ends the search.
  llvm::SmallBitVector dropped(type.getRank());
  AffineForOp home;
  for (AffineForOp loop : llvm::reverse(loops)) {
    auto isIndexed = [&](int64_t dim) {
      return !dropped.test(dim) && llvm::all_of(accesses, [&](Operation *op) {
        auto index = linearAccess(op).indices[dim];
        return index && index->constant == 0 && index->terms.size() == 1 &&
               index->terms[0] == std::pair<Value, int64_t>(loop.getInductionVar(), 1);
      });
    };
    auto dim = llvm::find_if(llvm::seq<int64_t>(0, type.getRank()), isIndexed);
    if (dim == llvm::seq<int64_t>(0, type.getRank()).end())
      break;
    dropped.set(*dim);
    home = loop;
  }
  if (!home)
    return false;

  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  unsigned dynamic = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isDynamic = type.isDynamicDim(dim);
    if (!dropped.test(dim)) {
      shape.push_back(type.getDimSize(dim));
      if (isDynamic)
        sizes.push_back(buffer.getDynamicSizes()[dynamic]);
    }
    dynamic += isDynamic;
  }
  OpBuilder b = OpBuilder::atBlockBegin(home.getBody());
  Value smaller = memref::AllocOp::create(
      b, buffer.getLoc(), MemRefType::get(shape, type.getElementType(), AffineMap(), type.getMemorySpace()), sizes,
      buffer.getAlignmentAttr());
  for (Operation *op : accesses) {
    AffineAccess access = affineAccess(op);
    moveAccess(op, smaller, access.map.dropResults(dropped), access.operands);
  }
  for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
    user->erase();
  buffer.erase();
  return true;
}

struct FuseNests : tilewright::impl::FuseNestsBase<FuseNests> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    // A loop that runs once hides that its neighbours match.
    function.walk([](AffineForOp loop) {
      if (!loop->hasAttr(tile::stagesAttr)) // pipeline-tiles takes it apart
        (void)promoteIfSingleIteration(loop);
    });
    for (Block &block : function.getBody())
      LoopMerger(block).run();
    for (Block &block : function.getBody())
      forward(block);
    SmallVector<memref::AllocOp> buffers;
    function.walk([&](memref::AllocOp buffer) { buffers.push_back(buffer); });
    // A buffer read only by a dead chain of others needs a second look, so the last goes first.
    for (memref::AllocOp buffer : llvm::reverse(buffers))
      if (!eraseUnread(buffer))
        shrink(buffer);
  }
};

} // namespace
