//===- RowProgramEmitter.cpp - A launch for nests over rows ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The grid, its buffers, where values come from, and the two kinds of steps.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/RowProgramEmitter.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Elementwise.h"
#include "core/Transforms/Utils/NestBody.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

void RowProgramEmitter::emit() {
  space.addDimensions(program.loops());
  AffineExpr all = constant(1);
  for (unsigned dim = 0; dim < program.outer(); ++dim)
    all = all * space.extent(dim);
  space.parallel({plan.rows == 1 ? all : all.floorDiv(plan.rows)}, hierarchy.grid, [&](ArrayRef<AffineExpr> block) {
    allocateBuffers();
    auto region = [&](auto body) {
      space.parallel({constant(plan.rows * plan.subgroups)}, hierarchy.block, [&](ArrayRef<AffineExpr> place) {
        own = plan.rows == 1 ? constant(0) : place[0];
        subgroup = plan.subgroups == 1 ? constant(0) : place[0];
        goTo(block[0] * plan.rows + own);
        rows.clear();
        scalars.clear();
        body();
      });
    };
    for (now = 0; now < program.phases; ++now)
      region([&] { runPhase(); });
    if (llvm::any_of(program.results, [&](Value result) {
          return program.lastWriters.lookup(result)->kind != RowStep::Kind::Elementwise;
        }))
      region([&] { storeScalars(); });
  });
}

void RowProgramEmitter::runPhase() {
  SmallVector<RowStep *> steps;
  SmallVector<const RowSum *> sums;
  for (const auto &step : program.steps)
    if (step->kind != RowStep::Kind::Scalar && step->phase == now) {
      steps.push_back(step.get());
      if (step->reduction)
        for (const RowSum &sum : step->reduction->sums)
          sums.push_back(&sum);
    }
  auto segment = [&](AffineExpr number) {
    space.at[program.outer()] = (number * plan.subgroups + subgroup) * width;
    rows.clear();
    SmallVector<Value> parts;
    for (RowStep *step : steps)
      if (step->reduction)
        llvm::append_range(parts, reduce(*step));
      else
        compute(*step);
    return parts;
  };
  SmallVector<Value> totals;
  if (plan.segments == 1) {
    totals = segment(constant(0));
  } else {
    // What a row has once is computed before the loop, not in it.
    for (RowStep *step : steps)
      computeScalars(*step);
    if (sums.empty())
      return space.loop(constant(0), constant(plan.segments), [&](AffineExpr number) { (void)segment(number); });
    for (const RowSum *sum : sums)
      totals.push_back(tile::BroadcastOp::create(builder(), loc, rowOf(sum->type()),
                                                 arith::ConstantOp::create(builder(), loc, sum->neutral)));
    totals = space.reduce(constant(0), constant(plan.segments), totals, [&](AffineExpr number, ValueRange before) {
      SmallVector<Value> after, parts = segment(number);
      for (auto [sum, total, part] : llvm::zip_equal(sums, before, parts)) {
        after.push_back(combineTiles(builder(), loc, {total, part}, sum->combine));
      }
      return after;
    });
  }
  for (auto [sum, value] : llvm::zip_equal(sums, totals)) {
    Value total = fragments.reduced(builder(), loc, *sum, value);
    storeTile(space, total, parts[sum], {own, subgroup}, elements({constant(0), constant(0)}));
  }
}

void RowProgramEmitter::computeScalars(RowStep &step) {
  for (const Access &load : step.nest().loads) {
    if (step.isSum(load))
      continue;
    RowSource source = step.sources.lookup(load.op);
    if (!step.isAlongRow(load))
      (void)scalar(step, load);
    else if (source.first && source.first->phase < now && !kept.contains(source))
      computeScalars(*source.first);
  }
}

Value RowProgramEmitter::allocate(int64_t columns, Type element) {
  return allocateTile(builder(), loc, {plan.rows, columns}, element, hierarchy.scratchpad);
}

void RowProgramEmitter::allocateBuffers() {
  for (const auto &[source, phases] : uses)
    if (phases.size() > 1 && (source.first || plan.keepsInputs))
      kept[source] = allocate(padded(), elementOf(source.second->memref));
  for (const auto &step : program.steps)
    if (step->reduction)
      for (const RowSum &sum : step->reduction->sums)
        parts[&sum] = allocate(plan.subgroups, sum.type());
}

void RowProgramEmitter::goTo(AffineExpr number) {
  space.moveTo(number, llvm::to_vector(llvm::seq(program.outer())));
  space.at[program.outer()] = subgroup * width;
}

TileAxes RowProgramEmitter::axes() const {
  TileAxes axes{{}, program.outer()};
  if (program.length != padded())
    axes.validCols = space.extent(program.outer()) - space.at[program.outer()];
  return axes;
}

//===-- Values ------------------------------------------------------------===//

Value RowProgramEmitter::scalar(RowStep &user, const Access &load) {
  if (RowStep *definition = user.definitions.lookup(load.op))
    return scalarOf(*definition, load.memref);
  llvm::SaveAndRestore column(space.at[program.outer()], constant(0));
  auto [map, operands] = space.address(load);
  return AffineLoadOp::create(builder(), loc, load.memref, map, operands);
}

Value RowProgramEmitter::scalarOf(RowStep &step, Value memref) {
  if (Value known = scalars.lookup({&step, memref}))
    return known;
  Value result;
  const Access &store = *step.storeTo(memref);
  if (step.reduction) {
    const RowSum &sum = *step.reduction->sumOf(store.op);
    result = scalar(step, *sum.load);
    for (int64_t i = 0; i < plan.subgroups; ++i) {
      auto [map, operands] = space.map({own, constant(i)});
      Value part = AffineLoadOp::create(builder(), loc, parts[&sum], map, operands);
      result = combined(builder(), sum, result, part);
    }
  } else {
    IRMapping mapping;
    mapRow(step, mapping);
    for (const Access &load : step.nest().loads)
      mapping.map(load.op->getResult(0), scalar(step, load));
    cloneBody(builder(), step.nest(), mapping);
    result = mapping.lookupOrDefault(cast<AffineStoreOp>(store.op).getValueToStore());
  }
  return scalars[{&step, memref}] = result;
}

Value RowProgramEmitter::loadKept(Value buffer) {
  return loadTile(space, buffer, {own, space.at[program.outer()]}, alongBuffer(), rowOf(elementOf(buffer)));
}

void RowProgramEmitter::keep(RowSource source, Value fragment) {
  rows[source] = fragment;
  Value buffer = kept.lookup(source);
  if (!buffer || uses[source].back() == now || (!source.first && uses[source].front() != now))
    return;
  storeTile(space, fragment, buffer, {own, space.at[program.outer()]}, alongBuffer());
}

Value RowProgramEmitter::row(RowStep &user, const Access &load) {
  RowSource source = user.sources.lookup(load.op);
  if (Value known = rows.lookup(source))
    return known;
  Value buffer = kept.lookup(source);
  if (buffer && uses[source].front() != now)
    return rows[source] = loadKept(buffer);
  if (source.first) { // of a phase before, and not kept
    RowStep &step = *source.first;
    for (auto [store, value] : llvm::zip_equal(step.nest().stores, values(step)))
      rows[{&step, &store}] = value;
    return rows.lookup(source);
  }
  Value fragment = loadTile(space, load, rowOf(elementOf(load.memref)), axes());
  keep(source, fragment);
  return fragment;
}

//===-- Steps -------------------------------------------------------------===//

void RowProgramEmitter::mapRow(const RowStep &step, IRMapping &mapping) {
  for (unsigned dim = 0; dim < program.outer(); ++dim)
    if (AffineForOp loop = step.nest().loops[dim]; usesNumber(loop))
      mapping.map(loop.getInductionVar(), space.value(space.at[dim]));
}

SmallVector<Value> RowProgramEmitter::mapped(RowStep &step, TypeRange types, ArrayRef<Value> more, Results results) {
  IRMapping outside;
  mapRow(step, outside);
  SmallVector<Value> loaded, inputs;
  for (const Access &load : step.nest().loads) {
    if (step.isSum(load))
      continue;
    if (step.isAlongRow(load)) {
      loaded.push_back(load.op->getResult(0));
      inputs.push_back(row(step, load));
    } else {
      outside.map(load.op->getResult(0), scalar(step, load));
    }
  }
  llvm::append_range(inputs, more);
  AffineForOp columns = step.nest().loops.back();
  const bool counts = usesNumber(columns);
  Value first;
  if (counts) {
    inputs.push_back(tile::IndexOp::create(builder(), loc, rowOf(builder().getI32Type()), 1));
    first = arith::IndexCastOp::create(builder(), loc, builder().getI32Type(), space.value(space.at[program.outer()]));
  }
  auto map =
      tile::MapOp::create(builder(), loc, types, inputs, [&](OpBuilder &inside, Location loc, ValueRange arguments) {
        IRMapping mapping = outside;
        mapping.map(loaded, arguments.take_front(loaded.size()));
        if (counts) {
          Value column = arith::AddIOp::create(inside, loc, arguments.back(), first);
          mapping.map(columns.getInductionVar(),
                      arith::IndexCastOp::create(inside, loc, inside.getIndexType(), column).getResult());
        }
        cloneBody(inside, step.nest(), mapping, [&](Operation *op) {
          return step.reduction &&
                 llvm::any_of(step.reduction->sums, [&](const RowSum &sum) { return sum.combine == op; });
        });
        SmallVector<Value> yielded;
        results(inside, mapping, arguments.drop_front(loaded.size()), yielded);
        tile::YieldOp::create(inside, loc, yielded);
      });
  return SmallVector<Value>(map.getResults());
}

SmallVector<Value> RowProgramEmitter::reduce(RowStep &step) {
  const RowReduction &reduction = *step.reduction;
  SmallVector<Type> types;
  for (const RowSum &sum : reduction.sums)
    types.push_back(rowOf(sum.type()));
  SmallVector<Value> columns;
  Value left;
  if (program.length != padded()) {
    columns.push_back(tile::IndexOp::create(builder(), loc, rowOf(builder().getI32Type()), 1));
    left = arith::IndexCastOp::create(builder(), loc, builder().getI32Type(),
                                      space.value(space.extent(program.outer()) - space.at[program.outer()]));
  }
  return mapped(step, types, columns,
                [&](OpBuilder &inside, IRMapping &mapping, ValueRange column, SmallVectorImpl<Value> &yielded) {
                  for (const RowSum &sum : reduction.sums) {
                    bool first = sum.combine->getOperand(0) == sum.load->op->getResult(0);
                    Value element = mapping.lookupOrDefault(sum.combine->getOperand(first ? 1 : 0));
                    if (left) {
                      Value exists = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, column[0], left);
                      Value neutral = arith::ConstantOp::create(inside, loc, sum.neutral);
                      element = arith::SelectOp::create(inside, loc, exists, element, neutral);
                    }
                    yielded.push_back(element);
                  }
                });
}

SmallVector<Value> RowProgramEmitter::values(RowStep &step) {
  SmallVector<Type> types;
  for (const Access &store : step.nest().stores)
    types.push_back(rowOf(elementOf(store.memref)));
  return mapped(step, types, {}, [&](OpBuilder &, IRMapping &mapping, ValueRange, SmallVectorImpl<Value> &yielded) {
    for (const Access &store : step.nest().stores)
      yielded.push_back(mapping.lookupOrDefault(cast<AffineStoreOp>(store.op).getValueToStore()));
  });
}

void RowProgramEmitter::compute(RowStep &step) {
  for (auto [store, value] : llvm::zip(step.nest().stores, values(step))) {
    keep({&step, &store}, value);
    if (!program.results.contains(store.memref) || program.lastWriters.lookup(store.memref) != &step)
      continue;
    storeTile(space, value, store, axes());
  }
}

void RowProgramEmitter::storeScalars() {
  OpBuilder::InsertionGuard guard(builder());
  SmallVector<std::pair<const Access *, Value>> stored;
  for (Value result : program.results)
    if (RowStep *step = program.lastWriters.lookup(result); step->kind != RowStep::Kind::Elementwise)
      stored.push_back({step->storeTo(result), scalarOf(*step, result)});
  if (plan.subgroups > 1) {
    Value first = arith::CmpIOp::create(builder(), loc, arith::CmpIPredicate::eq, space.value(subgroup),
                                        arith::ConstantIndexOp::create(builder(), loc, 0));
    builder().setInsertionPointToStart(scf::IfOp::create(builder(), loc, first).thenBlock());
  }
  space.parallel({constant(1)}, hierarchy.subgroup, [&](ArrayRef<AffineExpr>) {
    llvm::SaveAndRestore column(space.at[program.outer()], constant(0));
    for (auto [store, value] : stored) {
      auto [map, operands] = space.address(*store);
      AffineStoreOp::create(builder(), loc, value, store->memref, map, operands);
    }
  });
}
