//===- SplitReductions.cpp - Sums over more blocks than C has tiles -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A contraction whose result has too few tiles for the chip becomes a batch of
/// contractions over parts of the sum, and a nest that adds the parts up.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/CostModel/Schedules/SplitModel.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Loops from 0 to `extents`, one inside the other; the builder stands in the innermost. Their induction variables.
static SmallVector<Value> loopNest(OpBuilder &builder, Location loc, ArrayRef<int64_t> extents) {
  SmallVector<Value> ivs;
  for (int64_t extent : extents) {
    auto loop = AffineForOp::create(builder, loc, 0, extent);
    ivs.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  return ivs;
}

/// Rewrites `c` with `parts` parts of dimension `split`.
static void split(const Contraction &c, unsigned splitDim, int64_t parts) {
  AffineForOp root = Nest(c.nest).root();
  Location loc = root.getLoc();
  OpBuilder builder(root);
  MLIRContext *context = builder.getContext();
  unsigned depth = c.nest.depth();
  SmallVector<unsigned> kept; // dimensions of the result, in the order of the loops
  SmallVector<int64_t> shape{parts}, trips{parts};
  for (unsigned dim = 0; dim < depth; ++dim)
    if (c.c.dims().test(dim)) {
      kept.push_back(dim);
      shape.push_back(*c.nest.tripCounts[dim]);
    }
  for (unsigned dim = 0; dim < depth; ++dim)
    trips.push_back(*c.nest.tripCounts[dim] / (dim == splitDim ? parts : 1));
  Value partial = memref::AllocOp::create(builder, loc, MemRefType::get(shape, c.accumulator));

  // Zeros, then all products of a part.
  {
    OpBuilder::InsertionGuard guard(builder);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(c.accumulator));
    SmallVector<Value> ivs = loopNest(builder, loc, shape);
    AffineStoreOp::create(builder, loc, zero, partial, ivs);
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> ivs = loopNest(builder, loc, trips); // the part, then the dimensions of the nest
    SmallVector<AffineExpr> places;
    for (unsigned dim = 0; dim < depth; ++dim)
      places.push_back(getAffineDimExpr(dim + 1, context) +
                       (dim == splitDim ? getAffineDimExpr(0, context) * (*c.nest.tripCounts[dim] / parts)
                                        : getAffineConstantExpr(0, context)));
    SmallVector<AffineExpr> own{getAffineDimExpr(0, context)};
    for (unsigned dim : kept)
      own.push_back(getAffineDimExpr(dim + 1, context));
    AffineMap ownMap = AffineMap::get(depth + 1, 0, own, context);
    IRMapping mapping;
    for (Operation &op : c.nest.body->without_terminator()) {
      if (auto store = dyn_cast<AffineStoreOp>(op)) {
        AffineStoreOp::create(builder, loc, mapping.lookup(store.getValueToStore()), partial, ownMap, ivs);
        continue;
      }
      auto load = dyn_cast<AffineLoadOp>(op);
      if (!load) {
        builder.clone(op, mapping);
        continue;
      }
      if (load.getMemRef() == c.c.memref) {
        mapping.map(load.getResult(), AffineLoadOp::create(builder, loc, partial, ownMap, ivs).getResult());
        continue;
      }
      const Access &access = c.a.access.op == load ? c.a.access : c.b.access;
      SmallVector<AffineExpr> symbols;
      for (unsigned i = 0; i < access.symbols.size(); ++i)
        symbols.push_back(getAffineSymbolExpr(i, context));
      AffineMap map = access.map.replaceDimsAndSymbols(places, symbols, depth + 1, symbols.size());
      SmallVector<Value> operands(ivs);
      llvm::append_range(operands, access.symbols);
      mapping.map(load.getResult(), AffineLoadOp::create(builder, loc, access.memref, map, operands).getResult());
    }
  }
  // C += the sum of the parts.
  SmallVector<int64_t> order(ArrayRef(shape).drop_front());
  order.push_back(parts);
  SmallVector<Value> ivs = loopNest(builder, loc, order);
  SmallVector<Value> place{ivs.back()};
  llvm::append_range(place, ArrayRef(ivs).drop_back());
  SmallVector<AffineExpr> keptDims(depth, getAffineConstantExpr(0, context));
  for (auto [i, dim] : llvm::enumerate(kept))
    keptDims[dim] = getAffineDimExpr(i, context);
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < c.c.symbols.size(); ++i)
    symbols.push_back(getAffineSymbolExpr(i, context));
  AffineMap map = c.c.map.replaceDimsAndSymbols(keptDims, symbols, kept.size(), symbols.size());
  SmallVector<Value> operands(ArrayRef(ivs).drop_back());
  llvm::append_range(operands, c.c.symbols);
  Value part = AffineLoadOp::create(builder, loc, partial, place);
  Value sum = AffineLoadOp::create(builder, loc, c.c.memref, map, operands);
  if (isa<FloatType>(c.accumulator))
    sum = arith::AddFOp::create(builder, loc, sum, part);
  else
    sum = arith::AddIOp::create(builder, loc, sum, part);
  AffineStoreOp::create(builder, loc, sum, c.c.memref, map, operands);
  root.erase();
}

namespace {
struct SplitReductions : tilewright::impl::SplitReductionsBase<SplitReductions> {
  /// Splits the sum of the contraction at `root`, if it is one and the model finds that worth it.
  void splitNest(AffineForOp root, const LaunchTarget &target) {
    const Settings settings = Settings::of(root);
    FailureOr<Nest> nest = analyzeNest(root);
    FailureOr<Contraction> c = succeeded(nest) ? recognizeContraction(*nest) : FailureOr<Contraction>(failure());
    if (failed(c) || (!settings.mayReassociate() && isa<FloatType>(c->accumulator)))
      return;
    orientToResult(*c);
    DecisionLog *log = DecisionLog::of(&getContext());
    SplitPlan choice = planSplit({*c, NumericFreedom::of(settings)}, *target.chip, target.hierarchy,
                                 /*all=*/log && log->listsCandidates());
    if (choice.parts == 1)
      return;
    if (log)
      log->add("split", root,
               llvm::json::Object{
                   {"choice", choice.toJSON()},
                   {"candidates", fastestFirst(choice.considered, [](const SplitPlan &plan) { return plan.parts; })}});
    split(*c, choice.kDim, choice.parts);
  }

  void runOnOperation() override {
    auto map = [&](AffineForOp root, const LaunchTarget &target) { splitNest(root, target); };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }
};
} // namespace
