//===- ProducerSlices.cpp - What a tile needs of the nests before it ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The box of what is read, inverted through the access map of the store.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Tile/ProducerSlices.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/KnownBoxes.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>
#include <optional>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// Iterations of one loop of the producer, over the values around the tile as dimensions; null: all of them.
struct Range {
  AffineExpr first, count;
  bool operator==(const Range &other) const { return first == other.first && count == other.count; }
};

/// The slice of one producer.
class SliceWriter {
public:
  /// `reaches`: whether the tile says what it needs of an array.
  SliceWriter(Block &tile, const Nest &nest, llvm::function_ref<bool(Value)> reaches)
      : tile(tile), nest(nest), reaches(reaches), sets(tile), ranges(nest.depth()) {}
  LogicalResult bound(std::string &reason);
  void write(Operation *before);

private:
  LogicalResult boundBy(const Access &access, std::string &reason);
  AffineExpr tripsOf(AffineForOp loop) const;
  std::pair<AffineMap, SmallVector<Value>> overTile(AffineExpr expr) const;

  Block &tile;
  const Nest &nest;
  llvm::function_ref<bool(Value)> reaches;
  TileSets sets;
  SmallVector<std::optional<Range>> ranges; // none: nothing says which
};
} // namespace

/// The iterations of a loop of the nest over the values around the tile; null where they depend on others.
AffineExpr SliceWriter::tripsOf(AffineForOp loop) const {
  AffineMap bound = loop.getUpperBoundMap();
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(loop.getUpperBoundOperands())) {
    const Value *found = llvm::find(sets.outer(), operand);
    if (found == sets.outer().end())
      return {};
    (i < bound.getNumDims() ? dims : symbols)
        .push_back(getAffineDimExpr(found - sets.outer().begin(), loop.getContext()));
  }
  return bound.getResult(0).replaceDimsAndSymbols(dims, symbols);
}

/// Whether operations of `tile` access `memref`.
static bool touches(Block &tile, Value memref) {
  return llvm::any_of(memref.getUsers(), [&](Operation *user) { return tile.findAncestorOpInBlock(*user); });
}

LogicalResult SliceWriter::boundBy(const Access &access, std::string &reason) {
  TouchedBox touched(sets, access.memref, llvm::map_to_vector(tile, [](Operation &op) { return &op; }));
  if (!touched) {
    reason = "the tile does not touch it at affine indices";
    return failure();
  }
  std::optional<TileBox> box = touched.box(reason, /*hasConstantSize=*/false);
  if (!box)
    return failure();
  for (auto [d, index] : llvm::enumerate(access.map.getResults())) {
    SmallVector<unsigned> loops;
    for (unsigned dim = 0; dim < nest.depth(); ++dim)
      if (index.isFunctionOfDim(dim))
        loops.push_back(dim);
    if (loops.empty())
      continue;
    AffineExpr loop = getAffineDimExpr(loops.front(), index.getContext());
    auto distance = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(index - loop, access.map.getNumDims(), access.map.getNumSymbols()));
    if (loops.size() > 1 || !distance) {
      reason = access.isStore ? "a result of a nest before it is not indexed by a loop and a constant"
                              : "what a nest with a result of its own reads is not indexed by a loop and a constant";
      return failure();
    }
    Range range{box->offset[d] - distance.getValue(), box->extent[d]};
    AffineExpr trips = tripsOf(nest.loops[loops.front()]);
    // All iterations where the tile reaches as far or farther, such as to padding, which other nests write.
    const bool isAll =
        trips && touched.isAtMost(range.first, 0) && touched.isAtMost(trips - range.first - range.count, 0);
    if (!isAll &&
        (!trips || !touched.isAtMost(-range.first, 0) || !touched.isAtMost(range.first + range.count - trips, 0))) {
      reason = "tiles touch elements that a nest before it does not write, such as padding";
      return failure();
    }
    const bool isSummed =
        llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(loops.front()); });
    if (isSummed && !isAll) {
      reason = "each tile has a part of what a nest with a result of its own sums up";
      return failure();
    }
    if (isAll)
      range = {};
    std::optional<Range> &has = ranges[loops.front()];
    if (has && !(*has == range)) {
      reason = "a nest before it has several arrays, of which tiles touch different elements";
      return failure();
    }
    has = range;
  }
  return success();
}

LogicalResult SliceWriter::bound(std::string &reason) {
  const bool isRead = llvm::any_of(nest.stores, [&](const Access &store) { return touches(tile, store.memref); });
  for (const Access &access : isRead ? nest.stores : nest.loads)
    if ((isRead || reaches(access.memref)) && failed(boundBy(access, reason)))
      return failure();
  return success();
}

std::pair<AffineMap, SmallVector<Value>> SliceWriter::overTile(AffineExpr expr) const {
  AffineMap map = AffineMap::get(sets.outer().size(), 0, expr);
  SmallVector<Value> operands(sets.outer());
  canonicalizeMapAndOperands(&map, &operands);
  return {map, operands};
}

void SliceWriter::write(Operation *before) {
  OpBuilder builder(before);
  IRMapping mapping;
  for (auto [dim, each] : llvm::enumerate(nest.loops)) {
    AffineForOp loop = each;
    const Range range = ranges[dim].value_or(Range{});
    AffineMap bound = loop.getUpperBoundMap();
    SmallVector<Value> operands(loop.getUpperBoundOperands());
    if (range.first)
      std::tie(bound, operands) = overTile(range.count);
    Value position;
    auto count = dyn_cast_or_null<AffineConstantExpr>(range.count);
    if (!count || count.getValue() != 1) { // one iteration is no loop
      auto inner = AffineForOp::create(builder, loop.getLoc(), {}, builder.getConstantAffineMap(0), operands, bound);
      builder = OpBuilder::atBlockBegin(inner.getBody());
      position = inner.getInductionVar();
    }
    if (range.first) {
      SmallVector<Value> around(sets.outer());
      AffineExpr at = range.first;
      if (position) {
        at = at + builder.getAffineDimExpr(around.size());
        around.push_back(position);
      }
      AffineMap map = simplifyAffineMap(AffineMap::get(around.size(), 0, at));
      canonicalizeMapAndOperands(&map, &around);
      position = AffineApplyOp::create(builder, loop.getLoc(), map, around);
    }
    mapping.map(loop.getInductionVar(), position);
  }
  for (Operation &op : nest.body->without_terminator())
    builder.clone(op, mapping);
}

static LogicalResult pullSlice(Block &tile, AffineForOp producer, Operation *before,
                               llvm::function_ref<bool(Value)> reaches, std::string &reason) {
  FailureOr<Nest> nest = analyzeNest(producer, GuardedReads::Allowed);
  if (failed(nest)) {
    reason = "a nest before it is not perfect, or has other effects than affine accesses";
    return failure();
  }
  SliceWriter writer(tile, *nest, reaches);
  if (failed(writer.bound(reason)))
    return failure();
  writer.write(before);
  return success();
}

/// The first operation of `tile` behind its numbers.
static Operation *frontOf(Block &tile) {
  Operation *front = &tile.front();
  while (isMemoryEffectFree(front) && front->getNumRegions() == 0 && !front->hasTrait<OpTrait::IsTerminator>())
    front = front->getNextNode();
  return front;
}

/// Whether operations of `tile` write `memref`.
static bool isWrittenIn(Block &tile, Value memref) {
  return llvm::any_of(memref.getUsers(),
                      [&](Operation *user) { return isa<AffineStoreOp>(user) && tile.findAncestorOpInBlock(*user); });
}

/// Whether the tile reads what the nest writes, or the nest an array of which `reaches` says that the tile has it.
static bool isReached(AffineForOp nest, Block &tile, llvm::function_ref<bool(Value)> reaches) {
  WalkResult walk = nest->walk([&](Operation *op) {
    auto load = dyn_cast<AffineLoadOp>(op);
    auto store = dyn_cast<AffineStoreOp>(op);
    const bool isKnown = (load && reaches(load.getMemRef())) || (store && touches(tile, store.getMemRef()));
    return isKnown ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

LogicalResult tilewright::pullSlices(Block &tile, ArrayRef<AffineForOp> producers, std::string &reason,
                                     size_t &refused) {
  // What only reads waits until what it reads is there. Slices stand in the order of the nests.
  SmallVector<size_t> waiting;
  std::map<size_t, Operation *> fronts{{producers.size(), frontOf(tile)}}; // the first operation of each slice
  auto pullReached = [&](llvm::function_ref<bool(Value)> reaches) {
    for (size_t i = 0; i < waiting.size();) {
      const size_t next = waiting[i];
      if (!isReached(producers[next], tile, reaches)) {
        ++i;
        continue;
      }
      Operation *before = fronts.upper_bound(next)->second, *last = before->getPrevNode();
      if (failed(pullSlice(tile, producers[next], before, reaches, reason)))
        return failure();
      fronts[next] = last ? last->getNextNode() : &tile.front();
      waiting.erase(waiting.begin() + i);
      i = 0;
    }
    return success();
  };
  for (size_t number = producers.size(); number-- > 0;) {
    waiting.push_back(number);
    refused = number;
    if (failed(pullReached([&](Value memref) { return isWrittenIn(tile, memref); })))
      return failure();
  }
  // A nest that reads inputs alone computes what belongs to those that the tile reads, too.
  if (failed(pullReached([&](Value memref) { return touches(tile, memref); })))
    return failure();
  if (waiting.empty())
    return success();
  reason = "a nest before it has a result of its own, and reads nothing that others of the tile compute";
  return failure();
}
