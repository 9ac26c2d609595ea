//===- MapRowsToLanes.cpp - Reductions along rows over subgroups ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A nest that sums (or takes maxima) along contiguous elements: the lanes of
/// one subgroup, or of several, share a row, and combine what they have by
/// exchanges and over the scratchpad.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Elementwise.h"
#include "core/Analysis/RowReduction.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/RowModel.h"
#include "core/Transforms/Nests/RowFragments.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestBody.h"
#include "core/Transforms/Utils/NestInit.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/SizeVersions.h"
#include "core/Transforms/Utils/TileAccess.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPROWSTOLANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The innermost sizes of arrays that have to be multiples of a vector, where they are dynamic.
static SmallVector<Value> rowsOfUnknownPitch(const RowReduction &rows) {
  SmallVector<Value> arrays;
  for (const Access &load : rows.nest.loads) {
    auto type = cast<MemRefType>(load.memref.getType());
    if (load.stride(rows.lane) == 1 && type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1) &&
        !llvm::is_contained(arrays, load.memref))
      arrays.push_back(load.memref);
  }
  return arrays;
}

//===-- Emission ----------------------------------------------------------===//

namespace {

class RowEmitter : NestWriter {
public:
  RowEmitter(OpBuilder &builder, const RowReduction &rows, const RowPlan &plan, const LaneHierarchy &hierarchy)
      : NestWriter(builder, rows.nest.root().getLoc()), rows(rows), nest(rows.nest), plan(plan), hierarchy(hierarchy),
        width(plan.width(hierarchy)), vector(plan.vector), fragments{hierarchy.lanes} {}
  /// Writes the grid. Sums of `beginnings` begin with these values, not with what memory holds.
  void emit(const llvm::DenseMap<const RowSum *, Value> &beginnings);

private:
  /// One subgroup's width of the row.
  tile::FragmentType rowOf(Type element) { return fragments.row(element, width / hierarchy.lanes, vector); }
  void row(AffineExpr subgroup, ArrayRef<Value> shared);
  void rowInVectors(AffineExpr subgroup, ArrayRef<Value> shared);
  SmallVector<Value> reduceInner(unsigned which, AffineExpr subgroup, ValueRange sums);
  SmallVector<Value> step(AffineExpr column, ValueRange sums);
  void finish(const RowSum &sum, Value total);
  Value load(const Access &access, tile::FragmentType type, const TileAxes &axes);

  const RowReduction &rows;
  const Nest &nest;
  const RowPlan &plan;
  const LaneHierarchy &hierarchy;
  int64_t width;
  int64_t vector; // of the version that is written
  RowFragments fragments;
  llvm::DenseMap<const RowSum *, Value> begin;
  SmallVector<Value> pitches;       // that have to be multiples of the plan's vector, index
  bool pitchesAreMultiples = false; // in the version that is written
};

} // namespace

void RowEmitter::emit(const llvm::DenseMap<const RowSum *, Value> &beginnings) {
  begin = beginnings;
  space.addDimensions(nest.loops);
  if (plan.vector > 1)
    for (Value array : rowsOfUnknownPitch(rows))
      pitches.push_back(memref::DimOp::create(builder(), loc, array, cast<MemRefType>(array.getType()).getRank() - 1));
  // All rows in one index where sizes allow; the innermost outer dimension is shared out over a block's subgroups.
  SmallVector<AffineExpr> grid;
  if (!rows.outer.empty()) {
    AffineExpr blocks = space.extent(rows.outer.back()).ceilDiv(plan.rows), others = constant(1);
    for (unsigned dim : ArrayRef(rows.outer).drop_back())
      others = others * space.extent(dim);
    if (rows.outer.size() == 1)
      grid = {blocks};
    else if (isa<AffineConstantExpr>(blocks))
      grid = {others * blocks};
    else
      grid = {others, blocks};
  } else {
    grid = {constant(1)};
  }
  space.parallel(grid, hierarchy.grid, [&](ArrayRef<AffineExpr> block) {
    AffineExpr last = block.back();
    if (rows.outer.size() > 1) {
      AffineExpr rest = block.front();
      if (grid.size() == 1) {
        AffineExpr blocks = space.extent(rows.outer.back()).ceilDiv(plan.rows);
        last = rest % blocks;
        rest = rest.floorDiv(blocks);
      }
      space.moveTo(rest, ArrayRef(rows.outer).drop_back());
    }
    if (plan.subgroups == 1) {
      space.parallel({constant(plan.rows)}, hierarchy.block, [&](ArrayRef<AffineExpr> own) {
        if (rows.outer.empty())
          return row(constant(0), {});
        unsigned dim = rows.outer.back();
        space.at[dim] = last * plan.rows + own[0];
        OpBuilder::InsertionGuard guard(builder());
        if (plan.rows > 1 && !divides(dim, plan.rows)) {
          Value inside = arith::CmpIOp::create(builder(), loc, arith::CmpIPredicate::slt, space.value(space.at[dim]),
                                               space.value(space.extent(dim)));
          builder().setInsertionPointToStart(scf::IfOp::create(builder(), loc, inside).thenBlock());
        }
        row(constant(0), {});
      });
      return;
    }
    if (!rows.outer.empty())
      space.at[rows.outer.back()] = last;
    SmallVector<Value> shared;
    for (const RowSum &sum : rows.sums)
      shared.push_back(allocateTile(builder(), loc, {plan.subgroups}, sum.type(), hierarchy.scratchpad));
    space.parallel({constant(plan.subgroups)}, hierarchy.block, [&](ArrayRef<AffineExpr> own) { row(own[0], shared); });
    // All subgroups combine, the first one writes.
    space.parallel({constant(plan.subgroups)}, hierarchy.block, [&](ArrayRef<AffineExpr> own) {
      Layout layout = fragments.layout(1, 1);
      int64_t held = std::min(plan.subgroups, hierarchy.lanes);
      for (Position &position : layout.lanes)
        if (position.col >= held)
          position.col = 0;
      for (int64_t element = held; element < plan.subgroups; element *= 2)
        layout.elements.push_back({0, element});
      SmallVector<Value> totals;
      for (auto [sum, buffer] : llvm::zip(rows.sums, shared)) {
        auto type = tile::FragmentType::get(1, plan.subgroups, sum.type(), layout);
        Value parts = loadTile(space, buffer, constant(0), elements(dim(1)), type);
        totals.push_back(fragments.reduced(builder(), loc, sum, parts));
      }
      Value first = arith::CmpIOp::create(builder(), loc, arith::CmpIPredicate::eq, space.value(own[0]),
                                          arith::ConstantIndexOp::create(builder(), loc, 0));
      OpBuilder::InsertionGuard guard(builder());
      builder().setInsertionPointToStart(scf::IfOp::create(builder(), loc, first).thenBlock());
      for (auto [sum, total] : llvm::zip(rows.sums, totals))
        finish(sum, total);
    });
  });
}

/// What subgroup number `subgroup` adds to the row at the current position: into the results, or into `shared`. Rows of
/// unknown pitch have two versions, for pitches that keep vectors aligned and for others.
void RowEmitter::row(AffineExpr subgroup, ArrayRef<Value> shared) {
  const unsigned tests = !pitches.empty();
  auto areMultiples = [&](unsigned) {
    Value multiples, zero = arith::ConstantIndexOp::create(builder(), loc, 0);
    for (Value pitch : pitches) {
      Value rest =
          arith::RemUIOp::create(builder(), loc, pitch, arith::ConstantIndexOp::create(builder(), loc, plan.vector));
      Value none = arith::CmpIOp::create(builder(), loc, arith::CmpIPredicate::eq, rest, zero);
      multiples = multiples ? arith::AndIOp::create(builder(), loc, multiples, none).getResult() : none;
    }
    return multiples;
  };
  emitBranches(builder(), loc, tests, areMultiples, [&](unsigned version) {
    pitchesAreMultiples = version < tests;
    vector = tests && !pitchesAreMultiples ? 1 : plan.vector;
    rowInVectors(subgroup, shared);
  });
}

/// One version of it.
void RowEmitter::rowInVectors(AffineExpr subgroup, ArrayRef<Value> shared) {
  SmallVector<Value> sums;
  for (const RowSum &sum : rows.sums)
    sums.push_back(tile::BroadcastOp::create(builder(), loc, rowOf(sum.type()),
                                             arith::ConstantOp::create(builder(), loc, sum.neutral)));
  sums = reduceInner(0, subgroup, sums);
  for (unsigned i = 0; i < rows.sums.size(); ++i) {
    Value total = fragments.reduced(builder(), loc, rows.sums[i], sums[i]);
    if (shared.empty()) {
      finish(rows.sums[i], total);
      continue;
    }
    storeTile(space, total, shared[i], subgroup, elements(constant(0)));
  }
}

SmallVector<Value> RowEmitter::reduceInner(unsigned which, AffineExpr subgroup, ValueRange sums) {
  if (which < rows.inner.size())
    return space.reduce(constant(0), space.extent(rows.inner[which]), sums, [&](AffineExpr iv, ValueRange args) {
      space.at[rows.inner[which]] = iv;
      return reduceInner(which + 1, subgroup, args);
    });
  int64_t all = width * plan.subgroups;
  return space.reduce(constant(0), space.extent(rows.lane).ceilDiv(all), sums,
                      [&](AffineExpr iv, ValueRange args) { return step(iv * all + subgroup * width, args); });
}

Value RowEmitter::load(const Access &access, tile::FragmentType type, const TileAxes &axes) {
  Value fragment = loadTile(space, access, type, axes);
  if (pitchesAreMultiples && access.stride(rows.lane) == 1)
    fragment.getDefiningOp()->setAttr(rowMultipleAttr, builder().getI64IntegerAttr(plan.vector));
  return fragment;
}

/// One subgroup's width of the row from `column` on.
SmallVector<Value> RowEmitter::step(AffineExpr column, ValueRange sums) {
  space.at[rows.lane] = column;
  const bool whole = divides(rows.lane, width * plan.subgroups);
  TileAxes axes{{}, rows.lane};
  SmallVector<Value> inputs(sums);
  Value left;
  if (!whole) {
    axes.validCols = space.extent(rows.lane) - column;
    // Columns that exist, as a number that lanes compare with theirs.
    Value count = space.value(space.extent(rows.lane) - column);
    count = arith::MinSIOp::create(builder(), loc, count, arith::ConstantIndexOp::create(builder(), loc, width));
    left = arith::IndexCastOp::create(builder(), loc, builder().getI32Type(), count);
    inputs.push_back(tile::IndexOp::create(builder(), loc, rowOf(builder().getI32Type()), 1));
  }
  IRMapping outside;
  SmallVector<std::pair<Value, unsigned>> loaded; // value of the nest, number of the input
  for (unsigned dim : rows.outer)
    if (AffineForOp loop = nest.loops[dim]; usesNumber(loop))
      outside.map(loop.getInductionVar(), space.value(space.at[dim]));
  for (Operation &op : nest.body->without_terminator()) {
    auto load = dyn_cast<AffineLoadOp>(op);
    if (!load || rows.sumOf(load))
      continue;
    const Access &from = rows.accessOf(load);
    if (from.stride(rows.lane) == 0) {
      space.at[rows.lane] = constant(0);
      auto [map, operands] = space.address(from);
      outside.map(load.getResult(), AffineLoadOp::create(builder(), loc, from.memref, map, operands).getResult());
      space.at[rows.lane] = column;
      continue;
    }
    loaded.push_back({load.getResult(), inputs.size()});
    inputs.push_back(this->load(from, rowOf(load.getType()), axes));
  }
  auto map = tile::MapOp::create(
      builder(), loc, sums.getTypes(), inputs, [&](OpBuilder &inside, Location loc, ValueRange arguments) {
        IRMapping mapping = outside;
        for (auto [value, input] : loaded)
          mapping.map(value, arguments[input]);
        for (auto [i, sum] : llvm::enumerate(rows.sums))
          mapping.map(sum.load->op->getResult(0), arguments[i]);
        cloneBody(inside, nest, mapping);
        SmallVector<Value> results;
        for (auto [i, sum] : llvm::enumerate(rows.sums)) {
          Value result = mapping.lookup(sum.combine->getResult(0));
          if (left) {
            Value exists = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, arguments[sums.size()], left);
            result = arith::SelectOp::create(inside, loc, exists, result, arguments[i]);
          }
          results.push_back(result);
        }
        tile::YieldOp::create(inside, loc, results);
      });
  return SmallVector<Value>(map.getResults());
}

/// Combines `total` into the element of memory, by one lane: those that only read it would race with it.
void RowEmitter::finish(const RowSum &sum, Value total) {
  space.at[rows.lane] = constant(0);
  for (unsigned dim : rows.inner)
    space.at[dim] = constant(0);
  auto type = cast<tile::FragmentType>(total.getType());
  space.parallel({constant(1)}, hierarchy.subgroup, [&](ArrayRef<AffineExpr>) {
    Value first = begin.lookup(&sum);
    Value before =
        first ? tile::BroadcastOp::create(builder(), loc, type, first).getResult() : load(*sum.load, type, {});
    storeTile(space, combineTiles(builder(), loc, {before, total}, sum.combine), *sum.store, {});
  });
}

//===-- Pass --------------------------------------------------------------===//

namespace {
struct MapRowsToLanes : tilewright::impl::MapRowsToLanesBase<MapRowsToLanes> {
  /// Maps the nest at `root` if it combines rows and the model finds a way.
  void mapNest(AffineForOp root, const LaunchTarget &target) {
    const LaneHierarchy &hierarchy = target.hierarchy;
    std::unique_ptr<RowReduction> rows = recognizeRows(root, Settings::of(root).mayReassociate());
    if (!rows || hierarchy.scratchpad.empty())
      return;
    // Blocks for the outer dimensions: one or two indices, all extents but the first constant.
    bool folds = true;
    for (unsigned i = 1; i + 1 < rows->outer.size(); ++i)
      folds &= rows->nest.tripCounts[rows->outer[i]].has_value();
    const RowTask task = rowTaskOf(*rows, hierarchy.sectorBytes);
    std::vector<RowPlan> considered;
    std::optional<RowPlan> plan = folds ? planRows(task, *target.chip, hierarchy, &considered) : std::nullopt;
    if (!plan)
      return;
    if (DecisionLog *log = DecisionLog::of(&getContext()))
      log->add(
          "rows", root,
          llvm::json::Object{
              {"inputs", llvm::json::Object{{"rows", task.rows}, {"segments", task.pieces}, {"length", task.length}}},
              {"choice", plan->toJSON()},
              {"candidates", fastestFirst(std::move(considered))}});
    // A nest that sets the sums' beginnings is no launch of its own.
    OpBuilder builder(root);
    llvm::DenseMap<const RowSum *, Value> beginnings;
    for (const RowSum &sum : rows->sums)
      if (std::optional<NestInit> init = findInit(rows->nest, *sum.store, rows->outer.size())) {
        Value value = init->value;
        if (init->loop->isAncestor(value.getParentRegion()->getParentOp()))
          value = builder.clone(*value.getDefiningOp())->getResult(0);
        beginnings[&sum] = value;
        init->loop.erase();
      }
    RowEmitter(builder, *rows, *plan, hierarchy).emit(beginnings);
    root.erase();
  }

  void runOnOperation() override {
    auto map = [&](AffineForOp root, const LaunchTarget &target) { mapNest(root, target); };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }
};
} // namespace
