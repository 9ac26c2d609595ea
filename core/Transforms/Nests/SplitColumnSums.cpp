//===- SplitColumnSums.cpp - Sums of columns in parts of the rows ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sum along rows has a lane for each column. Where these are few, parts of
/// the rows are summed up by lanes of their own, and a second nest adds them:
///
///   for %i, %j { s[%j] += f(x[%i, %j]) }
///   ->
///   for %p, %j { part[%p, %j] = 0 }
///   for %p, %i, %j { part[%p, %j] += f(x[%p * 128 + %i, %j]) }
///   for %p, %j { s[%j] += part[%p, %j] }
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "core/Analysis/Settings.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ColumnModel.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITCOLUMNSUMS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// A nest of rows and columns that adds each row to what it has of the columns.
struct ColumnSum {
  Nest nest;
  const Access *load, *store; // of the sum
  Operation *combine;
  TypedAttr neutral;
};
} // namespace

/// The nest at `root` as such a sum; nullopt where it is none, or sums have one order.
static std::unique_ptr<ColumnSum> findSum(AffineForOp root, bool mayReassociate) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest) || nest->depth() != 2 || nest->stores.size() != 1 || !nest->tripCounts[0] || !nest->tripCounts[1])
    return nullptr;
  auto found = std::make_unique<ColumnSum>();
  found->nest = std::move(*nest);
  found->store = &found->nest.stores.front();
  found->load = nullptr;
  for (const Access &load : found->nest.loads)
    if (load.memref == found->store->memref) {
      if (found->load || load.map != found->store->map)
        return nullptr;
      found->load = &load;
    }
  Operation *combine = cast<AffineStoreOp>(found->store->op).getValueToStore().getDefiningOp();
  if (!found->load || !combine || !found->load->op->hasOneUse() || *found->load->op->user_begin() != combine ||
      combine->getNumOperands() != 2 || !combine->hasTrait<OpTrait::IsCommutative>() || found->store->dims().test(0) ||
      found->store->stride(1) != 1)
    return nullptr;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combine);
  if (!neutral || (isa<arith::AddFOp, arith::MulFOp>(combine) && !mayReassociate))
    return nullptr;
  found->combine = combine;
  found->neutral = *neutral;
  return found;
}

/// Loops that run `trips` times, the builder in the innermost; their numbers.
static SmallVector<Value> loopsOf(OpBuilder &b, Location loc, ArrayRef<int64_t> trips) {
  SmallVector<Value> numbers;
  for (int64_t trip : trips) {
    auto loop = AffineForOp::create(b, loc, 0, trip);
    numbers.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  return numbers;
}

static void split(const ColumnSum &sum, int64_t parts) {
  AffineForOp root = sum.nest.root();
  Location loc = root.getLoc();
  OpBuilder b(root);
  int64_t rows = *sum.nest.tripCounts[0] / parts, columns = *sum.nest.tripCounts[1];
  Type element = sum.combine->getResult(0).getType();
  Value part = memref::AllocOp::create(b, loc, MemRefType::get({parts, columns}, element));
  {
    OpBuilder::InsertionGuard guard(b);
    Value neutral = arith::ConstantOp::create(b, loc, sum.neutral);
    AffineStoreOp::create(b, loc, neutral, part, loopsOf(b, loc, {parts, columns}));
  }
  b.setInsertionPoint(root);
  {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Value> at = loopsOf(b, loc, {parts, rows, columns});
    IRMapping mapping;
    AffineExpr p = b.getAffineDimExpr(0), i = b.getAffineDimExpr(1);
    AffineMap row = AffineMap::get(2, 0, p * rows + i);
    Value number = AffineApplyOp::create(b, loc, row, ValueRange{at[0], at[1]});
    mapping.map(AffineForOp(sum.nest.loops[0]).getInductionVar(), number);
    mapping.map(AffineForOp(sum.nest.loops[1]).getInductionVar(), at[2]);
    for (Operation &op : sum.nest.body->without_terminator()) {
      if (&op == sum.load->op) {
        mapping.map(op.getResult(0), AffineLoadOp::create(b, loc, part, ValueRange{at[0], at[2]}).getResult());
      } else if (&op == sum.store->op) {
        AffineStoreOp::create(b, loc, mapping.lookup(sum.combine->getResult(0)), part, ValueRange{at[0], at[2]});
      } else if (auto load = dyn_cast<AffineLoadOp>(op)) {
        AffineMap map = load.getAffineMap();
        SmallVector<Value> operands;
        for (Value operand : load.getMapOperands())
          operands.push_back(mapping.lookupOrDefault(operand));
        fullyComposeAffineMapAndOperands(&map, &operands);
        canonicalizeMapAndOperands(&map, &operands);
        mapping.map(load.getResult(),
                    AffineLoadOp::create(b, load.getLoc(), load.getMemRef(), map, operands).getResult());
      } else {
        b.clone(op, mapping);
      }
    }
    if (number.use_empty())
      number.getDefiningOp()->erase();
  }
  b.setInsertionPoint(root);
  SmallVector<Value> at = loopsOf(b, loc, {parts, columns});
  IRMapping mapping;
  mapping.map(AffineForOp(sum.nest.loops[1]).getInductionVar(), at[1]);
  auto held = cast<AffineLoadOp>(b.clone(*sum.load->op, mapping));
  Value one = AffineLoadOp::create(b, loc, part, at);
  Operation *both =
      b.create(loc, sum.combine->getName().getIdentifier(), ValueRange{held, one}, element, sum.combine->getAttrs());
  mapping.map(sum.combine->getResult(0), both->getResult(0));
  b.clone(*sum.store->op, mapping);
  root.erase();
}

namespace {
struct SplitColumnSums : tilewright::impl::SplitColumnSumsBase<SplitColumnSums> {
  void splitNest(AffineForOp root, const LaunchTarget &target) {
    std::unique_ptr<ColumnSum> sum = findSum(root, Settings::of(root).mayReassociate());
    if (!sum)
      return;
    ColumnTask task;
    task.rows = *sum->nest.tripCounts[0];
    task.columns = *sum->nest.tripCounts[1];
    for (const Access &load : sum->nest.loads)
      if (load.dims().test(0) && load.dims().test(1))
        task.bytes += elementBytes(elementOf(load.memref));
    task.partialBytes = elementBytes(sum->combine->getResult(0).getType());
    std::vector<ColumnPlan> considered;
    ColumnPlan plan = planColumns(task, *target.chip, target.hierarchy, &considered);
    if (DecisionLog *log = DecisionLog::of(&getContext()))
      log->add("column-sums", root,
               llvm::json::Object{{"inputs", llvm::json::Object{{"rows", task.rows}, {"columns", task.columns}}},
                                  {"choice", plan.toJSON()},
                                  {"candidates", fastestFirst(std::move(considered),
                                                              [](const ColumnPlan &each) { return each.parts; })}});
    if (plan.parts > 1)
      split(*sum, plan.parts);
  }

  void runOnOperation() override {
    auto map = [&](AffineForOp root, const LaunchTarget &target) { splitNest(root, target); };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }
};
} // namespace
