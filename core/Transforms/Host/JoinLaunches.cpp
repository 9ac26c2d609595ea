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
/// Constants that are places in arrays, or numbers to compute with, are chosen like arrays: columns of one array, rows
/// of tables.
///
/// It costs nothing: blocks are the same, and what a launch takes and the blocks of
/// an incomplete round are there once. So no model is asked.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Buffers.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Time/Launches.h"
#include "core/Runtime/C/Limits.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/Residency.h"
#include "llvm/ADT/MapVector.h"
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

/// The least and the largest of some numbers.
struct IndexRange {
  int64_t least, most;
};

/// Arrays that a grid touches, by what the host calls them.
struct Touched {
  llvm::SetVector<Value> all, written;
  /// Of arrays whose elements are read and written one by one: in which range the indices of each dimension are.
  llvm::DenseMap<Value, SmallVector<std::optional<IndexRange>>> indices;
  bool isKnown = true;
};

/// What a later grid has where an operation of the first one has something else.
using Differences = llvm::MapVector<OpOperand *, Value>;

/// A grid, or several that become one, next to each other in their block.
struct Group {
  SmallVector<tile::ParallelOp> grids;
  SmallVector<Touched> touched;
  SmallVector<Differences> differences; // of each later one
  llvm::hash_code hash;
};

} // namespace

/// What `index` may be, of what it is made of: nothing where that is not known here.
static std::optional<IndexRange> rangeOf(Value index) {
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return IndexRange{*number, *number};
  Operation *op = index.getDefiningOp();
  if (!isa_and_nonnull<arith::RemUIOp, arith::AddIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<IndexRange> a = rangeOf(op->getOperand(0)), b = rangeOf(op->getOperand(1));
  if (isa<arith::RemUIOp>(op))
    return b && b->least > 0 ? std::optional(IndexRange{0, b->most - 1}) : std::nullopt;
  if (!a || !b || a->least < 0 || b->least < 0)
    return std::nullopt;
  int64_t least, most;
  const bool isSum = isa<arith::AddIOp>(op);
  if (isSum ? llvm::AddOverflow(a->most, b->most, most) : llvm::MulOverflow(a->most, b->most, most))
    return std::nullopt;
  least = isSum ? a->least + b->least : a->least * b->least;
  return IndexRange{least, most};
}

/// Adds the elements that `op` touches of `array` to what is known of it.
static void addIndices(Operation *op, Value array, Touched &touched) {
  OperandRange places(op->operand_end(), op->operand_end());
  if (auto load = dyn_cast<memref::LoadOp>(op))
    places = load.getIndices();
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    places = store.getIndices();
  auto [known, isNew] = touched.indices.try_emplace(array);
  if (places.empty() || !llvm::is_contained(op->getOperands(), array)) { // all of it, or another view
    known->second.clear();
    return;
  }
  if (isNew)
    known->second = llvm::map_to_vector(places, rangeOf);
  for (auto [range, place] : llvm::zip(known->second, places))
    if (std::optional<IndexRange> own = rangeOf(place); range)
      range = own ? std::optional(IndexRange{std::min(range->least, own->least), std::max(range->most, own->most)})
                  : std::nullopt;
}

/// Whether two grids touch other elements of `array`: the indices of one dimension are in other ranges.
static bool touchOthers(const Touched &a, const Touched &b, Value array) {
  auto x = a.indices.find(array), y = b.indices.find(array);
  return x != a.indices.end() && y != b.indices.end() && llvm::any_of(llvm::zip(x->second, y->second), [](auto pair) {
           auto [mine, other] = pair;
           return mine && other && (mine->most < other->least || other->most < mine->least);
         });
}

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
      addIndices(op, array, touched);
      if (effects.getEffectOnValue<MemoryEffects::Write>(operand))
        touched.written.insert(array);
    }
  });
  return touched;
}

/// Whether what either writes is nothing that the other one touches. Parts of one array may be other elements of it.
static bool areApart(const Touched &a, const Touched &b, const BufferOrigins &origins) {
  auto meets = [&](const llvm::SetVector<Value> &written, const llvm::SetVector<Value> &all) {
    return llvm::any_of(written, [&](Value x) {
      return llvm::any_of(all, [&](Value y) { return origins.mayAlias(x, y) && !(x == y && touchOthers(a, b, x)); });
    });
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

/// Whether a launch may choose what stands for `operand`, an operand of an operation of `grid`: an array, or a constant
/// that is only a place in one of memory, or a number to compute with. Constants that sizes, loops and divisions have
/// are what code is made for.
static bool mayBeChosen(tile::ParallelOp grid, OpOperand &operand, Value other) {
  Value value = operand.get();
  if (isa<MemRefType>(value.getType()))
    return true;
  if (!value.getType().isIntOrIndexOrFloat() || !matchPattern(value, m_Constant()) ||
      !matchPattern(other, m_Constant()))
    return false;
  Operation *user = operand.getOwner();
  if (isa<memref::LoadOp, memref::StoreOp>(user))
    return llvm::none_of(user->getOperands(), [&](Value each) {
      return isa<MemRefType>(each.getType()) && grid->isAncestor(each.getParentRegion()->getParentOp());
    });
  return isa<arith::AddIOp, arith::SubIOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::CmpIOp, arith::CmpFOp,
             arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp, arith::SelectOp>(user);
}

namespace {
/// Compares two grids, operation by operation.
class Comparison {
public:
  Comparison(tile::ParallelOp a, tile::ParallelOp b) : a(a), b(b) {}

  /// Whether the second one does what the first one does, but for what a launch may choose.
  bool areEqual() {
    return a->getAttrDictionary() == b->getAttrDictionary() && a.getBoundOperands() == b.getBoundOperands() &&
           areEqual(a.getBody(), b.getBody());
  }
  Differences differences;

private:
  bool areEqual(Region &x, Region &y) {
    return x.getBlocks().size() == y.getBlocks().size() &&
           llvm::all_of(llvm::zip(x, y), [&](auto pair) { return areEqual(std::get<0>(pair), std::get<1>(pair)); });
  }

  bool areEqual(Block &x, Block &y) {
    if (x.getArgumentTypes() != y.getArgumentTypes() || x.getOperations().size() != y.getOperations().size())
      return false;
    for (auto [mine, other] : llvm::zip(x.getArguments(), y.getArguments()))
      inside[mine] = other;
    return llvm::all_of(llvm::zip(x, y), [&](auto pair) { return areEqual(&std::get<0>(pair), &std::get<1>(pair)); });
  }

  bool areEqual(Operation *x, Operation *y) {
    if (x->getName() != y->getName() || x->getAttrDictionary() != y->getAttrDictionary() ||
        x->getResultTypes() != y->getResultTypes() || x->getNumOperands() != y->getNumOperands() ||
        x->getNumRegions() != y->getNumRegions() || x->getNumSuccessors() != 0 || y->getNumSuccessors() != 0)
      return false;
    for (auto [mine, other] : llvm::zip(x->getOpOperands(), y->getOperands()))
      if (!isSame(mine, other))
        return false;
    for (auto [mine, other] : llvm::zip(x->getResults(), y->getResults()))
      inside[mine] = other;
    return llvm::all_of(llvm::zip(x->getRegions(), y->getRegions()),
                        [&](auto pair) { return areEqual(std::get<0>(pair), std::get<1>(pair)); });
  }

  bool isSame(OpOperand &mine, Value other) {
    Value value = mine.get();
    if (a->isAncestor(value.getParentRegion()->getParentOp()))
      return inside.lookup(value) == other;
    if (value == other)
      return true;
    if (b->isAncestor(other.getParentRegion()->getParentOp()) || value.getType() != other.getType() ||
        !mayBeChosen(a, mine, other))
      return false;
    differences[&mine] = other;
    return true;
  }

  tile::ParallelOp a, b;
  llvm::DenseMap<Value, Value> inside; // what the second one has for arguments and results of the first one
};
} // namespace

/// Moves `grid` with what it needs behind `last`; false, and nothing is moved, where that needs what memory holds then.
static bool moveBehind(tile::ParallelOp grid, tile::ParallelOp last) {
  llvm::SetVector<Operation *> defs;
  llvm::SetVector<Value> needed;
  getUsedValuesDefinedAbove(grid->getRegions(), needed);
  SmallVector<Value> open(needed.takeVector());
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

/// Which of the values `all` a block takes: the first one whose condition of `isIt` holds, or the last one.
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
  llvm::SetVector<OpOperand *> places;
  for (const Differences &own : group.differences)
    for (const auto &[place, other] : own)
      places.insert(place);
  SmallVector<std::pair<SmallVector<Value>, Value>> chosen;
  for (OpOperand *place : places) {
    SmallVector<Value> all{place->get()};
    for (const Differences &own : group.differences)
      all.push_back(own.contains(place) ? own.lookup(place) : place->get());
    auto known = llvm::find_if(chosen, [&](const auto &each) { return each.first == all; });
    if (known == chosen.end()) {
      chosen.push_back({all, choose(builder, loc, isIt, all)});
      known = std::prev(chosen.end());
    }
    place->set(known->second);
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
      Group own{{grid}, {touchedBy(grid)}, {}, hashOf(grid)};
      if (!addTo(groups, own, origins))
        groups.push_back(std::move(own));
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
      if (!llvm::all_of(group.touched,
                        [&](const Touched &each) { return areApart(each, own.touched.front(), origins); }))
        return false; // nor does it move past this one
      Comparison comparison(group.grids.front(), grid);
      if (group.hash != own.hash || !hasRoomFor(grid, group.grids.size() + 1) || !comparison.areEqual() ||
          !moveBehind(grid, group.grids.back()))
        continue;
      group.grids.push_back(grid);
      group.touched.push_back(own.touched.front());
      group.differences.push_back(std::move(comparison.differences));
      return true;
    }
    return false;
  }
};
} // namespace
