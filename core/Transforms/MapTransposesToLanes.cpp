//===- MapTransposesToLanes.cpp - Transpositions over the scratchpad ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An element-wise nest that reads along one dimension and writes along another:
/// square tiles are copied into the scratchpad in the order of the source and
/// read in the order of the result, so that both sides of global memory take
/// whole sectors. Rows of a tile are padded by one bank, so that a column of it
/// lies in as many banks as it has elements.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/Nest.h"
#include "core/Transforms/IterationSpace.h"
#include "core/Transforms/LanePasses.h"
#include "core/Transforms/NestPass.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPTRANSPOSESTOLANES
#include "core/Transforms/LanePasses.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

struct Transposition {
  Nest nest;
  unsigned read = 0, written = 0; // the dimensions along which sources and result are contiguous
  SmallVector<unsigned> outer;
  SmallVector<const Access *, 2> staged; // loads contiguous along `read` only
};

} // namespace

/// The nest at `root` if tiles in the scratchpad save sectors, else null; `side`: extent from which on they do.
static std::unique_ptr<Transposition> recognize(AffineForOp root, int64_t side) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest) || nest->stores.size() != 1)
    return nullptr;
  auto found = std::make_unique<Transposition>(); // staged loads point into it
  Transposition &result = *found;
  result.nest = std::move(*nest);
  const Nest &n = result.nest;
  const Access &store = n.stores.front();
  auto isPlain = [](const Access &access) {
    Type type = elementOf(access.memref);
    return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 8;
  };
  auto isLong = [&](unsigned dim) { return n.tripCounts[dim].value_or(side) >= side; };
  // Each iteration writes its own element.
  llvm::SmallBitVector seen(n.depth());
  for (AffineExpr expr : store.map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (isa<AffineConstantExpr>(expr))
      continue;
    if (!dim || seen.test(dim.getPosition()))
      return nullptr;
    seen.set(dim.getPosition());
  }
  if (!seen.all() || !isPlain(store))
    return nullptr;
  std::optional<unsigned> written, read;
  for (unsigned dim = 0; dim < n.depth(); ++dim)
    if (store.stride(dim) == 1 && isLong(dim))
      written = dim;
  if (!written)
    return nullptr;
  for (const Access &load : n.loads) {
    if (load.memref == store.memref || !isPlain(load))
      return nullptr;
    for (AffineExpr expr : load.map.getResults())
      for (unsigned dim = 0; dim < n.depth(); ++dim)
        if (!linearCoefficient(expr, dim))
          return nullptr;
    std::optional<int64_t> along = load.stride(*written);
    if (along == 0 || along == 1)
      continue;
    for (unsigned dim = 0; dim < n.depth(); ++dim)
      if (dim != *written && load.stride(dim) == 1 && isLong(dim)) {
        if (read && read != dim)
          return nullptr;
        read = dim;
        result.staged.push_back(&load);
      }
  }
  if (!read)
    return nullptr;
  for (Operation &op : n.body->without_terminator())
    if (!isa<AffineLoadOp, AffineStoreOp>(op) && !op.hasTrait<OpTrait::ConstantLike>() &&
        (!OpTrait::hasElementwiseMappableTraits(&op) || !isPure(&op)))
      return nullptr;
  for (AffineForOp loop : n.loops)
    for (Operation *user : loop.getInductionVar().getUsers())
      if (!isa<AffineLoadOp, AffineStoreOp>(user))
        return nullptr;
  result.read = *read;
  result.written = *written;
  for (unsigned dim = 0; dim < n.depth(); ++dim)
    if (dim != *read && dim != *written)
      result.outer.push_back(dim);
  // Blocks for the outer dimensions: one index, all extents but the first constant.
  for (unsigned i = 1; i < result.outer.size(); ++i)
    if (!n.tripCounts[result.outer[i]])
      return nullptr;
  return found;
}

namespace {

class Emitter {
public:
  Emitter(OpBuilder &builder, const Transposition &task, const LaneHierarchy &hierarchy, int64_t bankBytes,
          int64_t side)
      : task(task), hierarchy(hierarchy), bankBytes(bankBytes), side(side),
        subgroups(std::min<int64_t>(8, hierarchy.subgroups)), loc(task.nest.root().getLoc()), space(builder, loc) {}
  void emit();

private:
  OpBuilder &builder() { return space.builder; }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, builder().getContext()); }
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, builder().getContext()); }
  Value copy(const Access &load);
  void rows(AffineExpr first);
  /// Lanes along the columns, a subgroup's rows one after the other.
  tile::FragmentType fragment(Type element) {
    Layout layout;
    for (int64_t lane = 1; lane < hierarchy.lanes; lane *= 2)
      layout.lanes.push_back({0, lane});
    for (int64_t column = hierarchy.lanes; column < side; column *= 2)
      layout.elements.push_back({0, column});
    for (int64_t row = 1; row < side / subgroups; row *= 2)
      layout.elements.push_back({row, 0});
    return tile::FragmentType::get(side / subgroups, side, element, layout);
  }
  /// Rows are steps of `read`, columns of `written`.
  AffineMap elements(const Access &access) {
    SmallVector<AffineExpr> results;
    for (AffineExpr result : access.map.getResults())
      results.push_back(dim(0) * *linearCoefficient(result, task.read) +
                        dim(1) * *linearCoefficient(result, task.written));
    return AffineMap::get(2, 0, results, builder().getContext());
  }

  const Transposition &task;
  const LaneHierarchy &hierarchy;
  int64_t bankBytes, side, subgroups;
  Location loc;
  IterationSpace space;
  AffineExpr firstRead, firstWritten; // of the block
  llvm::DenseMap<Operation *, Value> buffers;
};

} // namespace

void Emitter::emit() {
  for (AffineForOp loop : task.nest.loops)
    space.addDimension(loop);
  SmallVector<AffineExpr> grid{space.extent(task.read).ceilDiv(side), space.extent(task.written).ceilDiv(side)};
  AffineExpr outer = constant(1);
  for (unsigned dim : task.outer)
    outer = outer * space.extent(dim);
  if (!task.outer.empty())
    grid.insert(grid.begin(), outer);
  space.parallel(grid, hierarchy.grid, [&](ArrayRef<AffineExpr> block) {
    if (!task.outer.empty()) {
      AffineExpr rest = block.front();
      for (unsigned i = task.outer.size(); i-- > 0;) {
        AffineExpr extent = space.extent(task.outer[i]);
        space.at[task.outer[i]] = i == 0 ? rest : rest % extent;
        if (i > 0)
          rest = rest.floorDiv(extent);
      }
      block = block.drop_front();
    }
    firstRead = block[0] * side;
    firstWritten = block[1] * side;
    for (const Access *load : task.staged) {
      Type element = elementOf(load->memref);
      int64_t bytes = elementBytes(element), padding = std::max<int64_t>(1, bankBytes / bytes);
      auto type = MemRefType::get({side, side}, element, AffineMap(), builder().getStringAttr(hierarchy.scratchpad));
      buffers[load->op] =
          tile::AllocOp::create(builder(), loc, type, ValueRange(),
                                tile::ArrangementAttr::get(builder().getContext(), 0, 0, 0, 0, padding, 1));
    }
    space.parallel({constant(subgroups)}, hierarchy.block, [&](ArrayRef<AffineExpr> own) {
      SmallVector<Value> tokens;
      for (const Access *load : task.staged)
        tokens.push_back(copy(*load));
      tile::WaitOp::create(builder(), loc, tokens);
      rows(own[0] * (side / subgroups));
    });
  });
}

/// The block's tile of `load`, in the order of its array.
Value Emitter::copy(const Access &load) {
  space.at[task.read] = firstRead;
  space.at[task.written] = firstWritten;
  auto [map, operands] = space.address(load);
  SmallVector<AffineExpr> from;
  for (AffineExpr result : load.map.getResults())
    from.push_back(dim(0) * *linearCoefficient(result, task.written) + dim(1) * *linearCoefficient(result, task.read));
  auto [valid, validOperands] =
      space.map({space.extent(task.written) - firstWritten, space.extent(task.read) - firstRead});
  MLIRContext *context = builder().getContext();
  return tile::CopyOp::create(builder(), loc, load.memref, map, operands, AffineMap::get(2, 0, from, context),
                              buffers[load.op], AffineMap::get(0, 0, {constant(0), constant(0)}, context), ValueRange(),
                              AffineMap::getMultiDimIdentityMap(2, context), {side, side}, valid, validOperands);
}

/// The rows of one subgroup, from `first` of the block's on.
void Emitter::rows(AffineExpr first) {
  space.at[task.read] = firstRead + first;
  space.at[task.written] = firstWritten;
  MLIRContext *context = builder().getContext();
  auto [validMap, validOperands] =
      space.map({space.extent(task.read) - space.at[task.read], space.extent(task.written) - space.at[task.written]});
  AffineMapAttr valid = AffineMapAttr::get(validMap);
  SmallVector<Value> inputs;
  SmallVector<Value> loaded;
  for (const Access &load : task.nest.loads) {
    tile::FragmentType type = fragment(load.op->getResult(0).getType());
    loaded.push_back(load.op->getResult(0));
    if (Value buffer = buffers.lookup(load.op)) {
      auto [map, operands] = space.map({constant(0), first});
      inputs.push_back(tile::LoadOp::create(builder(), loc, type, buffer, operands, AffineMapAttr::get(map),
                                            AffineMapAttr::get(AffineMap::get(2, 0, {dim(1), dim(0)}, context)),
                                            AffineMapAttr(), ValueRange()));
      continue;
    }
    auto [map, operands] = space.address(load);
    inputs.push_back(tile::LoadOp::create(builder(), loc, type, load.memref, operands, AffineMapAttr::get(map),
                                          AffineMapAttr::get(elements(load)), valid, validOperands));
  }
  const Access &store = task.nest.stores.front();
  Value stored = cast<AffineStoreOp>(store.op).getValueToStore();
  auto result = tile::MapOp::create(builder(), loc, TypeRange(fragment(stored.getType())), inputs,
                                    [&](OpBuilder &inside, Location loc, ValueRange arguments) {
                                      IRMapping mapping;
                                      mapping.map(loaded, arguments);
                                      for (Operation &op : task.nest.body->without_terminator())
                                        if (!isa<AffineLoadOp, AffineStoreOp>(op))
                                          inside.clone(op, mapping);
                                      tile::YieldOp::create(inside, loc, mapping.lookupOrDefault(stored));
                                    });
  auto [map, operands] = space.address(store);
  tile::StoreOp::create(builder(), loc, result.getResult(0), store.memref, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(elements(store)), valid, validOperands, UnitAttr());
}

namespace {
struct MapTransposesToLanes : tilewright::impl::MapTransposesToLanesBase<MapTransposesToLanes> {
  void runOnOperation() override {
    auto map = [](AffineForOp root, const LaunchTarget &target) {
      const LaneHierarchy &hierarchy = target.hierarchy;
      const Memory *shared = hierarchy.scratchpad.empty() ? nullptr : target.chip->memory(hierarchy.scratchpad);
      std::unique_ptr<Transposition> task = shared ? recognize(root, hierarchy.lanes / 2) : nullptr;
      if (!task)
        return;
      // A row of a tile fills the banks once, so that a row is written without conflicts, too.
      int64_t side = hierarchy.lanes, bytes = 0;
      for (const Access *load : task->staged) {
        int64_t element = elementBytes(elementOf(load->memref));
        side = std::max(side, shared->banks * shared->bankBytes / element);
        bytes += element;
      }
      if (2 * side * side * bytes > shared->bytes)
        return;
      OpBuilder builder(root);
      Emitter(builder, *task, hierarchy, shared->bankBytes, side).emit();
      root.erase();
    };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }
};
} // namespace
