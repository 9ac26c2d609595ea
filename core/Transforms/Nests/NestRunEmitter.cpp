//===- NestRunEmitter.cpp - Neighbouring iterations as fragments --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The iterations of one lane at once, as fragments; one by one where the last lane has fewer.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Elementwise.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Transforms/Nests/NestAccessMap.h"
#include "core/Transforms/Nests/NestRuns.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// Writes all iterations of a lane at once.
class RunEmitter {
public:
  RunEmitter(OpBuilder &b, const NestRuns &runs, const IRMapping &mapping, Value number)
      : b(b), runs(runs), scalars(mapping), number(number), loc(runs.inner().getLoc()) {}

  void emit();

private:
  tile::FragmentType fragment(Type element) const {
    Layout layout;
    for (int64_t column = 1; column < runs.iterations; column *= 2)
      layout.elements.push_back({0, column});
    return tile::FragmentType::get(1, runs.iterations, element, layout);
  }
  /// Where the lane's first element is, with the operands of that map, and how far each following one is from it.
  struct Place {
    AffineMap first, elements;
    SmallVector<Value> operands;
  };
  Place placeOf(Operation *op) const;
  void compute();

  OpBuilder &b;
  const NestRuns &runs;
  IRMapping scalars;                      // of values that all iterations share
  llvm::DenseMap<Value, Value> fragments; // of the others
  SmallVector<Operation *> waiting;       // that compute some of these, in their order
  Value number;
  Location loc;
};

} // namespace

RunEmitter::Place RunEmitter::placeOf(Operation *op) const {
  AccessMap access(op);
  LinearAccess linear = linearAccess(op);
  SmallVector<AffineExpr> dims, symbols, steps;
  Place place;
  for (auto [i, operand] : llvm::enumerate(access.operands)) {
    bool isDim = i < access.map.getNumDims();
    AffineExpr own = isDim ? b.getAffineDimExpr(i) : b.getAffineSymbolExpr(i - access.map.getNumDims());
    Value mapped = scalars.lookupOrDefault(operand);
    for (unsigned loop : runs.loops)
      if (operand == runs.variable(loop)) {
        own = loop == runs.loops.back() ? own * runs.iterations : b.getAffineConstantExpr(0);
        mapped = number;
      }
    (isDim ? dims : symbols).push_back(own);
    place.operands.push_back(mapped);
  }
  for (const std::optional<LinearIndex> &index : linear.indices)
    steps.push_back(b.getAffineDimExpr(1) * (index ? index->coefficient(runs.inner().getInductionVar()) : 0));
  place.first = access.map.replaceDimsAndSymbols(dims, symbols, access.map.getNumDims(), access.map.getNumSymbols());
  place.elements = AffineMap::get(2, 0, steps, b.getContext());
  return place;
}

/// One `tile.map` of all that waits.
void RunEmitter::compute() {
  if (waiting.empty())
    return;
  llvm::SmallPtrSet<Operation *, 16> inside(waiting.begin(), waiting.end());
  SmallVector<Value> old, inputs, results;
  SmallVector<Type> types;
  for (Operation *op : waiting) {
    for (Value operand : op->getOperands())
      if (Value given = fragments.lookup(operand); given && !llvm::is_contained(old, operand)) {
        old.push_back(operand);
        inputs.push_back(given);
      }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); })) {
        results.push_back(result);
        types.push_back(fragment(result.getType()));
      }
  }
  auto map = tile::MapOp::create(b, loc, types, inputs, [&](OpBuilder &body, Location loc, ValueRange arguments) {
    IRMapping mapping = scalars;
    mapping.map(old, arguments);
    for (Operation *op : waiting)
      body.clone(*op, mapping);
    tile::YieldOp::create(body, loc, llvm::map_to_vector(results, [&](Value each) { return mapping.lookup(each); }));
  });
  for (auto [result, given] : llvm::zip_equal(results, map.getResults()))
    fragments[result] = given;
  waiting.clear();
}

void RunEmitter::emit() {
  Value iv = runs.inner().getInductionVar();
  llvm::DenseSet<Value> different{iv};
  if (usesNumber(runs.inner())) {
    Value first = arith::MulIOp::create(b, loc, number, arith::ConstantIndexOp::create(b, loc, runs.iterations));
    Value own = tile::IndexOp::create(b, loc, fragment(b.getIndexType()), 1);
    fragments[iv] = tile::MapOp::create(b, loc, TypeRange(own.getType()), own,
                                        [&](OpBuilder &body, Location loc, ValueRange arguments) {
                                          Value sum = arith::AddIOp::create(body, loc, arguments[0], first);
                                          tile::YieldOp::create(body, loc, sum);
                                        })
                        .getResult(0);
  }
  for (Operation &op : runs.body().without_terminator()) {
    if (auto load = dyn_cast<AffineLoadOp>(op); load && AccessMap(&op).uses(iv)) {
      Place place = placeOf(&op);
      fragments[load.getResult()] = tile::LoadOp::create(b, op.getLoc(), fragment(load.getType()), load.getMemRef(),
                                                         place.first, place.operands, place.elements);
      different.insert(load.getResult());
      continue;
    }
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      Value value = store.getValueToStore(), given;
      if (!different.contains(value)) {
        given = tile::BroadcastOp::create(b, op.getLoc(), fragment(value.getType()), scalars.lookupOrDefault(value));
      } else {
        if (!fragments.contains(value))
          compute();
        given = fragments.lookup(value);
      }
      Place place = placeOf(&op);
      tile::StoreOp::create(b, op.getLoc(), given, store.getMemRef(), place.first, place.operands, place.elements);
      continue;
    }
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return different.contains(operand); })) {
      b.clone(op, scalars);
      continue;
    }
    different.insert(op.result_begin(), op.result_end());
    waiting.push_back(&op);
  }
}

/// Writes the iterations that the lane of number `number` takes one by one: `first`, first + step, .. below `length`.
static void emitOneByOne(OpBuilder &builder, const NestRuns &runs, const IRMapping &mapping, Value first, Value length,
                         Value step, ValueRange extents) {
  Location loc = runs.inner().getLoc();
  auto few = scf::ForOp::create(builder, loc, first, length, step);
  few->setAttr(fewTimesAttr, builder.getUnitAttr());
  OpBuilder body(few.getBody()->getTerminator());
  IRMapping single = mapping;
  Value place = few.getInductionVar();
  for (unsigned loop : llvm::reverse(runs.loops)) {
    bool outermost = loop == runs.loops.front();
    Value index = outermost ? place : arith::RemUIOp::create(body, loc, place, extents[loop]).getResult();
    if (!outermost)
      place = arith::DivUIOp::create(body, loc, place, extents[loop]);
    single.map(runs.variable(loop), index);
  }
  for (Operation &op : runs.body().without_terminator())
    body.clone(op, single);
}

void tilewright::emitRun(OpBuilder &builder, const NestRuns &runs, const IRMapping &mapping, Value number,
                         ValueRange extents, Value length) {
  if (runs.whole)
    return RunEmitter(builder, runs, mapping, number).emit();
  Location loc = runs.inner().getLoc();
  Value count = arith::ConstantIndexOp::create(builder, loc, runs.iterations);
  Value asOne; // whether the loops are one
  for (const SpannedDimension &each : runs.spanned) {
    Value size = memref::DimOp::create(builder, loc, each.memref, each.dimension);
    Value same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, size, extents[each.loop]);
    asOne = asOne ? arith::AndIOp::create(builder, loc, asOne, same).getResult() : same;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (asOne) {
    auto versions = scf::IfOp::create(builder, loc, asOne, /*withElseRegion=*/true);
    builder.setInsertionPoint(versions.elseBlock()->getTerminator());
    Value lanes = arith::CeilDivUIOp::create(builder, loc, length, count);
    emitOneByOne(builder, runs, mapping, number, length, lanes, extents);
    builder.setInsertionPoint(versions.thenBlock()->getTerminator());
  }
  Value first = arith::MulIOp::create(builder, loc, number, count);
  Value end = arith::AddIOp::create(builder, loc, first, count);
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, end, length);
  auto branch = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/true);
  builder.setInsertionPoint(branch.elseBlock()->getTerminator());
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  emitOneByOne(builder, runs, mapping, first, length, one, extents);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  RunEmitter(builder, runs, mapping, number).emit();
}
