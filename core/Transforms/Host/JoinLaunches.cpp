//===- JoinLaunches.cpp - Equal grids are one launch ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Grids that do the same with other arrays, none of which needs another one's
/// results, become one with so many times the blocks:
///
///   tile.parallel (%i, %j) to (2, 16) level "grid" { q[%i, %j] = f(x, wq) }
///   tile.parallel (%i, %j) to (2, 16) level "grid" { k[%i, %j] = f(x, wk) }
///   ->
///   tile.parallel (%n, %i, %j) to (2, 2, 16) level "grid" {
///     %w = arith.select %n == 0, wq, wk;  %r = arith.select %n == 0, q, k
///     %r[%i, %j] = f(x, %w)
///   }
///
/// It costs nothing: blocks are the same, and what a launch takes and the blocks of
/// an incomplete round are there once. So no model is asked.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Buffers.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Time/JoinedLaunches.h"
#include "core/Runtime/C/Limits.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/Residency.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {
#define GEN_PASS_DEF_JOINLAUNCHES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Grids that are looked at before one: more are looked at in vain.
static constexpr size_t mostGridsBefore = 16;

/// Indices of a grid that devices have.
static constexpr unsigned mostDimensions = 3;

namespace {

/// Arrays that a grid touches, by what the host calls them.
struct Touched {
  llvm::SetVector<Value> all, written;
  bool isKnown = true;
};

/// A grid, or several that become one, next to each other in their block.
struct Group {
  SmallVector<tile::ParallelOp> grids;
  SmallVector<Touched> touched;
  SmallVector<Value> captured;            // of the first one
  SmallVector<SmallVector<Value>> others; // what each later one has in their place
  llvm::hash_code hash;
};

} // namespace

static Touched touchedBy(tile::ParallelOp grid) {
  Touched touched;
  grid.walk([&](Operation *op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects) {
      touched.isKnown &= isMemoryEffectFree(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
      return;
    }
    for (Value operand : op->getOperands()) {
      if (!isa<BaseMemRefType>(operand.getType()))
        continue;
      Value array = behindViewsIn(grid, operand);
      if (grid->isAncestor(array.getParentRegion()->getParentOp())) {
        touched.isKnown &= array.getDefiningOp<tile::AllocOp>() || array.getDefiningOp<memref::AllocOp>() ||
                           array.getDefiningOp<memref::AllocaOp>();
        continue;
      }
      touched.all.insert(array);
      if (effects.getEffectOnValue<MemoryEffects::Write>(operand))
        touched.written.insert(array);
    }
  });
  return touched;
}

/// Whether what either writes is nothing that the other one touches.
static bool areApart(const Touched &a, const Touched &b, const BufferOrigins &origins) {
  auto meets = [&](const llvm::SetVector<Value> &written, const llvm::SetVector<Value> &all) {
    return llvm::any_of(written,
                        [&](Value x) { return llvm::any_of(all, [&](Value y) { return origins.mayAlias(x, y); }); });
  };
  return a.isKnown && b.isKnown && !meets(a.written, b.all) && !meets(b.written, a.all);
}

static llvm::hash_code hashOf(tile::ParallelOp grid) {
  llvm::hash_code hash(0);
  grid->walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                                      OperationEquivalence::ignoreHashValue,
                                                                      OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

/// Whether `b` does what `a` does, with the values `others` in the place of `captured`. These are arrays, for which a
/// launch may choose; all other values are the same.
static bool areEqual(tile::ParallelOp a, ArrayRef<Value> captured, tile::ParallelOp b, SmallVectorImpl<Value> &others) {
  if (a->getAttrDictionary() != b->getAttrDictionary() || a.getBoundOperands() != b.getBoundOperands())
    return false;
  llvm::DenseMap<Value, Value> found;
  auto isOutside = [](Value value, tile::ParallelOp grid) {
    return !grid->isAncestor(value.getParentRegion()->getParentOp());
  };
  auto check = [&](Value x, Value y) -> LogicalResult {
    auto known = found.find(x);
    if (known != found.end())
      return success(known->second == y);
    if (!isOutside(x, a) || !isOutside(y, b) ||
        (x != y && (!isa<MemRefType>(x.getType()) || x.getType() != y.getType())))
      return failure();
    found[x] = y;
    return success();
  };
  auto mark = [&](Value x, Value y) { found[x] = y; };
  if (!OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), check, mark,
                                                  OperationEquivalence::IgnoreLocations))
    return false;
  // The comparison says nothing of values that are the same: where one stands for another one somewhere, it must do so
  // everywhere.
  for (Value value : captured) {
    Value other = found.lookup(value);
    if (other && other != value && llvm::any_of(value.getUsers(), [&](Operation *user) { return b->isAncestor(user); }))
      return false;
    others.push_back(other ? other : value);
  }
  return true;
}

/// Moves `grid` with what it needs behind `last`; false, and nothing is moved, where that needs what memory holds then.
static bool moveBehind(tile::ParallelOp grid, tile::ParallelOp last, ArrayRef<Value> needed) {
  llvm::SetVector<Operation *> defs;
  SmallVector<Value> open(needed);
  while (!open.empty()) {
    Operation *def = open.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != last->getBlock() || def->isBeforeInBlock(last) || !defs.insert(def))
      continue;
    if (def->getNumRegions() || !(isa<memref::AllocOp>(def) || isMemoryEffectFree(def)))
      return false;
    llvm::append_range(open, def->getOperands());
  }
  SmallVector<Operation *> inOrder(defs.begin(), defs.end());
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *def : inOrder)
    def->moveBefore(last);
  grid->moveAfter(last);
  return true;
}

/// The modelled seconds of `count` grids as one, from those of each.
static FloatAttr secondsTogether(tile::ParallelOp grid, int64_t count, const TargetDescription &chip) {
  auto seconds = grid->getAttrOfType<FloatAttr>(secondsAttr);
  auto residency = grid->getAttrOfType<IntegerAttr>(residencyAttr);
  if (!seconds)
    return {};
  std::optional<int64_t> blocks = 1;
  for (AffineExpr bound : grid.getUpperBounds().getResults()) {
    auto number = dyn_cast<AffineConstantExpr>(bound);
    blocks = blocks && number ? std::optional(*blocks * number.getValue()) : std::nullopt;
  }
  double apart = seconds.getValueAsDouble();
  double together =
      secondsOfJoined(chip, apart, count, blocks, residency ? std::optional(residency.getInt()) : std::nullopt);
  return FloatAttr::get(seconds.getType(), together);
}

/// Which of the arrays `all` a block takes: the first one whose condition of `isIt` holds, or the last one.
static Value choose(OpBuilder &builder, Location loc, ArrayRef<Value> isIt, ArrayRef<Value> all) {
  Value chosen = all.back();
  for (size_t i = isIt.size(); i-- > 0;)
    if (all[i] != chosen)
      chosen = arith::SelectOp::create(builder, loc, isIt[i], all[i], chosen);
  return chosen;
}

/// Makes one grid of a group; the number of the one that a block belongs to is its first index, or a part of it.
static void join(const Group &group, const TargetDescription &chip) {
  tile::ParallelOp first = group.grids.front();
  const int64_t count = group.grids.size();
  Location loc = first.getLoc();
  OpBuilder builder(group.grids.back()); // all that any of them needs is there
  AffineMap map = first.getUpperBounds();
  SmallVector<AffineExpr> bounds(map.getResults());
  const bool hasRoom = bounds.size() < mostDimensions;
  if (hasRoom)
    bounds.insert(bounds.begin(), builder.getAffineConstantExpr(count));
  else
    bounds.front() = bounds.front() * count;
  auto joined = tile::ParallelOp::create(
      builder, loc, AffineMap::get(map.getNumDims(), map.getNumSymbols(), bounds, builder.getContext()),
      first.getBoundOperands(), first.getLevel());
  joined->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  if (FloatAttr seconds = secondsTogether(first, count, chip))
    joined->setAttr(secondsAttr, seconds);
  Block &from = first.getBody().front(), &to = joined.getBody().front();
  builder.setInsertionPointToStart(&to);
  SmallVector<Value> indices(to.getArguments().take_back(from.getNumArguments()));
  Value number = to.getArgument(0);
  if (!hasRoom) {
    int64_t extent = cast<AffineConstantExpr>(map.getResult(0)).getValue();
    Value size = arith::ConstantIndexOp::create(builder, loc, extent);
    indices.front() = arith::RemUIOp::create(builder, loc, number, size);
    number = arith::DivUIOp::create(builder, loc, number, size);
  }
  for (auto [argument, index] : llvm::zip(from.getArguments(), indices))
    argument.replaceAllUsesWith(index);
  SmallVector<Value> isIt;
  for (int64_t i = 0; i + 1 < count; ++i) {
    Value index = arith::ConstantIndexOp::create(builder, loc, i);
    isIt.push_back(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, number, index));
  }
  for (size_t i = 0; i < group.captured.size(); ++i) {
    Value value = group.captured[i];
    SmallVector<Value> all{value};
    for (const auto &others : group.others)
      all.push_back(others[i]);
    if (!isa<MemRefType>(value.getType()) || llvm::all_equal(all))
      continue;
    Value chosen = choose(builder, loc, isIt, all);
    value.replaceUsesWithIf(chosen, [&](OpOperand &use) { return first->isProperAncestor(use.getOwner()); });
  }
  to.getOperations().splice(to.getTerminator()->getIterator(), from.getOperations(), from.begin(),
                            from.getTerminator()->getIterator());
  for (tile::ParallelOp grid : group.grids)
    grid.erase();
}

namespace {
struct JoinLaunches : tilewright::impl::JoinLaunchesBase<JoinLaunches> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<LaunchTarget> target = requireLanes(module);
    if (failed(target))
      return signalPassFailure();
    for (func::FuncOp function : publicFunctions(module)) {
      BufferOrigins origins(function);
      SmallVector<Block *> blocks;
      function.walk([&](Block *block) {
        if (!block->getParent()->getParentOfType<tile::ParallelOp>() && !isa<tile::ParallelOp>(block->getParentOp()))
          blocks.push_back(block);
      });
      for (Block *block : blocks)
        joinIn(*block, target->hierarchy, *target->chip, origins);
    }
  }

  /// Whether devices start so many times the blocks of `grid` at once.
  static bool hasRoomFor(tile::ParallelOp grid, size_t count) {
    AffineMap bounds = grid.getUpperBounds();
    if (bounds.getNumResults() < mostDimensions)
      return count <= TW_MAX_BLOCKS_YZ;
    auto first = dyn_cast<AffineConstantExpr>(bounds.getResult(0));
    return first && int64_t(count) * first.getValue() <= TW_MAX_BLOCKS_YZ;
  }

  static void joinIn(Block &block, const LaneHierarchy &hierarchy, const TargetDescription &chip,
                     const BufferOrigins &origins) {
    std::vector<Group> groups; // since what no grid may move past
    std::vector<Group> joined;
    auto finish = [&] {
      for (Group &group : groups)
        if (group.grids.size() > 1)
          joined.push_back(std::move(group));
      groups.clear();
    };
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto grid = dyn_cast<tile::ParallelOp>(op);
      if (!grid || grid.getLevel() != hierarchy.grid) {
        if (!isa<memref::AllocOp, memref::DeallocOp>(op) && !isMemoryEffectFree(&op))
          finish();
        continue;
      }
      Group own{{grid}, {touchedBy(grid)}, {}, {}, hashOf(grid)};
      if (!addTo(groups, own, origins)) {
        llvm::SetVector<Value> captured;
        getUsedValuesDefinedAbove(grid->getRegions(), captured);
        own.captured = captured.takeVector();
        groups.push_back(std::move(own));
      }
    }
    finish();
    for (const Group &group : joined)
      join(group, chip);
  }

  /// Adds the grid of `own`, which comes after all of `groups`, to one of them and moves it there.
  static bool addTo(MutableArrayRef<Group> groups, const Group &own, const BufferOrigins &origins) {
    tile::ParallelOp grid = own.grids.front();
    const size_t first = groups.size() - std::min(groups.size(), mostGridsBefore);
    for (size_t i = groups.size(); i-- > first;) {
      Group &group = groups[i];
      SmallVector<Value> others;
      if (!llvm::all_of(group.touched,
                        [&](const Touched &each) { return areApart(each, own.touched.front(), origins); }))
        return false; // nor does it move past this one
      if (group.hash != own.hash || !hasRoomFor(grid, group.grids.size() + 1) ||
          !areEqual(group.grids.front(), group.captured, grid, others) || !moveBehind(grid, group.grids.back(), others))
        continue;
      group.grids.push_back(grid);
      group.touched.push_back(own.touched.front());
      group.others.push_back(std::move(others));
      return true;
    }
    return false;
  }
};
} // namespace
