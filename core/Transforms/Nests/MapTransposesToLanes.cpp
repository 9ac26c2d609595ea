//===- MapTransposesToLanes.cpp - Transpositions over the scratchpad ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An element-wise nest whose arrays lie in two orders: blocks copy tiles into
/// the scratchpad in the order of the source and read them in the order of the
/// result, so that both sides of global memory take whole sectors. A result
/// whose short dimensions lie inside goes through the scratchpad, too:
///
///   a (runs of x y c)  --copy-->  tile of a  --lanes along x-->  tile of b  --lanes along its runs-->  b
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/Candidates.h"
#include "core/Transforms/Lower/Lanes/LaneCopy.h"
#include "core/Transforms/Nests/TransposeTiles.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestBody.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/NestTime.h"
#include "core/Transforms/Utils/TileAccess.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPTRANSPOSESTOLANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

class Emitter : NestWriter {
public:
  Emitter(OpBuilder &builder, const Transposition &task, const LaneHierarchy &hierarchy, const TransposePlan &plan)
      : NestWriter(builder, task.nest.root().getLoc()), task(task), nest(task.nest), hierarchy(hierarchy),
        shape(plan.shape), firstOf(task.nest.depth()), buffers(plan.buffers), result(plan.result) {}
  void emit();

private:
  AffineExpr extent(unsigned d) {
    AffineExpr product = space.extent(d);
    for (unsigned other : task.merged[d])
      product = product * space.extent(other);
    return product;
  }
  /// What is left of the array from the tile on along a long dimension.
  AffineExpr left(std::optional<unsigned> d) { return d ? extent(*d) - firstOf[*d] : constant(1); }

  void allocate(TileBuffer &buffer);
  SmallVector<Value> copies(const StagedLoad &staged, TileBuffer &buffer);
  void compute(AffineExpr subgroup);
  void leave(AffineExpr subgroup);
  /// Calls `body` for all iterations of short dimensions, at which `space` then is.
  void forAll(ArrayRef<unsigned> dims, llvm::function_ref<void()> body);
  int64_t numberOf(ArrayRef<unsigned> dims);
  void toTile() {
    for (unsigned d : task.shorts)
      space.at[d] = constant(0);
    if (task.rows)
      space.at[*task.rows] = firstOf[*task.rows];
    space.at[task.columns] = firstOf[task.columns];
  }

  /// Lanes along the columns, `near` of which are a lane's, then along rows; a subgroup's other rows one after the
  /// other.
  tile::FragmentType fragment(Type element, int64_t rows, int64_t columns, int64_t near) {
    Layout layout;
    int64_t along = std::min(hierarchy.lanes * near, columns), beside = hierarchy.lanes * near / along;
    for (int64_t column = 1; column < near; column *= 2)
      layout.elements.push_back({0, column});
    for (int64_t column = near; column < along; column *= 2)
      layout.lanes.push_back({0, column});
    for (int64_t row = 1; row < beside; row *= 2)
      layout.lanes.push_back({row, 0});
    // The far ones first: elements that are equally far apart would be loaded as columns (LaneOps::loadColumns).
    for (int64_t row = rows / 2; row >= beside; row /= 2)
      layout.elements.push_back({row, 0});
    for (int64_t column = columns / 2; column >= along; column /= 2)
      layout.elements.push_back({0, column});
    return tile::FragmentType::get(rows, columns, element, layout);
  }
  /// By how much steps in a long dimension move the indices of `access`.
  SmallVector<AffineExpr> steps(const Access &access, AffineExpr row, AffineExpr column) {
    SmallVector<AffineExpr> results;
    for (AffineExpr result : access.map.getResults()) {
      AffineExpr sum = column * *linearCoefficient(result, task.columns);
      if (task.rows)
        sum = row * *linearCoefficient(result, *task.rows) + sum;
      results.push_back(sum);
    }
    return results;
  }
  /// The place of (row, column) of the tile in a buffer, at the short dimensions of `space`.
  SmallVector<AffineExpr> place(const TileBuffer &buffer, AffineExpr row, AffineExpr column) {
    AffineExpr along = buffer.alongRows ? row : column, beside = buffer.alongRows ? column : row;
    return {buffer.beside > 1 ? beside : constant(0), along * (buffer.run->factor * buffer.stretch)};
  }
  SmallVector<AffineExpr> placeOfShorts(const TileBuffer &buffer) {
    return {constant(numberOf(buffer.others) * buffer.beside), constant(numberOf(buffer.run->shorts) * buffer.stretch)};
  }

  const Transposition &task;
  const Nest &nest;
  const LaneHierarchy &hierarchy;
  TileShape shape;
  SmallVector<AffineExpr> firstOf; // of the tile, per long dimension
  SmallVector<TileBuffer> buffers;
  std::optional<TileBuffer> result;
};

} // namespace

void Emitter::allocate(TileBuffer &buffer) {
  buffer.memref = allocateTile(builder(), loc, {buffer.count * buffer.beside, buffer.length * buffer.stretch},
                               buffer.element, hierarchy.scratchpad, buffer.arrangement);
}

void Emitter::forAll(ArrayRef<unsigned> dims, llvm::function_ref<void()> body) {
  if (dims.empty())
    return body();
  for (int64_t i = 0; i < *task.trips(dims.back()); ++i) {
    space.at[dims.back()] = constant(i);
    forAll(dims.drop_back(), body);
  }
}

/// Which iteration of these short dimensions, the first one innermost, `space` is at.
int64_t Emitter::numberOf(ArrayRef<unsigned> dims) {
  int64_t number = 0;
  for (unsigned d : llvm::reverse(dims))
    number = number * *task.trips(d) + cast<AffineConstantExpr>(space.at[d]).getValue();
  return number;
}

//===-- Code --------------------------------------------------------------===//

void Emitter::emit() {
  space.addDimensions(nest.loops);
  SmallVector<AffineExpr> grid;
  if (!task.outer.empty()) {
    AffineExpr outer = constant(1);
    for (unsigned d : task.outer)
      outer = outer * extent(d);
    grid.push_back(outer);
  }
  if (task.rows)
    grid.push_back(extent(*task.rows).ceilDiv(shape.rows));
  grid.push_back(extent(task.columns).ceilDiv(shape.columns));
  space.parallel(grid, hierarchy.grid, [&](ArrayRef<AffineExpr> block) {
    if (!task.outer.empty()) {
      AffineExpr rest = block.front();
      for (unsigned i = task.outer.size(); i-- > 0;) {
        AffineExpr size = extent(task.outer[i]);
        space.at[task.outer[i]] = i == 0 ? rest : rest % size;
        if (i > 0)
          rest = rest.floorDiv(size);
      }
    }
    if (task.rows)
      firstOf[*task.rows] = block.drop_back().back() * shape.rows;
    firstOf[task.columns] = block.back() * shape.columns;
    for (TileBuffer &buffer : buffers)
      allocate(buffer);
    if (result)
      allocate(*result);
    space.parallel({constant(shape.subgroups)}, hierarchy.block, [&](ArrayRef<AffineExpr> own) {
      SmallVector<Value> tokens;
      for (auto [staged, buffer] : llvm::zip(task.staged, buffers))
        llvm::append_range(tokens, copies(staged, buffer));
      if (!tokens.empty())
        tile::WaitOp::create(builder(), loc, tokens);
      compute(own[0]);
    });
    if (result)
      space.parallel({constant(shape.subgroups)}, hierarchy.block, [&](ArrayRef<AffineExpr> own) { leave(own[0]); });
  });
}

/// The block's tile of a load, in the order of its array. A run is a power of two of elements at a time.
SmallVector<Value> Emitter::copies(const StagedLoad &staged, TileBuffer &buffer) {
  const Access &load = *staged.load;
  const TileRun &run = staged.run;
  toTile();
  SmallVector<AffineExpr> from = buffer.alongRows ? steps(load, dim(1), dim(0)) : steps(load, dim(0), dim(1));
  if (run.factor > 1) { // along the run, whatever dimension that is
    from = buffer.alongRows ? steps(load, constant(0), dim(0)) : steps(load, dim(0), constant(0));
    from[run.inner] = from[run.inner] + dim(1);
  }
  std::optional<unsigned> other = buffer.alongRows ? std::optional(task.columns) : task.rows;
  int64_t chunk = buffer.chunk();
  SmallVector<Value> tokens;
  forAll(buffer.others, [&] {
    for (int64_t first = 0; first < buffer.length; first += chunk) {
      auto [map, operands] = space.address(load, run.inner, constant(first));
      auto [valid, validOperands] =
          space.map({buffer.beside > 1 ? left(other) : constant(1), left(run.wide) * run.factor - constant(first)});
      AffineMap to =
          AffineMap::get(0, 0, {constant(numberOf(buffer.others) * buffer.beside), constant(first * buffer.stretch)},
                         builder().getContext());
      auto copy = tile::CopyOp::create(builder(), loc, load.memref, map, operands, elements(from), buffer.memref, to,
                                       ValueRange(), elements({dim(0), dim(1) * buffer.stretch}),
                                       {buffer.beside, chunk}, valid, validOperands);
      copy->setAttr(partsAttr, builder().getUnitAttr());
      if (buffer.narrow)
        copy->setAttr(narrowAttr, builder().getUnitAttr());
      tokens.push_back(copy);
    }
  });
  return tokens;
}

/// What a subgroup computes: some rows of the tile, or some of its columns where it has one row.
void Emitter::compute(AffineExpr subgroup) {
  int64_t rows = shape.rows, columns = shape.columns;
  (task.rows ? rows : columns) /= shape.subgroups;
  AffineExpr firstRow = task.rows ? subgroup * rows : constant(0);
  AffineExpr firstColumn = task.rows ? constant(0) : subgroup * columns;
  toTile();
  if (task.rows)
    space.at[*task.rows] = firstOf[*task.rows] + firstRow;
  space.at[task.columns] = firstOf[task.columns] + firstColumn;
  const TileAxes axes{task.rows, task.columns, left(task.rows) - firstRow, left(task.columns) - firstColumn};
  auto inside = [&](const TileBuffer &buffer) {
    SmallVector<AffineExpr> first = place(buffer, firstRow, firstColumn);
    for (auto [at, shorts] : llvm::zip(first, placeOfShorts(buffer)))
      at = at + shorts;
    return std::pair(first, elements(place(buffer, dim(0), dim(1))));
  };
  const Access &store = nest.stores.front();
  Value stored = cast<AffineStoreOp>(store.op).getValueToStore();
  forAll(task.shorts, [&] {
    SmallVector<Value> inputs, loaded;
    for (const Access &load : nest.loads) {
      tile::FragmentType type = fragment(load.op->getResult(0).getType(), rows, columns, shape.near);
      loaded.push_back(load.op->getResult(0));
      auto staged = llvm::find_if(task.staged, [&](const StagedLoad &each) { return each.load == &load; });
      if (staged != task.staged.end()) {
        const TileBuffer &buffer = buffers[staged - task.staged.begin()];
        auto [at, along] = inside(buffer);
        inputs.push_back(loadTile(space, buffer.memref, at, along, type));
      } else {
        inputs.push_back(loadTile(space, load, type, axes));
      }
    }
    auto computed =
        tile::MapOp::create(builder(), loc, TypeRange(fragment(stored.getType(), rows, columns, shape.near)), inputs,
                            [&](OpBuilder &body, Location loc, ValueRange arguments) {
                              IRMapping mapping;
                              mapping.map(loaded, arguments);
                              cloneBody(body, nest, mapping);
                              tile::YieldOp::create(body, loc, mapping.lookupOrDefault(stored));
                            });
    if (result) {
      auto [at, along] = inside(*result);
      storeTile(space, computed.getResult(0), result->memref, at, along);
    } else {
      storeTile(space, computed.getResult(0), store, axes);
    }
  });
}

/// Runs of the result leave the scratchpad.
void Emitter::leave(AffineExpr subgroup) {
  const Access &store = nest.stores.front();
  const TileRun &run = task.stored;
  int64_t chunk = shape.columns * (run.factor & -run.factor), rows = shape.rows, columns = chunk;
  (task.rows ? rows : columns) /= shape.subgroups;
  AffineExpr firstRow = task.rows ? subgroup * rows : constant(0);
  toTile();
  if (task.rows)
    space.at[*task.rows] = firstOf[*task.rows] + firstRow;
  SmallVector<AffineExpr> to = steps(store, dim(0), constant(0));
  to[run.inner] = to[run.inner] + dim(1);
  forAll(result->others, [&] {
    for (int64_t begin = 0; begin < result->length; begin += chunk) {
      AffineExpr first = task.rows ? constant(begin) : subgroup * columns + begin;
      tile::FragmentType type = fragment(result->element, rows, columns, 1);
      const bool hasRows = result->beside > 1;
      Value loaded = loadTile(
          space, result->memref,
          {(hasRows ? firstRow : constant(0)) + numberOf(result->others) * result->beside, first * result->stretch},
          elements({hasRows ? dim(0) : constant(0), dim(1) * result->stretch}), type);
      auto [valid, validOperands] = space.map({left(task.rows) - firstRow, left(task.columns) * run.factor - first});
      auto [map, operands] = space.address(store, run.inner, first);
      tile::StoreOp::create(builder(), loc, loaded, store.memref, operands, AffineMapAttr::get(map),
                            AffineMapAttr::get(elements(to)), AffineMapAttr::get(valid), validOperands, UnitAttr());
    }
  });
}

namespace {
struct PlannedTransposition {
  std::unique_ptr<Transposition> task;
  TransposePlan plan;
  double clocks = 0;
};

struct MapTransposesToLanes : tilewright::impl::MapTransposesToLanesBase<MapTransposesToLanes> {
  void runOnOperation() override {
    bool refused = false;
    auto map = [&](AffineForOp root, const LaunchTarget &target) {
      const LaneHierarchy &hierarchy = target.hierarchy;
      const Memory *shared = hierarchy.scratchpad.empty() ? nullptr : target.chip->memory(hierarchy.scratchpad);
      if (!shared)
        return;
      llvm::Expected<std::unique_ptr<LaneOps>> ops = laneOpsOf(root);
      if (!ops) {
        root.emitError() << llvm::toString(ops.takeError());
        refused = true;
        return;
      }
      OpBuilder builder(root);
      PlanSearch<PlannedTransposition, &PlannedTransposition::clocks> search(nullptr, betterTile);
      for (int64_t least : longTrips(root, hierarchy.lanes)) {
        std::unique_ptr<Transposition> found =
            recognizeTransposition(root, hierarchy.lanes, least, hierarchy.sectorBytes);
        if (!found)
          continue;
        if (std::optional<TransposePlan> plan =
                planTransposition(*found, *target.chip, hierarchy, *shared, **ops, root.getContext()))
          search.keep({std::move(found), *plan, plan->shape.clocks});
      }
      if (!search.best)
        return;
      logNestTime(root, *target.chip);
      Emitter(builder, *search.best->task, hierarchy, search.best->plan).emit();
      root.erase();
    };
    if (failed(overLaneNests(getOperation(), map)) || refused)
      signalPassFailure();
  }
};
} // namespace
