//===- TileNests.cpp - Loops over tiles, as a schedule says ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cuts the loops of scheduled nests, from the outside in, puts them into the loop
/// over the members of their level, and computes slices of the nests before them in
/// their tiles.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Tile/TileNests.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/LoopTrips.h"
#include "core/Analysis/TileSets.h"
#include "core/Transforms/Host/HostExpressions.h"
#include "core/Transforms/Tile/OnlineReductions.h"
#include "core/Transforms/Tile/PartialReductions.h"
#include "core/Transforms/Tile/ProducerSlices.h"
#include "core/Transforms/Tile/TileResults.h"
#include "core/Transforms/Utils/StatementLoops.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Indices of a level whose members have one tile each.
static constexpr size_t mostIndices = 3;

/// The number of a loop of the nest while it is being cut.
static constexpr StringLiteral numberAttr = "tile.number";

static std::optional<int64_t> loopNumber(Operation *loop, StringRef name) {
  auto number = loop->getAttrOfType<IntegerAttr>(name);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

namespace {
/// Writes one chain of perfect loops anew: loops over tiles outside, loops of a tile inside.
class ChainTiler {
public:
  /// `members`: the member of the level, or, where each has one tile, those of the loops that are spread, in the
  /// schedule's order. `finish` gets the body of each tile.
  ChainTiler(SmallVector<AffineForOp> chain, tile::ScheduleAttr schedule, ValueRange members, bool isGrid,
             llvm::function_ref<void(Block &)> finish)
      : chain(std::move(chain)), schedule(schedule), members(members), isGrid(isGrid), finish(finish),
        starts(this->chain.size()), last(this->chain.size()) {
    for (tile::TiledLoopAttr cut : schedule.getLoops())
      for (unsigned d = 0; d < this->chain.size(); ++d)
        if (*loopNumber(this->chain[d], numberAttr) == cut.getLoop())
          order.push_back(d);
  }

  /// Writes the loops at the builder's place; the old ones stay.
  void write(OpBuilder &builder) { tiles(builder, 0); }

private:
  tile::TiledLoopAttr cutOf(unsigned d) const { return schedule.tiled(*loopNumber(chain[d], numberAttr)); }
  void tiles(OpBuilder &builder, unsigned nth);
  Value memberOf(OpBuilder &builder, unsigned nth);
  void points(OpBuilder &builder, unsigned d, IRMapping &mapping);
  void tileLoop(OpBuilder &builder, unsigned nth, bool isLast);

  SmallVector<AffineForOp> chain;
  tile::ScheduleAttr schedule;
  SmallVector<Value> members;
  bool isGrid;
  llvm::function_ref<void(Block &)> finish;
  SmallVector<Value> starts;   // the tile's number, of loops that are cut
  SmallVector<bool> last;      // the smaller tile
  SmallVector<unsigned> order; // of the loops over tiles, outermost first
};
} // namespace

/// The loop over whole tiles of the `nth` loop that is cut, or that over the smaller one at the end.
void ChainTiler::tileLoop(OpBuilder &builder, unsigned nth, bool isLast) {
  unsigned d = order[nth];
  AffineForOp loop = chain[d];
  tile::TiledLoopAttr cut = cutOf(d);
  AffineMap bound = loop.getUpperBoundMap();
  SmallVector<Value> operands(loop.getUpperBoundOperands());
  bool spread = cut.getSpread();
  // The member's number is one more dimension.
  unsigned dims = bound.getNumDims();
  AffineExpr count = bound.getResult(0), number = builder.getAffineDimExpr(dims);
  if (spread)
    operands.insert(operands.begin() + dims, members.front());
  AffineExpr whole = count.floorDiv(cut.getTile()), all = count.ceilDiv(cut.getTile());
  int64_t members = schedule.getMembers();
  SmallVector<AffineExpr> lower{builder.getAffineConstantExpr(0)}, upper{whole};
  if (isLast) {
    lower = {whole};
    upper = {spread && members > 1 ? whole + (all - whole) * number.floorDiv(members - 1) : all};
    if (spread && members > 1 &&
        !isa<AffineConstantExpr>(simplifyAffineExpr(all - whole, dims + 1, bound.getNumSymbols())))
      upper = {all, whole + number.floorDiv(members - 1)};
  } else if (spread) {
    AffineExpr share = whole.ceilDiv(members);
    lower = {number * share};
    upper = {(number + 1) * share, whole};
  }
  auto create = [&](ArrayRef<AffineExpr> low, ArrayRef<AffineExpr> high) {
    auto make = [&](ArrayRef<AffineExpr> results) {
      AffineMap map =
          simplifyAffineMap(AffineMap::get(dims + spread, bound.getNumSymbols(), results, builder.getContext()));
      SmallVector<Value> values(operands);
      canonicalizeMapAndOperands(&map, &values);
      return std::pair(map, values);
    };
    auto [lowMap, lowValues] = make(low);
    auto [highMap, highValues] = make(high);
    return AffineForOp::create(builder, loop.getLoc(), lowValues, lowMap, highValues, highMap);
  };
  AffineForOp over = create(lower, upper);
  over->setAttr(tile::atAttr, builder.getI64IntegerAttr(cut.getLoop()));
  OpBuilder inner = OpBuilder::atBlockBegin(over.getBody());
  starts[d] = over.getInductionVar();
  last[d] = isLast;
  tiles(inner, nth + 1);
  starts[d] = {};
}

/// Which tile of the `nth` loop that is cut each member of the grid has. The first members are those of as many loops
/// as the grid has too few indices for.
Value ChainTiler::memberOf(OpBuilder &builder, unsigned nth) {
  Location loc = chain.front().getLoc();
  SmallVector<std::optional<int64_t>> counts;
  size_t at = 0;
  for (unsigned d : order) {
    std::optional<int64_t> count;
    if (chain[d].hasConstantUpperBound())
      count = llvm::divideCeil(chain[d].getConstantUpperBound(), cutOf(d).getTile());
    if (d == order[nth] && count == 1) // slices of other nests begin at 0, too
      return arith::ConstantIndexOp::create(builder, loc, 0);
    if (d == order[nth])
      at = counts.size();
    if (count != 1)
      counts.push_back(count);
  }
  const size_t together = counts.size() - members.size() + 1;
  if (at >= together || together == 1)
    return members[at - (together - 1)];
  AffineExpr number = builder.getAffineDimExpr(0);
  for (size_t inner = at + 1; inner < together; ++inner)
    number = number.floorDiv(*counts[inner]);
  if (at > 0)
    number = number % *counts[at];
  return AffineApplyOp::create(builder, loc, AffineMap::get(1, 0, number), members.front());
}

/// The loops over tiles from the `nth` that is cut on, in the schedule's order.
void ChainTiler::tiles(OpBuilder &builder, unsigned nth) {
  if (nth == order.size()) {
    IRMapping mapping;
    Block *tile = builder.getInsertionBlock();
    points(builder, 0, mapping);
    finish(*tile);
    return;
  }
  unsigned d = order[nth];
  tile::TiledLoopAttr cut = cutOf(d);
  if (isGrid && cut.getSpread()) {
    starts[d] = memberOf(builder, nth);
    return tiles(builder, nth + 1);
  }
  std::optional<int64_t> count;
  if (chain[d].hasConstantUpperBound())
    count = chain[d].getConstantUpperBound();
  if (!count || *count >= cut.getTile())
    tileLoop(builder, nth, /*isLast=*/false);
  if (cut.getTile() > 1 && (!count || *count % cut.getTile() != 0))
    tileLoop(builder, nth, /*isLast=*/true);
}

/// The loops of one tile from `chain[d]` on, and the body.
void ChainTiler::points(OpBuilder &builder, unsigned d, IRMapping &mapping) {
  if (d == chain.size()) {
    for (Operation &op : chain.back().getBody()->without_terminator())
      builder.clone(op, mapping);
    return;
  }
  AffineForOp loop = chain[d];
  SmallVector<Value> operands;
  for (Value operand : loop.getUpperBoundOperands())
    operands.push_back(mapping.lookupOrDefault(operand));
  AffineMap bound = loop.getUpperBoundMap();
  tile::TiledLoopAttr cut = cutOf(d);
  if (cut && cut.getTile() == 1) { // one iteration is no loop
    mapping.map(loop.getInductionVar(), starts[d]);
    return points(builder, d + 1, mapping);
  }
  bool mayEnd = !loop.hasConstantUpperBound() || loop.getConstantUpperBound() % (cut ? cut.getTile() : 1) != 0;
  if (cut && isGrid && cut.getSpread() && mayEnd) {
    // One of the members has a smaller tile.
    AffineExpr whole = builder.getAffineConstantExpr(cut.getTile());
    AffineExpr rest = bound.getResult(0) - builder.getAffineDimExpr(bound.getNumDims()) * cut.getTile();
    AffineMap sizes =
        AffineMap::get(bound.getNumDims() + 1, bound.getNumSymbols(), {whole, rest}, builder.getContext());
    operands.insert(operands.begin() + bound.getNumDims(), starts[d]);
    canonicalizeMapAndOperands(&sizes, &operands);
    OpBuilder outside = OpBuilder::atBlockBegin(starts[d].getParentBlock());
    if (Operation *start = starts[d].getDefiningOp())
      outside.setInsertionPointAfter(start);
    Value size = AffineMinOp::create(outside, loop.getLoc(), sizes, operands);
    bound = builder.getSymbolIdentityMap();
    operands.assign(1, size);
  } else if (cut && !last[d]) {
    bound = AffineMap::getConstantMap(cut.getTile(), builder.getContext());
    operands.clear();
  } else if (cut) {
    bound = simplifyAffineMap(
        AffineMap::get(bound.getNumDims(), bound.getNumSymbols(), bound.getResult(0) % cut.getTile()));
  }
  auto point = AffineForOp::create(builder, loop.getLoc(), {}, builder.getConstantAffineMap(0), operands, bound);
  OpBuilder inner = OpBuilder::atBlockBegin(point.getBody());
  Value position = point.getInductionVar();
  if (cut) {
    AffineMap map = AffineMap::get(2, 0, inner.getAffineDimExpr(0) * cut.getTile() + inner.getAffineDimExpr(1));
    position = AffineApplyOp::create(inner, loop.getLoc(), map, ValueRange{starts[d], position});
  }
  mapping.map(loop.getInductionVar(), position);
  points(inner, d + 1, mapping);
}

/// The perfect chain of loops from `root` to the last of them that is cut.
static SmallVector<AffineForOp> chainFrom(AffineForOp root, tile::ScheduleAttr schedule) {
  SmallVector<AffineForOp> chain;
  size_t length = 0;
  for (AffineForOp loop = root; loop;) {
    chain.push_back(loop);
    auto number = loopNumber(loop, numberAttr);
    if (number && schedule.tiled(*number))
      length = chain.size();
    loop = loopInside(loop);
  }
  chain.resize(length);
  return chain;
}

/// The value as it is inside of `region`: what a launch cannot be given, such as a float, is computed there.
static Value valueInside(Region &region, Value value, OpBuilder &builder, IRMapping &mapping) {
  Operation *def = value.getDefiningOp();
  if (mapping.contains(value) || !def || isHostType(value.getType()) || isa<MemRefType>(value.getType()) ||
      region.isAncestor(def->getParentRegion()) || !isMemoryEffectFree(def) || def->getNumRegions())
    return mapping.lookupOrDefault(value);
  for (Value operand : def->getOperands())
    mapping.map(operand, valueInside(region, operand, builder, mapping));
  builder.clone(*def, mapping);
  return mapping.lookup(value);
}

/// Computes in the body what it uses from outside and a launch cannot be given.
static void sinkOperands(tile::ParallelOp parallel) {
  Region &body = parallel.getBody();
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(body, captured);
  OpBuilder builder = OpBuilder::atBlockBegin(&body.front());
  IRMapping mapping;
  for (Value value : captured)
    replaceAllUsesInRegionWith(value, valueInside(body, value, builder, mapping), body);
}

static LogicalResult refuse(std::string &reason, const Twine &why) {
  reason = why.str();
  return failure();
}

/// Marks the loops with their numbers; failure where the schedule cuts one that cannot be.
static LogicalResult numberLoops(ArrayRef<Operation *> ops, tile::ScheduleAttr schedule, std::string &reason) {
  Builder attributes(ops.front()->getContext());
  int64_t count = 0;
  llvm::SmallDenseSet<int64_t> cuttable;
  for (Operation *op : ops)
    op->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      bool isPlain = loop.hasConstantLowerBound() && loop.getConstantLowerBound() == 0 && loop.getStepAsInt() == 1 &&
                     loop.getUpperBoundMap().getNumResults() == 1 && loop.getNumIterOperands() == 0;
      if (isPlain && op == ops.back())
        cuttable.insert(count);
      loop->setAttr(numberAttr, attributes.getI64IntegerAttr(count++));
    });
  for (tile::TiledLoopAttr cut : schedule.getLoops())
    if (!cuttable.contains(cut.getLoop()))
      return refuse(reason, "the schedule cuts loop " + Twine(cut.getLoop()) + ", but there are " + Twine(count) +
                                " loops here, and only those of the last operation from 0 in steps of 1 that carry no "
                                "value can be cut");
  return success();
}

/// Arrays in the order of their first access, as placements count them.
static SmallVector<Value> arraysOf(tile::ParallelOp parallel) {
  llvm::SetVector<Value> arrays;
  parallel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<AffineLoadOp, AffineStoreOp>(op))
      arrays.insert(arrayOf(op));
  });
  return arrays.takeVector();
}

/// Computes the nests of each tile in steps, and lets the placements of the schedule count the arrays that there are
/// then.
static LogicalResult stepTiles(tile::ParallelOp parallel, tile::ScheduleAttr schedule, bool isGrid,
                               ArrayRef<AffineForOp> producers, std::string &reason) {
  SmallVector<Block *> tiles;
  if (isGrid || schedule.getLoops().empty())
    tiles.push_back(&parallel.getBody().front());
  parallel->walk([&](AffineForOp loop) {
    if (!isGrid && !schedule.getLoops().empty() &&
        loopNumber(loop, tile::atAttr) == schedule.getLoops().back().getLoop())
      tiles.push_back(loop.getBody());
  });
  auto isInside = [&](Operation *op) {
    return parallel->isAncestor(op) ||
           llvm::any_of(producers, [&](AffineForOp producer) { return producer->isAncestor(op); });
  };
  SmallVector<Value> before = arraysOf(parallel);
  for (Block *tile : tiles) {
    SmallVector<Operation *> ops;
    for (Operation &op : tile->without_terminator())
      ops.push_back(&op);
    if (failed(stepReductions(ops, schedule.getStep(), schedule.getPasses(), isInside,
                              OpBuilder::atBlockBegin(&parallel.getBody().front()), reason)))
      return failure();
  }
  SmallVector<Value> after = arraysOf(parallel);
  SmallVector<tile::PlacementAttr> placements;
  for (tile::PlacementAttr each : schedule.getPlacements())
    if (each.getArray() < int64_t(before.size()))
      if (auto found = llvm::find(after, before[each.getArray()]); found != after.end())
        placements.push_back(tile::PlacementAttr::get(parallel.getContext(), found - after.begin(), each.getAt(),
                                                      each.getMemory(), each.getStages()));
  parallel.setScheduleAttr(schedule.withPlacements(placements));
  return success();
}

namespace {
/// How many tiles each loop that is cut has, in the schedule's order: expressions of `operands` as symbols.
struct Grid {
  SmallVector<AffineExpr> counts;
  SmallVector<Value> operands;
};
} // namespace

/// The grid of a schedule where all loops that are cut are spread and each member has one tile, the last one perhaps a
/// smaller one; nothing otherwise.
static std::optional<Grid> gridOf(Operation *last, tile::ScheduleAttr schedule) {
  Grid grid;
  int64_t all = 1;
  bool isSpread = schedule.getPlacements().empty() && !schedule.getLoops().empty();
  for (tile::TiledLoopAttr cut : schedule.getLoops())
    last->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      if (loopNumber(loop, numberAttr) != cut.getLoop())
        return;
      isSpread &= cut.getSpread();
      AffineMap bound = loop.getUpperBoundMap();
      SmallVector<AffineExpr> values;
      for (Value operand : loop.getUpperBoundOperands()) {
        values.push_back(getAffineSymbolExpr(grid.operands.size(), loop.getContext()));
        grid.operands.push_back(operand);
      }
      ArrayRef<AffineExpr> dims = ArrayRef(values).take_front(bound.getNumDims());
      AffineExpr trips =
          bound.getResult(0).replaceDimsAndSymbols(dims, ArrayRef(values).drop_front(bound.getNumDims()));
      AffineExpr count = simplifyAffineExpr(trips.ceilDiv(cut.getTile()), 0, grid.operands.size());
      auto constant = dyn_cast<AffineConstantExpr>(count);
      all = constant ? all * constant.getValue() : 0;
      grid.counts.push_back(count);
    });
  if (!isSpread || grid.counts.size() != schedule.getLoops().size() || all != schedule.getMembers())
    return std::nullopt;
  return grid;
}

/// Indices of the grid: one for each loop of several tiles, the first ones of more together; failure where those that
/// have to be are not constant.
static LogicalResult joinIndices(Grid &grid) {
  auto one = getAffineConstantExpr(1, grid.counts.front().getContext());
  llvm::erase(grid.counts, one);
  if (grid.counts.empty())
    grid.counts.push_back(one);
  for (; grid.counts.size() > mostIndices; grid.counts.erase(grid.counts.begin())) {
    if (!isa<AffineConstantExpr>(grid.counts[1]))
      return failure();
    grid.counts[1] = grid.counts[0] * grid.counts[1];
  }
  return success();
}

/// Whether the tiles together write all that `producers` write of arrays that others see; `ofLast`: arrays that the
/// last nest writes, whose tiles have all of them.
static LogicalResult checkResults(tile::ParallelOp parallel, ArrayRef<AffineForOp> producers,
                                  const llvm::SmallDenseSet<Value> &ofLast, std::string &reason) {
  auto isInside = [&](Operation *user) {
    return isa<memref::DeallocOp>(user) || parallel->isAncestor(user) ||
           llvm::any_of(producers, [&](AffineForOp producer) { return producer->isAncestor(user); });
  };
  for (AffineForOp producer : producers) {
    WalkResult walk = producer->walk([&](AffineStoreOp store) {
      Value memref = store.getMemRef();
      if (ofLast.contains(memref))
        return WalkResult::advance();
      if (memref.getDefiningOp<memref::AllocOp>() && llvm::all_of(memref.getUsers(), isInside))
        return WalkResult::advance();
      TileSets sets(*parallel->getBlock());
      TileRelation byTiles;
      parallel->walk([&](AffineStoreOp own) {
        if (own.getMemRef() != memref)
          return;
        TileRelation each = sets.ofAll(sets.touched(own), parallel);
        byTiles = byTiles ? byTiles.unite(each) : each;
      });
      return sets.touched(store).isWithin(byTiles) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return refuse(reason, "tiles do not write all of a result of a nest before the last one");
  }
  return success();
}

FailureOr<tile::ParallelOp> tilewright::tileNests(Operation *first, TileRefusal &refusal) {
  std::string &reason = refusal.reason;
  auto schedule = first->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttr);
  if (!schedule)
    return refuse(reason, "attribute \"" + Twine(tile::scheduleAttr) + "\" is no #tile.schedule");
  first->removeAttr(tile::scheduleAttr);
  SmallVector<Operation *> ops;
  for (Operation *op = first; op && int64_t(ops.size()) < schedule.getOps(); op = op->getNextNode())
    ops.push_back(op);
  const Location loc = first->getLoc();
  if (schedule.getParts() > 1) {
    FailureOr<PartialNests> nests = splitReductions(ops, schedule.getParts(), reason);
    if (failed(nests)) {
      reason = "the schedule computes reductions in parts, but " + reason;
      return failure();
    }
    ops = llvm::to_vector_of<Operation *>(nests->parts);
  }
  if (failed(numberLoops(ops, schedule, reason)))
    return failure();
  // Those before the last are computed in its tiles.
  SmallVector<AffineForOp> producers;
  if (!schedule.getLoops().empty())
    for (Operation *op : ArrayRef(ops).drop_back()) {
      auto nest = dyn_cast<AffineForOp>(op);
      if (!nest)
        return refuse(reason, "an operation before the nest that the schedule tiles is no affine.for");
      producers.push_back(nest);
    }

  llvm::SmallDenseSet<Value> ofLast;
  ops.back()->walk([&](AffineStoreOp store) { ofLast.insert(store.getMemRef()); });

  std::optional<Grid> grid = gridOf(ops.back(), schedule);
  int64_t spread = llvm::count_if(schedule.getLoops(), [](auto cut) { return cut.getSpread(); });
  if (!grid && (spread > 1 || schedule.getMembers() == 0))
    return refuse(reason, "the schedule spreads several loops, each tile of which is then one of its " +
                              Twine(schedule.getMembers()) +
                              " members (0: of sizes that are not constant), and places no arrays");
  if (grid && failed(joinIndices(*grid)))
    return refuse(reason, "more than " + Twine(mostIndices) +
                              " loops are spread, and how many tiles the second one has is not constant");
  OpBuilder builder(ops.back()->getContext());
  builder.setInsertionPointAfter(ops.back());
  AffineMap bounds = builder.getConstantAffineMap(schedule.getMembers());
  SmallVector<Value> boundOperands;
  if (grid) {
    boundOperands = grid->operands;
    bounds = AffineMap::get(0, boundOperands.size(), grid->counts, builder.getContext());
    canonicalizeMapAndOperands(&bounds, &boundOperands);
  }
  auto parallel = tile::ParallelOp::create(builder, loc, bounds, boundOperands, schedule.getLevel(),
                                           [&](OpBuilder &inner, Location, ValueRange) {
                                             for (Operation *op : ArrayRef(ops).drop_front(producers.size()))
                                               op->moveBefore(inner.getInsertionBlock(), inner.getInsertionPoint());
                                           });
  parallel.setScheduleAttr(schedule);
  LogicalResult fused = success();
  auto pullInto = [&](Block &tile) {
    size_t refused = 0;
    if (succeeded(fused) && failed(pullSlices(tile, producers, reason, refused))) {
      reason = "the schedule computes a nest in tiles of another one, but " + reason;
      refusal.ofLast = schedule.getParts() > 1 ? 0 : ops.size() - refused;
      fused = failure();
    }
  };
  // From the outside in: what is copied into tiles is cut where it then stands.
  for (bool changed = true; changed;) {
    changed = false;
    parallel->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      auto number = loopNumber(loop, numberAttr);
      if (!number)
        return WalkResult::advance();
      SmallVector<AffineForOp> chain = chainFrom(loop, schedule);
      if (chain.empty()) {
        loop->removeAttr(numberAttr);
        return WalkResult::advance();
      }
      OpBuilder at(loop);
      auto ofTile = [&](Block &tile) {
        if (!grid)
          pullInto(tile);
      };
      ChainTiler(chain, schedule, parallel.getBody().getArguments(), grid.has_value(), ofTile).write(at);
      loop.erase();
      if (grid.has_value()) // the tile is all of the body, once what it is made of is gone
        pullInto(parallel.getBody().front());
      changed = true;
      return WalkResult::interrupt();
    });
  }
  if (failed(fused)) {
    parallel.erase();
    return failure();
  }
  composeAccesses(parallel);
  if (failed(checkResults(parallel, producers, ofLast, reason))) {
    parallel.erase();
    return failure();
  }
  if (schedule.getStep() > 0 && failed(stepTiles(parallel, schedule, grid.has_value(), producers, reason))) {
    reason = "the schedule computes reductions in steps, but " + reason;
    parallel.erase();
    return failure();
  }
  if (schedule.getStep() > 0)
    composeAccesses(parallel);
  for (AffineForOp producer : llvm::reverse(producers))
    producer.erase();
  if (grid && schedule.getStep() > 0) // one row is no loop, but statements of steps are nests
    parallel->walk([](Block *block) {
      if (block->getParentOp()->hasAttr(tile::atAttr) || isa<tile::ParallelOp>(block->getParentOp()))
        for (auto store : llvm::to_vector(block->getOps<AffineStoreOp>()))
          wrapStatement(store);
    });
  if (grid && (schedule.getStep() > 0 || !producers.empty()))
    keepResults(parallel);
  sinkOperands(parallel);
  return parallel;
}
