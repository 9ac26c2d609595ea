//===- VectorizeNests.cpp - Vectorise memory-bound nests ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the nests of a kernel, flattens what is contiguous, and has each one
// rewritten; a nest that stays scalar says why in a remark.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Elementwise.h"
#include "core/Analysis/Instructions.h"
#include "core/Analysis/LoopDependence.h"
#include "core/CostModel/Machine/PassModel.h"
#include "core/Transforms/Nests/BoolBytes.h"
#include "core/Transforms/Nests/NestVectorizer.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/NestTime.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include <numeric>

namespace tilewright {
#define GEN_PASS_DEF_VECTORIZENESTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// A nest whose every access is `memref[i, j, ..]` over all its loops, on equal static shapes: one loop over the
/// elements in memory order, so that short inner dimensions cost no tails. What comes from memory is cut into a range a
/// core and each of these into some that run at once (`MemoryModel::rowsAtOnce`), if they are whole lines.
void flatten(AffineForOp root, const MemoryModel &model, int64_t threads) {
  auto nest = analyzeNest(root);
  if (failed(nest) || nest->depth() < 2)
    return;
  int64_t total = 1;
  SmallVector<int64_t> shape;
  for (std::optional<int64_t> trips : nest->tripCounts) {
    if (!trips)
      return;
    shape.push_back(*trips);
    total *= *trips;
  }
  auto isWhole = [&](const Access &access) {
    auto type = cast<MemRefType>(access.memref.getType());
    return access.map.isIdentity() && type.getLayout().isIdentity() && type.getShape() == ArrayRef(shape);
  };
  if (!llvm::all_of(nest->loads, isWhole) || !llvm::all_of(nest->stores, isWhole) || total == 0)
    return;
  if (llvm::any_of(nest->loops, usesNumber))
    return;

  llvm::SmallDenseSet<Value> buffers;
  int64_t bytes = 0, line = 1; // of all buffers; elements of the narrowest one in a line
  for (const auto &accesses : {ArrayRef(nest->loads), ArrayRef(nest->stores)})
    for (const Access &access : accesses) {
      Type element = elementOf(access.memref);
      int64_t width = element.isIntOrFloat() ? elementBytes(element) : 8;
      bytes += buffers.insert(access.memref).second ? total * width : 0;
      line = std::max(line, model.lineBytes() / width);
    }
  SmallVector<int64_t> ranges;
  if (model.isFromMemory(bytes) && total % (threads * model.rowsAtOnce() * line) == 0)
    ranges = threads > 1 ? SmallVector<int64_t>{threads, model.rowsAtOnce()} : SmallVector<int64_t>{model.rowsAtOnce()};

  OpBuilder b(root);
  Location loc = root.getLoc();
  AffineForOp first, loop;
  SmallVector<Value> ivs;
  AffineExpr position = b.getAffineConstantExpr(0);
  int64_t left = total;
  ranges.push_back(total / std::accumulate(ranges.begin(), ranges.end(), int64_t{1}, std::multiplies<>()));
  OpBuilder at(root);
  for (auto [dim, count] : llvm::enumerate(ranges)) {
    loop = AffineForOp::create(at, loc, 0, count);
    at.setInsertionPointToStart(loop.getBody());
    first = first ? first : loop;
    left /= count;
    position = position + b.getAffineDimExpr(dim) * left;
    ivs.push_back(loop.getInductionVar());
  }
  llvm::SmallDenseMap<Value, Value> flat;
  auto flatOf = [&](Value memref) {
    Value &value = flat[memref];
    if (!value) {
      OpBuilder before(first);
      ReassociationIndices all(llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
      value = memref::CollapseShapeOp::create(before, loc, memref, SmallVector<ReassociationIndices>{all});
    }
    return value;
  };
  loop.getBody()->getOperations().splice(loop.getBody()->begin(), nest->body->getOperations(), nest->body->begin(),
                                         std::prev(nest->body->end()));
  AffineMap map = AffineMap::get(ranges.size(), 0, position);
  for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
    b.setInsertionPoint(&op);
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      Value value = AffineLoadOp::create(b, load.getLoc(), flatOf(load.getMemRef()), map, ivs);
      load.getResult().replaceAllUsesWith(value);
      load.erase();
    } else if (auto store = dyn_cast<AffineStoreOp>(op)) {
      AffineStoreOp::create(b, store.getLoc(), store.getValueToStore(), flatOf(store.getMemRef()), map, ivs);
      store.erase();
    }
  }
  root.erase();
}

/// Takes several rows of sums at once:
///
///   affine.for i { s[i] = 0; affine.for k { s[i] += x[i, k] * y[k] } }
///   ->
///   affine.for i4 { s[4 i4] = 0; s[4 i4 + 1] = 0; ..
///                   affine.for k { s[4 i4] += x[4 i4, k] * y[k]; s[4 i4 + 1] += x[4 i4 + 1, k] * y[k]; .. } }
///
/// where rows lie on pages of their own and come from memory, of which several rows keep more busy, or where all of
/// them read one row, which is then loaded once.
void jamSums(AffineForOp rows, const MemoryModel &model) {
  auto inner = rows.getBody()->getOps<AffineForOp>();
  std::optional<uint64_t> count = getConstantTripCount(rows);
  if (!llvm::hasSingleElement(inner) || rows.getNumIterOperands() != 0 || succeeded(analyzeNest(rows)) ||
      (count && int64_t(*count) <= model.rowsAtOnce()))
    return;
  FailureOr<Nest> nest = analyzeNest(*inner.begin());
  if (failed(nest) || nest->depth() != 1 || nest->stores.empty())
    return;
  auto isOwn = [&](const Access &access) { return llvm::is_contained(access.symbols, rows.getInductionVar()); };
  if (!llvm::all_of(nest->stores, [&](const Access &sum) { return !sum.dims().test(0) && isOwn(sum); }))
    return;
  bool isShared = false, isApart = false;
  int64_t bytes = 0;
  for (const Access &load : nest->loads) {
    auto type = cast<MemRefType>(load.memref.getType());
    if (!load.dims().test(0) || load.stride(0) != 1 || !type.getElementType().isIntOrFloat())
      continue;
    isShared |= !isOwn(load);
    if (!isOwn(load) || !type.hasStaticShape() || !nest->tripCounts[0])
      continue;
    int64_t width = elementBytes(type.getElementType());
    isApart |= *nest->tripCounts[0] * width >= model.pageBytes();
    bytes += type.getNumElements() * width;
  }
  bool isPlain = llvm::all_of(*rows.getBody(), [](Operation &op) {
    return isa<AffineForOp, AffineLoadOp, AffineStoreOp, AffineApplyOp, AffineYieldOp>(op) || isPure(&op);
  });
  Operation *around = rows->getParentOp();
  if (isPlain && (isShared || (isApart && model.isFromMemory(bytes))) && isParallelLoop(rows) &&
      succeeded(loopUnrollJamByFactor(rows, model.rowsAtOnce())))
    composeAccesses(around); // so that stores of neighbouring rows are seen to be apart
}

/// Bytes of a buffer of constant shape.
int64_t staticBytes(MemRefType type) { return type.getNumElements() * elementBytes(type.getElementType()); }

/// Bytes of the buffers that a loop touches, nullopt if one has a dynamic shape; and the vector operations of one pass.
std::optional<double> bytesTouched(AffineForOp loop) {
  llvm::SmallDenseSet<Value> seen;
  double bytes = 0;
  bool isKnown = true;
  loop.walk([&](Operation *op) {
    Value memref;
    if (auto load = dyn_cast<AffineLoadOp>(op))
      memref = load.getMemRef();
    else if (auto store = dyn_cast<AffineStoreOp>(op))
      memref = store.getMemRef();
    if (!memref || !seen.insert(memref).second)
      return;
    if (memref.getDefiningOp() && loop->isAncestor(memref.getDefiningOp()))
      return;
    auto type = cast<MemRefType>(memref.getType());
    isKnown &= type.hasStaticShape();
    if (type.hasStaticShape() && type.getElementType().isIntOrIndexOrFloat())
      bytes += static_cast<double>(staticBytes(type));
  });
  return isKnown ? std::optional(bytes) : std::nullopt;
}

/// Weight of a nest's body, in instructions.
int64_t weight(const Nest &nest) {
  int64_t sum = 0;
  for (Operation &op : *nest.body)
    sum += instructionsOf(&op);
  return sum;
}

struct VectorizeNests : tilewright::impl::VectorizeNestsBase<VectorizeNests> {
  int64_t threads = 1;
  double touched = 0; // bytes of the outermost loop that is being vectorised

  /// Whether the iterations of `loop` should run on several cores: they are independent, keep their private buffers on
  /// the stack, and take long enough. Asked while all accesses are scalar.
  bool runsParallel(AffineForOp loop, const MemoryModel &model) {
    if (threads < 2 || !isParallelLoop(loop))
      return false;
    if (loop.hasConstantUpperBound() && loop.getConstantUpperBound() < 2)
      return false;
    int64_t stack = 0;
    bool fits = true;
    loop.walk([&](memref::AllocOp buffer) {
      MemRefType type = buffer.getType();
      fits &= type.hasStaticShape();
      if (type.hasStaticShape())
        stack += staticBytes(type);
    });
    auto bytes = bytesTouched(loop);
    // Unknown sizes are taken for large ones: a small one pays the launch.
    return fits && stack <= model.stackBytes() && (!bytes || model.parallel(model.seconds(*bytes, 0), threads));
  }

  /// Rows that several passes go over: the pass that computes most fetches what the next row's passes touch meanwhile.
  struct RowPrefetch {
    AffineForOp nest;
    SmallVector<Access, 0> loads;  // rows that the first pass reads
    SmallVector<Access, 0> stores; // rows of memory that any pass writes
    bool near = true;              // the rows fit the nearest cache beside those that are worked on
  };
  std::optional<RowPrefetch> planPrefetch(AffineForOp rows, const MemoryModel &model) {
    SmallVector<Nest, 0> passes;
    for (AffineForOp loop : rows.getBody()->getOps<AffineForOp>()) {
      auto nest = analyzeNest(loop);
      if (failed(nest) || nest->depth() != 1)
        return std::nullopt;
      passes.push_back(*nest);
    }
    if (passes.size() < 2)
      return std::nullopt;
    Nest &heaviest = *std::max_element(passes.begin(), passes.end(),
                                       [](const Nest &a, const Nest &b) { return weight(a) < weight(b); });
    std::optional<int64_t> trips = passes.front().tripCounts[0];
    auto rowBytes = [&](const Access &access) {
      return *trips * elementBytes(cast<MemRefType>(access.memref.getType()).getElementType());
    };
    // Whether an access goes along a row that the loop over rows moves on from, of an array that others see.
    auto isRow = [&](const Access &access) {
      Operation *definition = access.memref.getDefiningOp();
      auto type = cast<MemRefType>(access.memref.getType());
      return access.stride(0) == 1 && !type.getMemorySpace() && // what is near is not fetched
             llvm::is_contained(access.symbols, rows.getInductionVar()) &&
             !(definition && rows->isAncestor(definition)) && type.getElementType().isIntOrFloat() && trips &&
             trips == heaviest.tripCounts[0] && rowBytes(access) <= model.rowBytes();
    };
    RowPrefetch plan{heaviest.root(), {}, {}, true};
    for (const Access &load : passes.front().loads) {
      // Neighbours in one row (the taps of a stencil) are in the same lines.
      auto isNeighbour = [&](const Access &other) {
        return other.memref == load.memref && other.symbols == load.symbols &&
               llvm::all_of(llvm::zip(other.map.getResults(), load.map.getResults()), [&](auto pair) {
                 auto [x, y] = pair;
                 return isa<AffineConstantExpr>(simplifyAffineExpr(x - y, 1, load.map.getNumSymbols()));
               });
      };
      if (isRow(load) && llvm::none_of(plan.loads, isNeighbour))
        plan.loads.push_back(load);
    }
    if (plan.loads.empty())
      return std::nullopt;
    llvm::SmallDenseSet<Value> seen;
    double near = 0; // bytes of this row's passes, and of the next row
    for (const Nest &pass : passes)
      for (const auto *accesses : {&pass.loads, &pass.stores})
        for (const Access &access : *accesses)
          if (access.stride(0) != 0 && cast<MemRefType>(access.memref.getType()).getElementType().isIntOrFloat() &&
              seen.insert(access.memref).second)
            near += double(rowBytes(access));
    for (const Access &load : plan.loads)
      near += double(rowBytes(load));
    plan.near = model.staysNear(int64_t(near));
    // A line that is not in the caches is read before it is written, and the stores wait for it. A prefetch saves that
    // wait; where the caches hold the arrays it would only take issue slots.
    std::optional<double> bytes = bytesTouched(rows);
    // The caller's array is in no cache either; it is not streamed if a later pass reads it.
    auto isMissed = [&](const Access &store) {
      return model.isFromMemory(int64_t(*bytes)) ||
             (isa<BlockArgument>(store.memref) &&
              model.streamsResult(staticBytes(cast<MemRefType>(store.memref.getType())), touched));
    };
    if (bytes)
      for (const Nest &pass : passes)
        for (const Access &store : pass.stores)
          if (isRow(store) && pass.tripCounts[0] == trips && isMissed(store) &&
              !NestVectorizer::goesPastCaches(store, 0, *trips, model, touched) &&
              llvm::none_of(plan.loads, [&](const Access &load) { return load.memref == store.memref; }) &&
              llvm::none_of(plan.stores, [&](const Access &other) { return other.memref == store.memref; }))
            plan.stores.push_back(store);
    return plan;
  }

  /// The modelled time of `loop`, unless it is over tiles of a contraction, whose plan has it.
  void logTime(AffineForOp loop, const NestContext &context) {
    auto isTile = [](Operation *op) {
      return isa_and_nonnull<tile::TileDialect, vector::VectorDialect>(op->getDialect()) ? WalkResult::interrupt()
                                                                                         : WalkResult::advance();
    };
    if (!loop.walk(isTile).wasInterrupted())
      logNestTime(loop, context.chip, runsParallel(loop, context.model) ? threads : 1);
  }

  void vectorizeBlock(Block &block, const MemoryModel &model, bool mayReassociate, AffineForOp rows) {
    for (auto choice : block.getOps<scf::IfOp>()) // of a pipeline: not every iteration has a tile of each loop
      for (Region *region : choice.getRegions())
        if (!region->empty())
          vectorizeBlock(region->front(), model, mayReassociate, rows);
    for (auto loop : llvm::make_early_inc_range(block.getOps<AffineForOp>()))
      flatten(loop, model, threads);
    if (mayReassociate) {
      for (auto loop : llvm::make_early_inc_range(block.getOps<AffineForOp>()))
        jamSums(loop, model);
      for (auto loop : llvm::make_early_inc_range(block.getOps<AffineForOp>()))
        if (!loop->hasAttr(tile::atAttr)) // its bounds alone name the member of the level
          (void)normalizeAffineFor(loop);
    }
    std::optional<RowPrefetch> prefetch;
    if (rows)
      prefetch = planPrefetch(rows, model);
    for (auto loop : llvm::make_early_inc_range(block.getOps<AffineForOp>())) {
      bool isParallel = !rows && runsParallel(loop, model);
      if (!rows)
        touched = bytesTouched(loop).value_or(0);
      auto nest = analyzeNest(loop);
      if (failed(nest)) {
        // Loops over tiles carry the tokens of their copies.
        bool carriesValues = llvm::any_of(loop.getResultTypes(), [](Type type) { return !isa<tile::TokenType>(type); });
        if (!carriesValues) {
          vectorizeBlock(*loop.getBody(), model, mayReassociate, loop);
          if (isParallel)
            (void)affineParallelize(loop);
        }
        continue;
      }
      NestVectorizer vectorizer(*nest, model, mayReassociate);
      vectorizer.within(touched);
      std::string reason;
      if (!vectorizer.choose(reason)) {
        if (!nest->stores.empty()) // else nothing is left in it, or its accesses are vectors already
          loop.emitRemark("this nest stays scalar: ") << reason;
        if (isParallel)
          (void)affineParallelize(loop);
        continue;
      }
      bool overLanes = isParallel && nest->depth() == 1 && !vectorizer.hasSums();
      if (overLanes)
        vectorizer.splitOverCores(threads);
      if (prefetch && prefetch->nest == loop) {
        for (const Access &load : prefetch->loads)
          vectorizer.prefetchNext({load, rows.getInductionVar(), prefetch->near, /*written=*/false});
        for (const Access &store : prefetch->stores)
          vectorizer.prefetchNext({store, rows.getInductionVar(), prefetch->near, /*written=*/true});
      }
      if (DecisionLog *log = DecisionLog::of(&getContext()))
        log->add(
            "vectorize-nest", loop,
            llvm::json::Object{{"inputs", llvm::json::Object{{"loops", static_cast<int64_t>(nest->depth())},
                                                             {"vector_bytes", model.vectorBytes()},
                                                             {"stream_threshold_bytes", model.streamThreshold()},
                                                             {"threads", threads}}},
                               {"choice", llvm::json::Object{{"lane_loop", static_cast<int64_t>(vectorizer.lane())},
                                                             {"lanes", vectorizer.width()},
                                                             {"vectors", vectorizer.copies()},
                                                             {"rows_at_once", vectorizer.steps()},
                                                             {"lane_block", vectorizer.lanesAtOnce()},
                                                             {"turned_loads", vectorizer.turns()},
                                                             {"streaming_store", vectorizer.streams()},
                                                             {"prefetch_next_row", prefetch && prefetch->nest == loop},
                                                             {"parallel", isParallel}}}});
      for (AffineForOp outer : vectorizer.rewrite())
        if (isParallel && !overLanes)
          (void)affineParallelize(outer);
    }
  }

  /// Buffers that fusion put into loops: in front of the loops again, small ones on the stack.
  void placeBuffers(const MemoryModel &model) {
    func::FuncOp function = getOperation();
    int64_t stack = 0;
    SmallVector<memref::AllocOp> buffers;
    function.walk([&](memref::AllocOp buffer) {
      if (buffer->getParentOfType<AffineForOp>() || buffer->getParentOfType<AffineParallelOp>())
        buffers.push_back(buffer);
    });
    for (memref::AllocOp buffer : buffers) {
      MemRefType type = buffer.getType();
      Operation *outermost = buffer;
      while (!isa<func::FuncOp, AffineParallelOp, tile::ParallelOp>(outermost->getParentOp()))
        outermost = outermost->getParentOp();
      buffer->moveBefore(outermost);
      if (!type.hasStaticShape())
        continue;
      int64_t bytes = staticBytes(type);
      if (stack + bytes > model.stackBytes())
        continue;
      stack += bytes;
      OpBuilder b(buffer);
      auto onStack = memref::AllocaOp::create(b, buffer.getLoc(), type,
                                              b.getI64IntegerAttr(std::max<int64_t>(model.lineBytes(), 16)));
      buffer.getResult().replaceAllUsesWith(onStack.getResult());
      buffer.erase();
    }
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    LogicalResult done = withMemoryModel(function, [&](const NestContext &context) {
      threads = context.settings.threads;
      // Engines that fill a core's memory copy arrays as they are.
      if (context.model.vectorBytes() != 0 && !context.chip.graph().threadMemory())
        accessBoolsAsBytes(function);
      if (DecisionLog::of(&getContext()) && PassModel(context.chip).onCaches())
        for (AffineForOp loop : function.getOps<AffineForOp>())
          logTime(loop, context);
      for (Block &block : function.getBody())
        vectorizeBlock(block, context.model, context.settings.mayReassociate(), {});
      // What is spread over a level already is the program of one member.
      threads = 1;
      function.walk([&](tile::ParallelOp level) {
        vectorizeBlock(level.getBody().front(), context.model, context.settings.mayReassociate(), {});
      });
      placeBuffers(context.model);
    });
    if (failed(done))
      signalPassFailure();
  }
};

} // namespace
