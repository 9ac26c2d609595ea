//===- MapParallelToLanes.cpp - scf.parallel on the lanes of a grid -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parallel loops of programs on memrefs: one lane an iteration; reductions in two steps, by a number of lanes that no
/// chip changes, so that sums are the same on all of them.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Lower/Vectors/ParallelLoops.h"
#include "core/Transforms/Nests/LaneGrid.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPPARALLELTOLANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Lanes that sum up a part of a reduction each; one lane combines what they have.
static constexpr int64_t partialLanes = 1024;

/// Whether lanes can execute what stands in `parallel`, and the host what stands around it.
static bool isForLanes(scf::ParallelOp parallel) {
  for (Operation *parent = parallel->getParentOp(); !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    if (!isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::IndexSwitchOp>(parent))
      return false;
  if (!llvm::all_of(parallel.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); }))
    return false;
  // Partial results are combined after the loop, where values of an iteration are not known.
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(parallel.getBody()->getTerminator()->getRegions(), used);
  if (llvm::any_of(used, [&](Value value) { return parallel.getRegion().isAncestor(value.getParentRegion()); }))
    return false;
  return !parallel
              ->walk([&](Operation *op) {
                bool known = isa<scf::ParallelOp, scf::ForOp, scf::IfOp, scf::WhileOp, scf::ReduceOp>(op) ||
                             isa<memref::LoadOp, memref::StoreOp, memref::GetGlobalOp, ViewLikeOpInterface>(op) ||
                             op->hasTrait<OpTrait::IsTerminator>() ||
                             (isMemoryEffectFree(op) && op->getNumRegions() == 0);
                return known ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

namespace {
/// Rewrites one loop whose body has no other parallel loop.
class ParallelMapper {
public:
  ParallelMapper(scf::ParallelOp parallel, const LaneHierarchy &hierarchy)
      : parallel(parallel), hierarchy(hierarchy), builder(parallel), loc(parallel.getLoc()) {}
  void run();

private:
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  /// How often dimension `d` runs.
  Value extent(unsigned d);
  LaneSpace space() const { return {extents, order}; }
  /// Writes the iteration that has `indices`; what it gives to the reductions.
  SmallVector<Value> iteration(OpBuilder &inside, ArrayRef<Value> indices);
  void reduce(Value total);

  scf::ParallelOp parallel;
  const LaneHierarchy &hierarchy;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> extents;
  SmallVector<unsigned> order; // the last index is the fastest
};
} // namespace

Value ParallelMapper::extent(unsigned d) {
  Value from = parallel.getLowerBound()[d], to = parallel.getUpperBound()[d], step = parallel.getStep()[d];
  std::optional<int64_t> first = getConstantIntValue(from), end = getConstantIntValue(to),
                         by = getConstantIntValue(step);
  if (first && end && by && *by > 0)
    return number(std::max<int64_t>(0, llvm::divideCeilSigned(*end - *first, *by)));
  if (first != 0)
    to = arith::SubIOp::create(builder, loc, to, from);
  if (by != 1)
    to = arith::CeilDivSIOp::create(builder, loc, to, step);
  return to.getDefiningOp<memref::DimOp>() ? to : arith::MaxSIOp::create(builder, loc, to, number(0)).getResult();
}

SmallVector<Value> ParallelMapper::iteration(OpBuilder &inside, ArrayRef<Value> indices) {
  IRMapping mapping;
  for (auto [d, index] : llvm::enumerate(llvm::to_vector(indices))) {
    Value from = parallel.getLowerBound()[d], step = parallel.getStep()[d];
    if (getConstantIntValue(step) != 1)
      index = arith::MulIOp::create(inside, loc, index, step);
    if (getConstantIntValue(from) != 0)
      index = arith::AddIOp::create(inside, loc, index, from);
    mapping.map(parallel.getInductionVars()[d], index);
  }
  for (Operation &op : parallel.getBody()->without_terminator())
    inside.clone(op, mapping);
  return llvm::map_to_vector(parallel.getBody()->getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// Lane i combines iterations i, i + 1024, ..; then one lane what they have made, in their order.
void ParallelMapper::reduce(Value total) {
  Value lanes = number(partialLanes), count = arith::MinSIOp::create(builder, loc, total, lanes);
  SmallVector<Value> partial;
  for (Type type : parallel.getResultTypes())
    partial.push_back(memref::AllocOp::create(builder, loc, MemRefType::get({partialLanes}, type)));
  std::optional<int64_t> known = getConstantIntValue(total);
  laneGrid(builder, loc, hierarchy, count, space(), [&](OpBuilder &inside, Value id, ArrayRef<Value> indices) {
    SmallVector<Value> values = iteration(inside, indices);
    if (!known || *known > partialLanes) {
      Value next = arith::AddIOp::create(inside, loc, id, lanes);
      auto loop = scf::ForOp::create(
          inside, loc, next, total, lanes, values, [&](OpBuilder &body, Location, Value i, ValueRange carried) {
            SmallVector<Value> more = iteration(body, space().indices(body, loc, i));
            scf::YieldOp::create(body, loc, combineReductions(body, parallel, carried, more));
          });
      values = llvm::to_vector_of<Value>(loop.getResults());
    }
    for (auto [value, memory] : llvm::zip_equal(values, partial))
      memref::StoreOp::create(inside, loc, value, memory, id);
  });
  auto loop = scf::ForOp::create(builder, loc, number(0), count, number(1), parallel.getInitVals(),
                                 [&](OpBuilder &body, Location, Value i, ValueRange carried) {
                                   SmallVector<Value> values;
                                   for (Value memory : partial)
                                     values.push_back(memref::LoadOp::create(body, loc, memory, i));
                                   scf::YieldOp::create(body, loc, combineReductions(body, parallel, carried, values));
                                 });
  parallel.replaceAllUsesWith(loop.getResults());
}

void ParallelMapper::run() {
  Value total;
  for (unsigned d = 0; d < parallel.getNumLoops(); ++d) {
    order.push_back(d);
    extents.push_back(extent(d));
    total = total ? arith::MulIOp::create(builder, loc, total, extents.back()).getResult() : extents.back();
  }
  if (parallel.getNumReductions() == 0)
    laneGrid(builder, loc, hierarchy, total, space(),
             [&](OpBuilder &inside, Value, ArrayRef<Value> indices) { iteration(inside, indices); });
  else
    reduce(total);
  parallel.erase();
}

namespace {
struct MapParallelToLanes : tilewright::impl::MapParallelToLanesBase<MapParallelToLanes> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<scf::ParallelOp> loops;
    function.walk<WalkOrder::PreOrder>([&](scf::ParallelOp op) {
      loops.push_back(op);
      return WalkResult::skip();
    });
    if (loops.empty())
      return;
    FailureOr<LaunchTarget> target = requireLaunches(function);
    if (failed(target))
      return signalPassFailure();
    bool hasLanes = !target->hierarchy.subgroup.empty();
    bool mayReassociate = Settings::of(function->getParentOfType<ModuleOp>()).mayReassociate();
    for (scf::ParallelOp loop : loops) {
      SmallVector<scf::ParallelOp> inner;
      loop.getBody()->walk([&](scf::ParallelOp op) { inner.push_back(op); });
      for (scf::ParallelOp op : inner)
        makeSequential(op);
      if (hasLanes && isForLanes(loop) && (mayReassociate || loop.getNumReductions() == 0))
        ParallelMapper(loop, target->hierarchy).run();
      else
        makeSequential(loop);
    }
  }
};
} // namespace
