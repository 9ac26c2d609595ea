//===- ReadAtIndices.cpp - One element instead of a sum of choices --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What compare-indices has written and no launch over rows has taken reads one
/// element of each row again:
///
///   for %i { for %j { y[%i] += select(%j == t[%i], x[%i, %j], 0) } }
///   ->
///   for %i { %k = max(0, min(t[%i], 511)); y[%i] += select(%k == t[%i], x[%i, %k], 0) }
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/IndexCasts.h"
#include "core/Analysis/Nest.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace tilewright {
#define GEN_PASS_DEF_READATINDICES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// A nest whose innermost loop adds up choices of one element.
struct ChosenElement {
  AffineForOp columns;
  arith::CmpIOp test; // of the column with the index
  Value index;        // integer, the same for all columns
};
} // namespace

/// Whether `value` is computed in the body of `loop` by what its number goes into.
static bool dependsOn(Value value, AffineForOp loop) {
  if (value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == loop.getBody() &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOn(operand, loop); });
}

static std::optional<ChosenElement> findChosen(AffineForOp root) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest) || nest->depth() < 2 || nest->stores.size() != 1 || !nest->tripCounts.back())
    return std::nullopt;
  AffineForOp columns = nest->loops.back();
  const Access &store = nest->stores.front();
  Operation *sum = cast<AffineStoreOp>(store.op).getValueToStore().getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum) || store.dims().test(nest->depth() - 1))
    return std::nullopt;
  auto isHeld = [&](Value value) {
    auto load = value.getDefiningOp<AffineLoadOp>();
    return load && load.getMemRef() == store.memref &&
           llvm::any_of(nest->loads, [&](const Access &each) { return each.op == load && each.map == store.map; });
  };
  unsigned held = isHeld(sum->getOperand(0)) ? 0 : 1;
  auto choice = sum->getOperand(1 - held).getDefiningOp<arith::SelectOp>();
  if (!isHeld(sum->getOperand(held)) || !choice ||
      !(matchPattern(choice.getFalseValue(), m_AnyZeroFloat()) || matchPattern(choice.getFalseValue(), m_Zero())) ||
      llvm::count_if(nest->loads, [&](const Access &each) { return each.memref == store.memref; }) != 1)
    return std::nullopt;
  auto test = choice.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!test || test.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  for (unsigned side : {0u, 1u})
    if (withoutCasts(test->getOperand(side)) == columns.getInductionVar() &&
        !dependsOn(test->getOperand(1 - side), columns))
      return ChosenElement{columns, test, test->getOperand(1 - side)};
  return std::nullopt;
}

/// Writes the body for the one column before the loop over all, and erases that.
static void readAtIndex(const ChosenElement &chosen) {
  AffineForOp columns = chosen.columns;
  Location loc = columns.getLoc();
  OpBuilder b(columns);
  IRMapping mapping;
  // What the index is computed by comes first.
  SmallVector<Operation *> ofIndex, others;
  for (Operation &op : columns.getBody()->without_terminator()) {
    bool isColumn = op.getNumResults() == 1 && dependsOn(op.getResult(0), columns);
    (isColumn || isa<AffineStoreOp>(op) ? others : ofIndex).push_back(&op);
  }
  for (Operation *op : ofIndex)
    b.clone(*op, mapping);
  Value index = mapping.lookupOrDefault(chosen.index);
  Value column =
      index.getType().isIndex() ? index : arith::IndexCastOp::create(b, loc, b.getIndexType(), index).getResult();
  Value last = arith::ConstantIndexOp::create(b, loc, columns.getConstantUpperBound() - 1);
  column = arith::MinSIOp::create(b, loc, column, last);
  column = arith::MaxSIOp::create(b, loc, column, arith::ConstantIndexOp::create(b, loc, 0));
  mapping.map(columns.getInductionVar(), column);
  for (Operation *op : others) {
    auto load = dyn_cast<AffineLoadOp>(op);
    if (!load) {
      b.clone(*op, mapping);
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : load.getMapOperands())
      operands.push_back(mapping.lookupOrDefault(operand));
    std::optional<SmallVector<Value, 8>> at = expandAffineMap(b, loc, load.getAffineMap(), operands);
    mapping.map(load.getResult(), memref::LoadOp::create(b, loc, load.getMemRef(), *at).getResult());
  }
  columns.erase();
}

namespace {
struct ReadAtIndices : tilewright::impl::ReadAtIndicesBase<ReadAtIndices> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    SmallVector<ChosenElement> found;
    for (auto root : getOperation().front().getOps<AffineForOp>())
      if (std::optional<ChosenElement> chosen = findChosen(root))
        found.push_back(*chosen);
    llvm::for_each(found, readAtIndex);
  }
};
} // namespace
