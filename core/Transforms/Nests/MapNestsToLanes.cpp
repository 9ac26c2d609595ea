//===- MapNestsToLanes.cpp - Parallel loops on the lanes of a grid --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every nest that no other pass has mapped: its parallel loops are counted
/// through by one number, one lane an iteration, so that neighbours touch memory side by side; what the lane sums up
/// stays in a register.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/Transforms/Lower/LLVM/LowerAffine.h"
#include "core/Transforms/Nests/LaneGrid.h"
#include "core/Transforms/Nests/NestRuns.h"
#include "core/Transforms/Nests/ParallelLoops.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/NestTime.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPNESTSTOLANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Adds a value to what each of `loops` (perfect) carries: `start` enters the first, `inside` becomes it in the body of
/// the last, which yields `result`. The new first loop; `loops` are the new ones.
static affine::AffineForOp carry(SmallVectorImpl<affine::AffineForOp> &loops, Value start, Value inside, Value result) {
  IRRewriter rewriter(start.getContext());
  for (auto [index, loop] : llvm::enumerate(loops)) {
    bool last = index + 1 == loops.size();
    auto replaced = loop.replaceWithAdditionalYields(
        rewriter, start, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument> added) -> SmallVector<Value> {
          start = added.back();
          return {last ? result : Value(added.back())};
        });
    loop = cast<affine::AffineForOp>(replaced->getOperation());
  }
  inside.replaceAllUsesWith(start);
  for (size_t i = loops.size() - 1; i-- > 0;)
    cast<affine::AffineYieldOp>(loops[i].getBody()->getTerminator())
        ->setOperand(loops[i].getNumResults() - 1, loops[i + 1].getResults().back());
  return loops.front();
}

/// Keeps sums in a register: the perfect loops from `root` on load, combine and store one element that they do not
/// move; it is loaded before them and stored behind.
static void carrySums(affine::AffineForOp root) {
  SmallVector<affine::AffineForOp> loops = perfectLoops(root);
  if (loops.empty())
    return;
  Block *body = loops.back().getBody();
  SmallVector<std::pair<affine::AffineLoadOp, affine::AffineStoreOp>> sums;
  for (auto store : body->getOps<affine::AffineStoreOp>()) {
    affine::AffineLoadOp load;
    unsigned others = 0;
    root.walk([&](Operation *op) {
      auto found = dyn_cast<affine::AffineLoadOp>(op);
      if (found && found.getMemRef() == store.getMemRef() && found->getBlock() == body && !load)
        load = found;
      else
        others += op != store && llvm::is_contained(op->getOperands(), store.getMemRef());
    });
    bool fixed = llvm::none_of(store.getMapOperands(), [&](Value operand) {
      return root->isAncestor(operand.getParentRegion()->getParentOp());
    });
    if (load && others == 0 && fixed && load->isBeforeInBlock(store) && load.getAffineMap() == store.getAffineMap() &&
        load.getMapOperands() == store.getMapOperands())
      sums.push_back({load, store});
  }
  for (auto [load, store] : sums) {
    OpBuilder builder(loops.front());
    Value value = builder.clone(*load)->getResult(0), result = store.getValueToStore();
    affine::AffineForOp outermost = carry(loops, value, load.getResult(), result);
    builder.setInsertionPointAfter(outermost);
    affine::AffineStoreOp::create(builder, store.getLoc(), outermost.getResults().back(), store.getMemRef(),
                                  store.getAffineMap(), store.getMapOperands());
    load.erase();
    store.erase();
  }
}

/// Bytes that one access moves for a lane where the lanes next to it run along `loop`: the distance of its elements, at
/// most a sector.
static int64_t bytesAlong(affine::AffineForOp loop, const LinearAccess &access, int64_t sectorBytes) {
  auto type = cast<MemRefType>(access.memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type.getElementType().isIntOrFloat() || failed(type.getStridesAndOffset(strides, offset)))
    return sectorBytes;
  int64_t distance = 0;
  for (auto [index, stride] : llvm::zip_equal(access.indices, strides)) {
    if (!index)
      return sectorBytes;
    int64_t steps = index->coefficient(loop.getInductionVar());
    if (steps != 0 && ShapedType::isDynamic(stride))
      return sectorBytes;
    distance += steps != 0 ? steps * stride : 0;
  }
  return std::min(sectorBytes, std::abs(distance) * elementBytes(type.getElementType()));
}

/// The loops of `band` as lanes count through them, the fastest last: along it what the accesses below `root` move is
/// least.
static SmallVector<unsigned> orderOfLanes(ArrayRef<affine::AffineForOp> band, affine::AffineForOp root,
                                          int64_t sectorBytes) {
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, band.size()));
  SmallVector<Value> gathered;
  auto accesses = accessesBelow(root, &gathered);
  if (!accesses)
    return order;
  SmallVector<int64_t> bytes(band.size());
  for (auto [loop, sum] : llvm::zip_equal(band, bytes))
    for (const LinearAccess &access : *accesses)
      sum += bytesAlong(loop, access, sectorBytes);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return bytes[a] > bytes[b]; });
  return order;
}

/// Rewrites one nest.
static void mapNest(affine::AffineForOp root, const LaunchTarget &target, SmallVectorImpl<Operation *> &bodies) {
  root = moveIndependentLoopsOut(root);
  SmallVector<affine::AffineForOp> band = parallelBand(root);
  if (band.empty() && !isKernel(root->getParentOfType<func::FuncOp>()))
    return; // a lane of its own, among the host's
  const SmallVector<unsigned> order = orderOfLanes(band, root, target.hierarchy.sectorBytes);
  if (!band.empty())
    for (affine::AffineForOp loop : llvm::to_vector(band.back().getBody()->getOps<affine::AffineForOp>()))
      carrySums(loop);
  OpBuilder builder(root);
  Location loc = root.getLoc();
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };

  SmallVector<Value> extents;
  for (affine::AffineForOp loop : band) {
    AffineMap bound = loop.getUpperBoundMap();
    SmallVector<Value> operands(loop.getUpperBoundOperands());
    Value extent =
        affine::expandAffineExpr(builder, loc, bound.getResult(0), ValueRange(operands).take_front(bound.getNumDims()),
                                 ValueRange(operands).drop_front(bound.getNumDims()));
    extents.push_back(extent);
  }
  auto product = [&](ValueRange factors) -> Value {
    Value result = factors.empty() ? number(1) : factors.front();
    for (Value factor : factors.empty() ? factors : factors.drop_front())
      result = arith::MulIOp::create(builder, loc, result, factor);
    return result;
  };

  bool isPlanned = false;
  std::optional<NestRuns> runs = planRuns(band, order, target, isPlanned);
  if (!isPlanned)
    logNestTime(root, *target.chip);
  if (runs) {
    // Loops that lanes take one iteration of, and the number of the lane in its run, which is the fastest.
    SmallVector<Value> own, counted;
    SmallVector<unsigned> places(band.size()), ownOrder;
    for (auto [i, extent] : llvm::enumerate(extents)) {
      places[i] = own.size();
      (runs->counts(i) ? counted : own).push_back(extent);
    }
    for (unsigned loop : order)
      if (!runs->counts(loop))
        ownOrder.push_back(places[loop]);
    ownOrder.push_back(own.size());
    Value length = product(counted);
    own.push_back(arith::CeilDivUIOp::create(builder, loc, length, number(runs->iterations)));
    auto run = [&](OpBuilder &body, Value, ArrayRef<Value> indices) {
      IRMapping mapping;
      for (auto [i, loop] : llvm::enumerate(band))
        if (!runs->counts(i))
          mapping.map(loop.getInductionVar(), indices[places[i]]);
      emitRun(body, *runs, mapping, indices.back(), extents, length);
    };
    bodies.push_back(laneGrid(builder, loc, target.hierarchy, product(own), {own, ownOrder}, run));
    root.erase();
    return;
  }

  auto iteration = [&](OpBuilder &body, Value id, ArrayRef<Value> indices) {
    IRMapping mapping;
    for (auto [loop, index] : llvm::zip(band, indices))
      mapping.map(loop.getInductionVar(), index);
    if (band.empty())
      carrySums(cast<affine::AffineForOp>(body.clone(*root, mapping)));
    else
      for (Operation &op : band.back().getBody()->without_terminator())
        body.clone(op, mapping);
  };
  bodies.push_back(laneGrid(builder, loc, target.hierarchy, product(extents), {extents, order}, iteration));
  root.erase();
}

namespace {
struct MapNestsToLanes : tilewright::impl::MapNestsToLanesBase<MapNestsToLanes> {
  void getDependentDialects(DialectRegistry &registry) const override {
    MapNestsToLanesBase::getDependentDialects(registry);
    registry.insert<tile::TileDialect, memref::MemRefDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> bodies;
    auto map = [&](affine::AffineForOp root, const LaunchTarget &target) { mapNest(root, target, bodies); };
    if (failed(overLaneNests(getOperation(), map, /*gathers=*/true)))
      return signalPassFailure();
    // Quotients and remainders are no affine indices: inside, accesses and loops are plain ones.
    if (failed(lowerAffine(bodies, &getContext())))
      return signalPassFailure();
  }
};
} // namespace
