//===- PipelineTiles.cpp - Copies beside the work on a tile ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Moves copies of a loop over tiles to the iteration before, and waits to the
/// one after.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {
#define GEN_PASS_DEF_PIPELINETILES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// One loop over tiles, taken apart.
class TilePipeline {
public:
  TilePipeline(AffineForOp loop, int64_t stages) : loop(loop), stages(stages) {}
  LogicalResult run();

private:
  LogicalResult takeApart();
  SmallVector<Value> copyIn(OpBuilder &builder, AffineExpr from, ValueRange dims, ValueRange otherwise);

  AffineForOp loop;
  int64_t stages;
  SmallVector<Operation *> in, work, out; // of the body; waits and the terminator are in none
  SmallVector<Value> inTokens, outTokens;
};
} // namespace

/// The body is: copies in, their wait, the work, copies out, their wait; either pair may be missing.
LogicalResult TilePipeline::takeApart() {
  Block *body = loop.getBody();
  auto isCopying = [](Operation *op) { // a copy, or loops of copies
    auto inner = dyn_cast<AffineForOp>(op);
    return isa<tile::CopyOp>(op) ||
           (inner && inner->getNumResults() && isa<tile::TokenType>(inner.getResult(0).getType()));
  };
  auto begin = body->begin(), end = std::prev(body->end());
  auto first = begin;
  while (first != end && (isCopying(&*first) || isa<tile::DoneOp, tile::AllocOp>(&*first)))
    ++first;
  if (first != end && isa<tile::WaitOp>(&*first)) {
    for (Operation &op : llvm::make_range(begin, first))
      if (!isa<tile::AllocOp>(op))
        in.push_back(&op);
    inTokens.assign(first->getOperands().begin(), first->getOperands().end());
    begin = std::next(first);
    first->erase();
  }
  if (begin != end && isa<tile::WaitOp>(&*std::prev(end))) {
    Operation *wait = &*std::prev(end);
    outTokens.assign(wait->getOperands().begin(), wait->getOperands().end());
    end = std::prev(end);
    while (end != begin && (isCopying(&*std::prev(end)) || isa<tile::DoneOp>(&*std::prev(end))))
      --end;
    for (Operation &op : llvm::make_range(end, wait->getIterator()))
      out.push_back(&op);
    wait->erase();
  }
  for (Operation &op : llvm::make_range(begin, end))
    work.push_back(&op);
  if (inTokens.empty() && outTokens.empty())
    return loop.emitError() << "has " << stages << " stages but no copies around its work";
  return success();
}

/// Copies in of the iteration that begins at `from`, if it runs; its tokens, else `otherwise`.
SmallVector<Value> TilePipeline::copyIn(OpBuilder &builder, AffineExpr from, ValueRange dims, ValueRange otherwise) {
  // from <= u < min(from + 1, ends): none or one.
  AffineMap upper = loop.getUpperBoundMap();
  SmallVector<Value> operands(dims);
  llvm::append_range(operands, loop.getUpperBoundOperands().take_front(upper.getNumDims()));
  llvm::append_range(operands, loop.getUpperBoundOperands().drop_front(upper.getNumDims()));
  SmallVector<AffineExpr> ends{from + 1};
  for (AffineExpr end : upper.getResults())
    ends.push_back(end.shiftDims(upper.getNumDims(), dims.size()));
  AffineMap to = simplifyAffineMap(
      AffineMap::get(dims.size() + upper.getNumDims(), upper.getNumSymbols(), ends, builder.getContext()));
  canonicalizeMapAndOperands(&to, &operands);
  AffineMap low = AffineMap::get(dims.size(), 0, from);
  SmallVector<Value> lowOperands(dims);
  canonicalizeMapAndOperands(&low, &lowOperands);
  auto once = AffineForOp::create(builder, loop.getLoc(), lowOperands, low, operands, to, 1, otherwise,
                                  [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder inner = OpBuilder::atBlockBegin(once.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), once.getInductionVar());
  for (Operation *op : in)
    inner.clone(*op, mapping);
  SmallVector<Value> tokens;
  for (Value token : inTokens)
    tokens.push_back(mapping.lookup(token));
  AffineYieldOp::create(inner, loop.getLoc(), tokens);
  return SmallVector<Value>(once.getResults());
}

LogicalResult TilePipeline::run() {
  if (loop.getLowerBoundMap().getNumResults() != 1 || loop.getNumIterOperands() != 0 || stages != 2)
    return loop.emitError() << "with " << stages << " stages; a pipeline has 2, and its loop begins at one value";
  if (failed(takeApart()))
    return failure();
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  SmallVector<Value> none;
  for (size_t i = 0; i < std::max(inTokens.size(), outTokens.size()); ++i)
    none.push_back(tile::DoneOp::create(builder, loc));
  SmallVector<Value> init;
  if (!in.empty()) {
    // The first iteration's dimension is the value at which the loop begins.
    Value begin = AffineApplyOp::create(builder, loc, loop.getLowerBoundMap(), loop.getLowerBoundOperands());
    init = copyIn(builder, builder.getAffineDimExpr(0), begin, ArrayRef(none).take_front(inTokens.size()));
  }
  // What goes out keeps its stage for one more iteration.
  for (int64_t stage = 0; stage < stages; ++stage)
    llvm::append_range(init, ArrayRef(none).take_front(outTokens.size()));
  auto steady = AffineForOp::create(builder, loc, loop.getLowerBoundOperands(), loop.getLowerBoundMap(),
                                    loop.getUpperBoundOperands(), loop.getUpperBoundMap(), 1, init,
                                    [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder inner = OpBuilder::atBlockBegin(steady.getBody());
  ValueRange carried = steady.getRegionIterArgs();
  SmallVector<Value> next;
  if (!in.empty())
    next = copyIn(inner, inner.getAffineDimExpr(0) + 1, steady.getInductionVar(), carried.take_front(inTokens.size()));
  SmallVector<Value> awaited(carried.take_front(inTokens.size() + outTokens.size()));
  tile::WaitOp::create(inner, loc, awaited);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), steady.getInductionVar());
  for (Operation *op : work)
    inner.clone(*op, mapping);
  for (Operation *op : out)
    inner.clone(*op, mapping);
  llvm::append_range(next, carried.drop_front(inTokens.size() + outTokens.size()));
  for (Value token : outTokens)
    next.push_back(mapping.lookup(token));
  AffineYieldOp::create(inner, loc, next);
  tile::WaitOp::create(builder, loc, steady.getResults().drop_front(inTokens.size()));
  loop.erase();
  return success();
}

namespace {
struct PipelineTiles : tilewright::impl::PipelineTilesBase<PipelineTiles> {
  void runOnOperation() override {
    SmallVector<std::pair<AffineForOp, int64_t>> loops;
    getOperation().walk([&](AffineForOp loop) {
      if (auto stages = loop->getAttrOfType<IntegerAttr>(tile::stagesAttr))
        loops.push_back({loop, stages.getInt()});
    });
    for (auto [loop, stages] : loops) {
      loop->removeAttr(tile::stagesAttr);
      if (failed(TilePipeline(loop, stages).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
