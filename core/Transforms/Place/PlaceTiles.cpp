//===- PlaceTiles.cpp - Keep what tiles touch in a near memory ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers, copies and new addresses for the placements of a schedule.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/TileSets.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "core/Transforms/Utils/TileAccess.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/MachineGraph.h"

namespace tilewright {
#define GEN_PASS_DEF_PLACETILES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

static bool isAccess(Operation *op) { return isa<AffineLoadOp, AffineStoreOp>(op); }

/// Accesses of `memref` below `block`, in the order of writing.
static SmallVector<Operation *> accessesOf(Block &block, Value memref) {
  SmallVector<Operation *> result;
  block.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isAccess(op) && arrayOf(op) == memref)
      result.push_back(op);
  });
  return result;
}

namespace {
/// The part of one array that the tiles of one block touch.
struct Placed {
  Value memref, buffer;
  SmallVector<Operation *> accesses;
  SmallVector<Value> outer; // dimensions of the box's expressions
  TileBox box;
  Value tile; // the loop over tiles whose iterations take turns in `stages` stages; null for one
  int64_t stages = 1;
  bool isFilled = false, isWritten = false;
};

/// Writes the copies of one block.
class TileCopier {
public:
  explicit TileCopier(Location loc) : loc(loc) {}
  /// The copy of `placed` in or out; its token.
  Value copy(OpBuilder &builder, const Placed &placed, bool in);

private:
  Value innermost(OpBuilder &builder, const Placed &placed, bool in, ArrayRef<Value> ivs);

  Location loc;
  SmallVector<unsigned> looped, boxed; // dimensions that loops and that the copy's box run over
};
} // namespace

/// One copy of at most two dimensions, at `ivs` of the others.
Value TileCopier::innermost(OpBuilder &builder, const Placed &placed, bool in, ArrayRef<Value> ivs) {
  MLIRContext *context = builder.getContext();
  unsigned outer = placed.outer.size(), rank = placed.box.size.size();
  SmallVector<Value> operands(placed.outer);
  llvm::append_range(operands, ivs);
  SmallVector<AffineExpr> array, buffer, elements;
  if (placed.tile) {
    buffer.push_back(builder.getAffineDimExpr(operands.size()) % placed.stages);
    operands.push_back(placed.tile);
  }
  for (unsigned d = 0; d < rank; ++d) {
    AffineExpr inside = builder.getAffineConstantExpr(0), element = inside;
    for (auto [i, looped] : llvm::enumerate(looped))
      if (looped == d)
        inside = builder.getAffineDimExpr(outer + i);
    for (auto [i, boxed] : llvm::enumerate(boxed))
      if (boxed == d)
        element = builder.getAffineDimExpr(i);
    array.push_back(placed.box.offset[d] + inside);
    buffer.push_back(inside);
    elements.push_back(element);
  }
  auto mapOf = [&](ArrayRef<AffineExpr> results) {
    AffineMap map = simplifyAffineMap(AffineMap::get(operands.size(), 0, results, context));
    SmallVector<Value> values(operands);
    canonicalizeMapAndOperands(&map, &values);
    return std::pair(map, values);
  };
  auto [arrayMap, arrayValues] = mapOf(array);
  auto [bufferMap, bufferValues] = mapOf(buffer);
  unsigned dims = std::max<size_t>(boxed.size(), 1);
  AffineMap points = AffineMap::get(dims, 0, elements, context);
  if (placed.tile)
    elements.insert(elements.begin(), builder.getAffineConstantExpr(0));
  AffineMap bufferPoints = AffineMap::get(dims, 0, elements, context);
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> extents;
  bool isWhole = true;
  ArrayRef<int64_t> room = cast<MemRefType>(placed.buffer.getType()).getShape().take_back(rank);
  for (unsigned d : boxed) {
    // What a smaller tile leaves of the buffer becomes zero: vectors may read beyond the end of a row.
    shape.push_back(in ? room[d] : placed.box.size[d]);
    extents.push_back(placed.box.extent[d]);
    isWhole &= placed.box.extent[d] == builder.getAffineConstantExpr(shape.back());
  }
  if (boxed.empty())
    shape.push_back(1);
  std::pair<AffineMap, SmallVector<Value>> valid;
  if (!isWhole)
    valid = mapOf(extents);
  auto copy = in ? tile::CopyOp::create(builder, loc, placed.memref, arrayMap, arrayValues, points, placed.buffer,
                                        bufferMap, bufferValues, bufferPoints, shape, valid.first, valid.second)
                 : tile::CopyOp::create(builder, loc, placed.buffer, bufferMap, bufferValues, bufferPoints,
                                        placed.memref, arrayMap, arrayValues, points, shape, valid.first, valid.second);
  if (!isWhole && !in)
    copy.setClipped(true);
  return copy.getToken();
}

Value TileCopier::copy(OpBuilder &builder, const Placed &placed, bool in) {
  looped.clear();
  boxed.clear();
  const unsigned rank = placed.box.size.size();
  auto lastOf = [&](ArrayRef<int64_t> shape) {
    while (shape.size() > 1 && shape.back() == 1)
      shape = shape.drop_back();
    return shape.size() - 1;
  };
  // Rows are along the innermost dimension of the array, even where they have one element. Vectors are along that of
  // the buffer, where a smaller tile leaves some of it.
  const size_t row = lastOf(cast<MemRefType>(placed.memref.getType()).getShape());
  const size_t vectors = lastOf(cast<MemRefType>(placed.buffer.getType()).getShape().take_back(rank));
  for (auto [d, size] : llvm::enumerate(placed.box.size))
    if (size != 1 || d == row || (in && d == vectors))
      boxed.push_back(d);
  while (boxed.size() > 2) {
    looped.push_back(boxed.front());
    boxed.erase(boxed.begin());
  }
  SmallVector<Value> ivs;
  std::function<Value(OpBuilder &, Value)> over = [&](OpBuilder &at, Value before) -> Value {
    if (ivs.size() == looped.size())
      return innermost(at, placed, in, ivs);
    unsigned d = looped[ivs.size()];
    AffineMap end = AffineMap::get(placed.outer.size(), 0, placed.box.extent[d]);
    SmallVector<Value> operands(placed.outer);
    canonicalizeMapAndOperands(&end, &operands);
    auto loop = AffineForOp::create(at, loc, {}, at.getConstantAffineMap(0), operands, end, 1, before,
                                    [](OpBuilder &, Location, Value, ValueRange) {});
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    ivs.push_back(loop.getInductionVar());
    Value token = over(inner, loop.getRegionIterArgs().front());
    ivs.pop_back();
    AffineYieldOp::create(inner, loc, token);
    return loop.getResult(0);
  };
  Value none;
  if (!looped.empty())
    none = tile::DoneOp::create(builder, loc);
  return over(builder, none);
}

/// Lets an access of the array go to the buffer.
static void redirect(Operation *op, const Placed &placed) {
  AffineAccess access = affineAccess(op);
  OpBuilder builder(op);
  unsigned dims = access.map.getNumDims();
  SmallVector<AffineExpr> results;
  SmallVector<Value> outer(placed.outer);
  if (placed.tile) {
    results.push_back(builder.getAffineDimExpr(dims + outer.size()) % placed.stages);
    outer.push_back(placed.tile);
  }
  for (auto [index, offset] : llvm::zip_equal(access.map.getResults(), placed.box.offset))
    results.push_back(index - offset.shiftDims(placed.outer.size(), dims));
  AffineMap map =
      simplifyAffineMap(AffineMap::get(dims + outer.size(), access.map.getNumSymbols(), results, builder.getContext()));
  SmallVector<Value> operands(access.operands);
  operands.insert(operands.begin() + dims, outer.begin(), outer.end());
  canonicalizeMapAndOperands(&map, &operands);
  map = simplifyAffineMap(map);
  moveAccess(op, placed.buffer, map, operands);
}

namespace {
/// Does what the schedule of one loop over the members of a level says.
class Placer {
public:
  Placer(tile::ParallelOp parallel, const TargetDescription &chip)
      : parallel(parallel), chip(chip), schedule(parallel.getScheduleAttr()) {}

  LogicalResult run();

private:
  void moveLocalBuffers();
  LogicalResult place(Block &block, int64_t at);
  bool isTemporary(Value memref, int64_t at);
  Value bufferFor(const Placed &placed, int64_t array, int64_t at, const Memory &memory);

  tile::ParallelOp parallel;
  const TargetDescription &chip;
  tile::ScheduleAttr schedule;
  SmallVector<Value> arrays;
  SmallVector<std::pair<AffineForOp, int64_t>> loops;         // over tiles, with the number of the loop that was cut
  llvm::DenseSet<std::pair<Value, int64_t>> temporaries;      // arrays at loops whose tiles hand nothing of them on
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> buffers; // of an array at a loop
};
} // namespace

/// Buffers that the nest allocates are the member's own, in the memory that it fills itself if it has one.
void Placer::moveLocalBuffers() {
  const Memory *memory = chip.graph().memoryOf(schedule.getLevel());
  if (!memory)
    return;
  SmallVector<memref::AllocOp> local;
  parallel->walk([&](memref::AllocOp op) { local.push_back(op); });
  for (memref::AllocOp op : local) {
    MemRefType type = op.getType();
    bool isPlain = llvm::all_of(op->getUsers(), [](Operation *user) { return isAccess(user); });
    if (!type.hasStaticShape() || !isPlain)
      continue;
    OpBuilder builder(op);
    op.getResult().replaceAllUsesWith(
        allocateTile(builder, op.getLoc(), type.getShape(), type.getElementType(), memory->name));
    op.erase();
  }
}

/// Whether no tile of loop `at` hands anything of the array on, to another tile or to others than the scheduled
/// operations: each tile reads what it wrote itself.
bool Placer::isTemporary(Value memref, int64_t at) {
  if (!memref.getDefiningOp<memref::AllocOp>())
    return false;
  SmallVector<Block *> tiles;
  if (at < 0)
    tiles.push_back(&parallel.getBody().front());
  for (auto [loop, number] : loops)
    if (number == at)
      tiles.push_back(AffineForOp(loop).getBody());
  return llvm::all_of(memref.getUsers(),
                      [&](Operation *user) {
                        return isa<memref::DeallocOp>(user) || llvm::any_of(tiles, [&](Block *tile) {
                                 return tile->findAncestorOpInBlock(*user) != nullptr;
                               });
                      }) &&
         llvm::all_of(tiles, [&](Block *tile) { return readsOwn(accessesOf(*tile, memref)); });
}

/// Lets rows of a buffer not share the sets of `cache`: where they are a multiple of what its sets hold apart, a few
/// rows of a column push each other out, and each store of a tile of registers goes to the next cache. A line more is
/// enough.
static void spreadOverSets(SmallVectorImpl<int64_t> &shape, Type element, const Memory &cache) {
  const int64_t bytes = elementBytes(element), ways = std::max<int64_t>(cache.ways, 1);
  const int64_t span = cache.bytes / ways;
  const bool hasRows = shape.size() > 1 && llvm::any_of(llvm::drop_end(shape), [](int64_t size) { return size > 1; });
  if (hasRows && span > 0 && shape.back() * bytes % span == 0)
    shape.back() += std::max<int64_t>(cache.lineBytes / bytes, 1);
}

/// Whole and smaller tiles take turns in one buffer. A cache keeps what is used again by itself.
Value Placer::bufferFor(const Placed &placed, int64_t array, int64_t at, const Memory &memory) {
  Value &buffer = buffers[{array, at}];
  SmallVector<int64_t> shape(placed.box.size);
  if (placed.tile)
    shape.insert(shape.begin(), placed.stages);
  if (buffer) {
    ArrayRef<int64_t> has = cast<MemRefType>(buffer.getType()).getShape();
    if (has.size() == shape.size() &&
        llvm::all_of(llvm::zip_equal(shape, has), [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); }))
      return buffer;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&parallel.getBody().front());
  Type element = cast<MemRefType>(placed.memref.getType()).getElementType();
  if (memory.kind == MemoryKind::Cache) {
    if (const auto caches = chip.caches(); !caches.empty())
      spreadOverSets(shape, element, *caches.front());
    return buffer = memref::AllocOp::create(builder, placed.memref.getLoc(), MemRefType::get(shape, element),
                                            builder.getI64IntegerAttr(memory.lineBytes));
  }
  return buffer = allocateTile(builder, placed.memref.getLoc(), shape, element, memory.name);
}

LogicalResult Placer::place(Block &block, int64_t at) {
  SmallVector<Placed, 0> all;
  for (tile::PlacementAttr placement : schedule.getPlacements()) {
    if (placement.getAt() != at)
      continue;
    if (placement.getArray() >= int64_t(arrays.size()))
      return parallel.emitOpError() << "schedule places array " << placement.getArray() << ", but accesses "
                                    << arrays.size() << " arrays";
    Placed placed;
    placed.memref = arrays[placement.getArray()];
    placed.accesses = accessesOf(block, placed.memref);
    if (placed.accesses.empty())
      continue;
    TileSets sets(block);
    TileRelation touched, written;
    bool isRead = false;
    for (Operation *op : placed.accesses) {
      TileRelation each = sets.touched(op);
      touched = touched ? touched.unite(each) : each;
      if (isa<AffineStoreOp>(op))
        written = written ? written.unite(each) : each;
      else
        isRead = true;
    }
    std::string reason;
    auto box = sets.box(touched, cast<MemRefType>(placed.memref.getType()), reason);
    if (!box)
      return parallel.emitOpError() << "schedule places array " << placement.getArray() << " at loop " << at << ", but "
                                    << reason;
    placed.box = *box;
    placed.outer.assign(sets.outer().begin(), sets.outer().end());
    placed.isWritten = bool(written);
    // A part of what is written back was not written by the tile, or something is read that it did not write.
    bool isOwn = temporaries.contains({placed.memref, at});
    placed.isFilled = !isOwn && ((placed.isWritten && !sets.covers(written, placed.box)) ||
                                 (isRead && !(placed.isWritten && readsOwn(placed.accesses))));
    const Memory *memory = chip.memory(placement.getMemory());
    if (!memory)
      return parallel.emitOpError() << "schedule places array " << placement.getArray() << " in \""
                                    << placement.getMemory() << "\", which is no memory of " << chip.target() << ":"
                                    << chip.chip();
    placed.isWritten &= !isOwn; // nobody reads it afterwards
    if (memory->kind == MemoryKind::Cache && !isOwn)
      return parallel.emitOpError() << "schedule places array " << placement.getArray() << " in the cache \""
                                    << memory->name << "\", but others than one tile of loop " << at << " use it";
    if (placement.getStages() > 1) {
      auto loop = dyn_cast<AffineForOp>(block.getParentOp());
      if (!loop || (placed.isFilled && placed.isWritten))
        return parallel.emitOpError() << "schedule gives array " << placement.getArray() << " " << placement.getStages()
                                      << " stages at loop " << at << ", where "
                                      << (loop ? "tiles read and write it" : "there is one tile");
      placed.tile = loop.getInductionVar();
      placed.stages = placement.getStages();
      loop->setAttr(tile::stagesAttr, OpBuilder(loop).getI64IntegerAttr(placed.stages));
    }
    placed.buffer = bufferFor(placed, placement.getArray(), at, *memory);
    all.push_back(std::move(placed));
  }
  if (all.empty())
    return success();
  // Copies of a loop with stages all run ahead.
  int64_t most = 1;
  for (const Placed &placed : all)
    most = std::max(most, placed.stages);
  for (const Placed &placed : all)
    if ((placed.isFilled || placed.isWritten) && placed.stages != most)
      return parallel.emitOpError() << "schedule gives an array that is copied at loop " << at << " " << placed.stages
                                    << " stages and another one " << most << "; what is copied there has one number";
  Location loc = parallel.getLoc();
  TileCopier copier(loc);
  for (Placed &placed : all)
    for (Operation *op : placed.accesses)
      redirect(op, placed);
  auto copyAll = [&](OpBuilder builder, bool in) {
    SmallVector<Value> tokens;
    for (const Placed &placed : all)
      if (in ? placed.isFilled : placed.isWritten)
        tokens.push_back(copier.copy(builder, placed, in));
    if (!tokens.empty())
      tile::WaitOp::create(builder, loc, tokens);
  };
  Operation *begin = &block.front();
  while (isa<tile::AllocOp>(begin))
    begin = begin->getNextNode();
  copyAll(OpBuilder(begin), true);
  copyAll(OpBuilder(block.getTerminator()), false);
  return success();
}

LogicalResult Placer::run() {
  parallel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isAccess(op))
      if (Value memref = arrayOf(op); !llvm::is_contained(arrays, memref))
        arrays.push_back(memref);
  });
  parallel->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
    auto at = loop->getAttrOfType<IntegerAttr>(tile::atAttr);
    if (!at)
      return;
    loops.push_back({loop, at.getInt()});
    // Tiles of a single nest are loops of it; those of several hold nests of their own.
    if (schedule.getOps() == 1 && chip.graph().memoryOf(schedule.getLevel()))
      loop->removeAttr(tile::atAttr);
  });
  for (tile::PlacementAttr placement : schedule.getPlacements())
    if (placement.getArray() < int64_t(arrays.size()) && isTemporary(arrays[placement.getArray()], placement.getAt()))
      temporaries.insert({arrays[placement.getArray()], placement.getAt()});
  // Outer placements first: what they hold needs no other inside.
  if (failed(place(parallel.getBody().front(), -1)))
    return failure();
  for (auto [loop, at] : loops)
    if (failed(place(*loop.getBody(), at)))
      return failure();
  moveLocalBuffers();
  // What the schedule says of placements is done.
  parallel.setScheduleAttr(schedule.withPlacements({}));
  return success();
}

namespace {
struct PlaceTiles : tilewright::impl::PlaceTilesBase<PlaceTiles> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<tile::ParallelOp> scheduled;
    function.walk([&](tile::ParallelOp op) {
      if (op.getScheduleAttr())
        scheduled.push_back(op);
    });
    if (scheduled.empty())
      return;
    auto chip = requireTarget(function);
    if (failed(chip))
      return signalPassFailure();
    for (tile::ParallelOp op : scheduled)
      if (failed(Placer(op, **chip).run()))
        return signalPassFailure();
    // What lay between the operations of a schedule lies in their tiles.
    for (auto buffer : llvm::make_early_inc_range(function.front().getOps<memref::AllocOp>()))
      eraseUnused(buffer);
  }
};
} // namespace
