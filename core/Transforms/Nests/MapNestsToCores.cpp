//===- MapNestsToCores.cpp - Nests on cores that program engines ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What no unit takes runs on the cores themselves: each gets one range of the
/// iterations of a parallel loop.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Host/HostExpressions.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/Cores.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPNESTSTOCORES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// A loop with the iterations of `parallel`, which has one dimension and no results; null otherwise.
static AffineForOp asLoop(AffineParallelOp parallel) {
  AffineMap lower = parallel.getLowerBoundMap(0), upper = parallel.getUpperBoundMap(0);
  if (parallel.getNumDims() != 1 || parallel.getNumResults() || lower.getNumResults() != 1 ||
      upper.getNumResults() != 1)
    return nullptr;
  OpBuilder builder(parallel);
  auto loop = AffineForOp::create(builder, parallel.getLoc(), parallel.getLowerBoundsOperands(), lower,
                                  parallel.getUpperBoundsOperands(), upper, parallel.getSteps().front());
  Block *body = loop.getBody();
  body->getTerminator()->erase();
  body->getOperations().splice(body->end(), parallel.getBody()->getOperations());
  parallel.getIVs().front().replaceAllUsesWith(loop.getInductionVar());
  parallel.erase();
  return loop;
}

/// The loop whose iterations are shared out: of the perfect band of parallel loops the first with enough iterations for
/// all cores, else the one with the most; null if the outermost loop carries a dependence.
static AffineForOp sharedLoop(AffineForOp root, int64_t cores) {
  AffineForOp best;
  int64_t most = 0;
  for (AffineForOp loop = root; loop;) {
    if (loop.getNumIterOperands() || loop.getUpperBoundMap().getNumResults() != 1 ||
        loop.getLowerBoundMap().getNumResults() != 1 || !isParallelLoop(loop))
      break;
    int64_t trips = loop.hasConstantBounds() ? loop.getConstantUpperBound() - loop.getConstantLowerBound() : cores;
    if (trips > most) {
      most = trips;
      best = loop;
    }
    if (trips >= cores)
      break;
    Block *body = loop.getBody();
    loop = llvm::hasNItems(body->without_terminator(), 1) ? dyn_cast<AffineForOp>(body->front()) : AffineForOp();
  }
  return best;
}

/// Restricts `loop` to range `core` of `cores`: with n iterations, core c does [c * ceil(n / cores), ...).
static void restrictTo(AffineForOp loop, Value core, int64_t cores) {
  // All bounds over the core's number and one list of operands.
  MLIRContext *context = loop.getContext();
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  unsigned lowerDims = lower.getNumDims(), upperDims = upper.getNumDims();
  SmallVector<Value> operands{core};
  llvm::append_range(operands, loop.getLowerBoundOperands().take_front(lowerDims));
  llvm::append_range(operands, loop.getUpperBoundOperands().take_front(upperDims));
  llvm::append_range(operands, loop.getLowerBoundOperands().drop_front(lowerDims));
  llvm::append_range(operands, loop.getUpperBoundOperands().drop_front(upperDims));
  AffineExpr begin = lower.getResult(0).shiftDims(lowerDims, 1);
  AffineExpr end =
      upper.getResult(0).shiftDims(upperDims, 1 + lowerDims).shiftSymbols(upper.getNumSymbols(), lower.getNumSymbols());
  int64_t step = loop.getStepAsInt();
  AffineExpr share = (end - begin).ceilDiv(step).ceilDiv(cores) * step, number = getAffineDimExpr(0, context);
  unsigned dims = 1 + lowerDims + upperDims, symbols = lower.getNumSymbols() + upper.getNumSymbols();
  auto set = [&](ArrayRef<AffineExpr> results, bool isLower) {
    AffineMap map = simplifyAffineMap(AffineMap::get(dims, symbols, results, context));
    SmallVector<Value> values(operands);
    canonicalizeMapAndOperands(&map, &values);
    isLower ? loop.setLowerBound(values, map) : loop.setUpperBound(values, map);
  };
  set({begin + number * share}, true);
  set({begin + (number + 1) * share, end}, false);
}

/// The value as it is inside of `region`: what only a core can hold, such as a mask, is computed there.
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

/// Operations of the block of a kernel that run on cores together, in order.
using Work = SmallVector<Operation *>;

/// What has effects, one after the other; with everything in between where one uses what another one computed, as the
/// vectors of a short row that became straight code do.
static SmallVector<Work> workOf(Block &block) {
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> place;
  llvm::SmallPtrSet<Operation *, 8> computed; // has effects, or uses what such a one computed
  SmallVector<unsigned> ends;                 // of each op, the place of the last one that must run with it
  auto hasEffects = [](Operation *op) {
    return !isa<tile::ParallelOp, memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op) && !isMemoryEffectFree(op);
  };
  for (Operation &op : block.without_terminator()) {
    place[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Operation *op : ops) {
    unsigned end = place[op];
    if (hasEffects(op))
      computed.insert(op);
    if (computed.contains(op))
      for (Operation *user : op->getUsers()) {
        Operation *later = block.findAncestorOpInBlock(*user);
        computed.insert(later);
        end = std::max(end, place.lookup(later));
      }
    ends.push_back(end);
  }
  SmallVector<Work> result;
  unsigned end = 0; // of the last piece of work
  for (auto [at, op] : llvm::enumerate(ops)) {
    if (!computed.contains(op))
      continue;
    if (result.empty() || at > end)
      result.emplace_back();
    result.back().push_back(op);
    end = std::max(end, ends[at]);
  }
  return result;
}

namespace {
struct MapNestsToCores : tilewright::impl::MapNestsToCoresBase<MapNestsToCores> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isKernel(function))
      return;
    FailureOr<CoreTarget> target = requireCores(function);
    if (failed(target))
      return signalPassFailure();
    const CoreHierarchy &cores = target->hierarchy;
    for (const Work &work : workOf(function.front())) {
      if (!cores.reachesGlobal) {
        work.front()->emitError() << "runs on the core itself, which does not reach the memory \"" << cores.global->name
                                  << "\" of " << target->chip->target() << ":" << target->chip->chip()
                                  << "; a copy engine from it to a register file would say so";
        return signalPassFailure();
      }
      for (Operation *op = work.front(); op != work.back(); op = op->getNextNode())
        if (isa<tile::ParallelOp>(op)) {
          op->emitError() << "stands between two operations on cores, one of which uses what the other computed";
          return signalPassFailure();
        }
      map(work, cores);
    }
    sinkStackBuffers(function);
  }

  /// One loop on all cores, anything else on one.
  static void map(Work work, const CoreHierarchy &cores) {
    AffineForOp shared;
    if (auto parallel = work.size() == 1 ? dyn_cast<AffineParallelOp>(work.front()) : AffineParallelOp()) {
      shared = asLoop(parallel);
      if (shared)
        work.front() = shared;
    } else if (auto loop = work.size() == 1 ? dyn_cast<AffineForOp>(work.front()) : AffineForOp()) {
      shared = sharedLoop(loop, cores.cores);
    }
    OpBuilder builder(work.back()->getContext());
    builder.setInsertionPointAfter(work.back()); // which moves into the body
    int64_t members = shared ? cores.cores : 1;
    auto parallel = tile::ParallelOp::create(builder, work.front()->getLoc(),
                                             AffineMap::get(0, 0, builder.getAffineConstantExpr(members)), ValueRange(),
                                             cores.level, [&](OpBuilder &inner, Location, ValueRange index) {
                                               for (Operation *op : work)
                                                 op->moveBefore(inner.getInsertionBlock(), inner.getInsertionPoint());
                                               if (shared)
                                                 restrictTo(shared, index.front(), members);
                                             });
    sinkOperands(parallel);
  }

  /// Private buffers belong to the core that uses them; those that several nests use are temporaries of the program.
  static void sinkStackBuffers(func::FuncOp function) {
    Block &top = function.front();
    for (auto buffer : llvm::make_early_inc_range(top.getOps<memref::AllocaOp>())) {
      llvm::SmallSetVector<Operation *, 2> users;
      for (Operation *user : buffer->getUsers())
        users.insert(top.findAncestorOpInBlock(*user));
      auto only = users.size() == 1 ? dyn_cast<tile::ParallelOp>(users.front()) : tile::ParallelOp();
      if (only) {
        buffer->moveBefore(&only.getBody().front().front());
        continue;
      }
      OpBuilder builder(buffer);
      Value shared = memref::AllocOp::create(builder, buffer.getLoc(), buffer.getType(), buffer.getDynamicSizes(),
                                             buffer.getSymbolOperands(), buffer.getAlignmentAttr());
      buffer.replaceAllUsesWith(shared);
      buffer.erase();
    }
  }
};
} // namespace
