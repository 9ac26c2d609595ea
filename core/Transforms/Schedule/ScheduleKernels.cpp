//===- ScheduleKernels.cpp - How nests are tiled, spread and placed -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the nests of a kernel, asks the model, has integer sets confirm what it
/// says, and writes the answer as an attribute.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/TileSets.h"
#include "core/CostModel/Schedules/NestSchedule.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "core/Transforms/Utils/NestStatement.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"

namespace tilewright {
#define GEN_PASS_DEF_SCHEDULEKERNELS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

//===-- What runs together ------------------------------------------------===//

/// Operations of the block of a kernel that run on cores together, in order.
using Work = SmallVector<Operation *>;

/// Whether `op` is spread over cores already: a launch, or a branch of the host program between some.
static bool isSpread(Operation *op) {
  return op->walk([](tile::ParallelOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// What has effects, one after the other; with everything in between where one uses what another one computed.
static SmallVector<Work> workOf(Block &block) {
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> place;
  llvm::SmallPtrSet<Operation *, 8> computed; // has effects, or uses what such a one computed
  SmallVector<unsigned> ends;                 // of each op, the place of the last one that must run with it
  auto hasEffects = [](Operation *op) {
    return !isSpread(op) && !isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op) && !isMemoryEffectFree(op);
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

//===-- One form of loops -------------------------------------------------===//

/// Loops with the iterations of `parallel`, which has no results; false where its bounds have no such form.
static bool makeLoops(AffineParallelOp parallel) {
  unsigned dims = parallel.getNumDims();
  for (unsigned d = 0; d < dims; ++d)
    if (parallel.getNumResults() || parallel.getLowerBoundMap(d).getNumResults() != 1 ||
        parallel.getUpperBoundMap(d).getNumResults() != 1)
      return false;
  OpBuilder builder(parallel);
  for (unsigned d = 0; d < dims; ++d) {
    auto loop =
        AffineForOp::create(builder, parallel.getLoc(), parallel.getLowerBoundsOperands(), parallel.getLowerBoundMap(d),
                            parallel.getUpperBoundsOperands(), parallel.getUpperBoundMap(d), parallel.getSteps()[d]);
    parallel.getIVs()[d].replaceAllUsesWith(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  Block *body = builder.getInsertionBlock();
  body->getOperations().splice(body->begin(), parallel.getBody()->getOperations(), parallel.getBody()->begin(),
                               std::prev(parallel.getBody()->end()));
  parallel.erase();
  return true;
}

/// Buffers of `root` that are larger than `most` bytes, or of a size that the program does not know, become arrays of
/// the program: with a dimension for each loop between, so that iterations keep apart.
static void liftBuffers(AffineForOp root, int64_t most) {
  SmallVector<memref::AllocOp> buffers;
  root.walk([&](memref::AllocOp buffer) {
    MemRefType type = buffer.getType();
    bool isSmall = type.hasStaticShape() && type.getNumElements() * elementBytes(type.getElementType()) <= most;
    bool isPlain = llvm::all_of(
        buffer->getUsers(), [](Operation *user) { return isa<AffineLoadOp, AffineStoreOp, memref::DeallocOp>(user); });
    if (!isSmall && isPlain)
      buffers.push_back(buffer);
  });
  for (memref::AllocOp buffer : buffers) {
    SmallVector<AffineForOp> around; // outermost first
    for (Operation *parent = buffer->getParentOp(); parent != root->getParentOp(); parent = parent->getParentOp())
      if (auto loop = dyn_cast<AffineForOp>(parent))
        around.insert(around.begin(), loop);
    OpBuilder builder(root);
    Location loc = buffer.getLoc();
    SmallVector<int64_t> shape;
    SmallVector<Value> sizes, ivs;
    bool known = true;
    for (AffineForOp loop : around) {
      known &= loop.getUpperBoundMap().getNumResults() == 1 && loop.hasConstantLowerBound();
      for (Value operand : loop.getUpperBoundOperands())
        known &= !root->isAncestor(operand.getParentRegion()->getParentOp());
      if (!known)
        break;
      ivs.push_back(loop.getInductionVar());
      shape.push_back(loop.hasConstantUpperBound() ? loop.getConstantUpperBound() : ShapedType::kDynamic);
      if (!loop.hasConstantUpperBound())
        sizes.push_back(
            AffineApplyOp::create(builder, loc, loop.getUpperBoundMap(), loop.getUpperBoundOperands()).getResult());
    }
    for (Value size : buffer.getDynamicSizes())
      known &= !root->isAncestor(size.getParentRegion()->getParentOp());
    if (!known)
      continue;
    llvm::append_range(shape, buffer.getType().getShape());
    llvm::append_range(sizes, buffer.getDynamicSizes());
    Value array = memref::AllocOp::create(builder, loc, MemRefType::get(shape, buffer.getType().getElementType()),
                                          sizes, buffer.getAlignmentAttr());
    for (Operation *user : llvm::make_early_inc_range(buffer->getUsers())) {
      if (isa<memref::DeallocOp>(user)) {
        user->erase();
        continue;
      }
      AffineAccess access = affineAccess(user);
      AffineMap map = access.map;
      unsigned dims = map.getNumDims();
      SmallVector<AffineExpr> results;
      for (unsigned i = 0; i < ivs.size(); ++i)
        results.push_back(builder.getAffineDimExpr(dims + i));
      llvm::append_range(results, map.getResults());
      map = AffineMap::get(dims + ivs.size(), map.getNumSymbols(), results, builder.getContext());
      access.operands.insert(access.operands.begin() + dims, ivs.begin(), ivs.end());
      moveAccess(user, array, map, access.operands);
    }
    buffer.erase();
  }
}

//===-- What integer sets see ---------------------------------------------===//

/// Whether integer sets find the boxes of `schedule`, and they fit `capacity`.
static bool confirm(const NestStatement &statement, const NestSchedule &schedule, int64_t capacity, int64_t align,
                    std::string &reason) {
  int64_t bytes = 0;
  for (const NestShape::Array &array : statement.shape.arrays)
    bytes += llvm::alignTo(array.localBytes, align);
  for (const NestSchedule::Place &place : schedule.places) {
    llvm::SmallMapVector<AffineForOp, int64_t, 4> tiles;
    Block *block = statement.loops.empty() ? nullptr : statement.loops.front()->getBlock();
    if (place.at >= 0) {
      AffineForOp at = statement.loops[place.at];
      block = at.getBody();
      // The whole band is cut at once: what is not cut is one tile.
      for (auto [i, each] : llvm::enumerate(statement.loops)) {
        AffineForOp loop = each;
        auto cut = llvm::find_if(schedule.tiles,
                                 [at = int64_t(i)](const NestSchedule::Tile &tile) { return tile.loop == at; });
        bool isAround = loop == at || loop->isAncestor(at);
        if (cut != schedule.tiles.end() && (statement.shape.loops[i].isBand || isAround))
          tiles[loop] = cut->size;
        else if (statement.shape.loops[i].isBand)
          tiles[loop] = statement.shape.loops[i].trips.value_or(1);
        if (statement.shape.loops[i].isBand && statement.shape.loops[place.at].isBand)
          block = loop.getBody();
      }
    } else if (!block) {
      block = statement.accesses.front()->getBlock();
    }
    TileSets sets(*block, tiles);
    TileRelation all, written;
    for (Operation *op : statement.accesses) {
      if (arrayOf(op) != statement.arrays[place.array] || !block->findAncestorOpInBlock(*op))
        continue;
      TileRelation touched = sets.touched(op);
      all = all ? all.unite(touched) : touched;
      if (isa<AffineStoreOp>(op))
        written = written ? written.unite(touched) : touched;
    }
    if (!all)
      return false;
    auto box = sets.box(all, cast<MemRefType>(statement.arrays[place.array].getType()), reason);
    if (!box)
      return false;
    if (place.stages > 1 && written && !sets.covers(written, *box)) {
      reason = "tiles write a part of what they touch";
      return false;
    }
    bytes += place.stages * llvm::alignTo(box->elements() * statement.shape.arrays[place.array].elementBytes, align);
  }
  if (bytes <= capacity)
    return true;
  reason = "what a tile touches takes " + std::to_string(bytes) + " bytes";
  return false;
}

//===-- The pass ----------------------------------------------------------===//

namespace {
struct ScheduleKernels : tilewright::impl::ScheduleKernelsBase<ScheduleKernels> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isKernel(function))
      return;
    FailureOr<CoreTarget> target = requireCores(function);
    if (failed(target))
      return signalPassFailure();
    prepare(function, target->hierarchy);
    for (const Work &work : workOf(function.front()))
      if (failed(schedule(work, *target)))
        return signalPassFailure();
  }

  /// Loops from 0 in steps of 1, and arrays of the program in place of what several nests share.
  static void prepare(func::FuncOp function, const CoreHierarchy &cores) {
    SmallVector<AffineParallelOp> parallel;
    for (Operation &op : function.front())
      op.walk([&](AffineParallelOp each) { parallel.push_back(each); });
    for (AffineParallelOp each : parallel)
      (void)makeLoops(each);
    SmallVector<AffineForOp> loops;
    function.walk([&](AffineForOp loop) {
      if (!loop->getParentOfType<tile::ParallelOp>())
        loops.push_back(loop);
    });
    for (AffineForOp loop : loops)
      (void)normalizeAffineFor(loop);
    for (auto buffer : llvm::make_early_inc_range(function.front().getOps<memref::AllocaOp>())) {
      OpBuilder builder(buffer);
      Value shared = memref::AllocOp::create(builder, buffer.getLoc(), buffer.getType(), buffer.getDynamicSizes(),
                                             buffer.getSymbolOperands(), buffer.getAlignmentAttr());
      buffer.replaceAllUsesWith(shared);
      buffer.erase();
    }
    for (auto loop : llvm::make_early_inc_range(function.front().getOps<AffineForOp>())) {
      if (loop.hasConstantBounds() && loop.getConstantUpperBound() <= loop.getConstantLowerBound())
        loop.erase(); // it computes nothing
      else
        liftBuffers(loop, cores.scratchpad->bytes / 4);
    }
  }

  /// Makes `work` neighbours and gives the first of them its schedule.
  LogicalResult schedule(const Work &work, const CoreTarget &target) {
    const CoreHierarchy &cores = target.hierarchy;
    Operation *first = work.front();
    if (first->hasAttr(tile::scheduleAttr))
      return success();
    for (Operation *op = first; op != work.back(); op = op->getNextNode())
      if (isSpread(op))
        return op->emitError() << "stands between two operations on cores, one of which uses what the other computed";
    for (Operation *op : ArrayRef(work).drop_back())
      op->moveBefore(work.back());
    const NestStatement statement = statementOf(work, cores);
    auto refuse = [&](Operation *at, const Twine &why) {
      return at->emitError() << why << "; the cores of " << target.chip->target() << ":" << target.chip->chip()
                             << " do not reach the memory \"" << cores.global->name
                             << "\". A copy engine from it to a register file would say that they do";
    };
    MLIRContext *context = &getContext();
    auto attach = [&](const NestSchedule &plan) {
      SmallVector<tile::TiledLoopAttr> loops;
      SmallVector<tile::PlacementAttr> places;
      for (const NestSchedule::Tile &tile : plan.tiles)
        loops.push_back(tile::TiledLoopAttr::get(context, tile.loop, tile.size, tile.spread));
      for (const NestSchedule::Place &place : plan.places)
        places.push_back(
            tile::PlacementAttr::get(context, place.array, place.at, cores.scratchpad->name, place.stages));
      first->setAttr(tile::scheduleAttr, tile::ScheduleAttr::get(context, cores.level, plan.members, work.size(), loops,
                                                                 places, /*step=*/0, /*parts=*/1, /*passes=*/1));
      return success();
    };
    if (statement.opaque || statement.strange) {
      Operation *at = statement.opaque ? statement.opaque : first;
      if (!cores.reachesGlobal)
        return refuse(at, statement.opaque ? "its elements are at indices that are computed, or it is no affine access"
                                           : "an array does not hold its elements row by row");
      return attach({});
    }
    std::string reason;
    int64_t considered = 0;
    int64_t align = scratchpadAlignment(cores);
    auto plan = planNestSchedule(
        statement.shape, cores, *target.chip,
        [&](const NestSchedule &each) { return confirm(statement, each, cores.scratchpad->bytes, align, reason); },
        reason, &considered);
    if (!plan)
      return refuse(first, reason);
    if (DecisionLog *log = DecisionLog::of(context))
      log->add("schedule-nest", first,
               llvm::json::Object{{"inputs", llvm::json::Object{{"loops", int64_t(statement.loops.size())},
                                                                {"arrays", int64_t(statement.arrays.size())},
                                                                {"scratchpad_bytes", cores.scratchpad->bytes},
                                                                {"considered", considered}}},
                                  {"choice", plan->toJSON()}});
    return attach(*plan);
  }
};
} // namespace
