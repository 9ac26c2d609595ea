//===- LaneContractionEmitter.cpp - A contraction on lanes ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Positions are affine expressions over the indices entered so far, as in
/// ContractionEmitter.cpp.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaneContractionEmitter.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/IterationSpace.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {
namespace {

class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, const ContractionTask &task, const LaneContractionPlan &plan,
          const LaneHierarchy &hierarchy, bool engine)
      : task(task), c(task.contraction), p(plan), unit(*plan.unit), hierarchy(hierarchy), engine(engine),
        space(builder, loc) {}
  void emit();

private:
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, space.builder.getContext()); }
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, space.builder.getContext()); }
  OpBuilder &builder() { return space.builder; }
  Type elementOf(const UnitOperand &operand, Type memory) {
    return operand.element == ElementKind::TF32 ? memory : elementType(operand.element, builder().getContext());
  }
  tile::FragmentType fragment(const UnitOperand &operand, Type element) {
    return tile::FragmentType::get(operand.rows, operand.cols, element, operand.layout);
  }
  Value alloc(const StagedTile &tile, int64_t free, Type element);
  Value copy(const ContractionOperand &operand, const StagedTile &tile, Value buffer, bool isA, AffineExpr k,
             AffineExpr stage, int64_t block = 0);
  SmallVector<Value> copyTiles(AffineExpr k, AffineExpr stage);
  /// The tile lies in blocks of lines along the free dimension.
  static bool inBlocks(const StagedTile &tile) { return tile.line && !tile.kInner; }
  void tile(ArrayRef<AffineExpr> place);
  SmallVector<Value> multiply(ValueRange accumulators, AffineExpr stage);
  SmallVector<Value> reduce(unsigned which, ValueRange accumulators);
  SmallVector<Value> ring(ValueRange accumulators);
  SmallVector<Value> single(ValueRange accumulators);
  SmallVector<Value> prefetch(int64_t k, ValueRange accumulators);
  void subgroup();
  AffineMap elements(const Access &access);
  void at(int64_t tm, int64_t tn) {
    space.at[p.mDim] = row + tm * unit.m;
    space.at[p.nDim] = col + tn * unit.n;
  }
  AffineMapAttr valid(int64_t tm, int64_t tn, SmallVectorImpl<Value> &operands);
  Value load(const Access &access, tile::FragmentType type, int64_t tm, int64_t tn);
  void store(Value value, const Access &access, int64_t tm, int64_t tn);

  const ContractionTask &task;
  const Contraction &c;
  const LaneContractionPlan &p;
  const MatrixUnit &unit;
  const LaneHierarchy &hierarchy;
  bool engine;
  bool kInside = false; // the copies to be written lie inside along k
  IterationSpace space;
  Value sharedA, sharedB;
  AffineExpr rank;                                             // of the block in its cluster
  AffineExpr blockRow, blockCol, row, col, localRow, localCol; // of the block, of the subgroup, inside the block
};

void Emitter::emit() {
  for (AffineForOp loop : c.nest.loops)
    space.addDimension(loop);
  AffineExpr outer = constant(1);
  for (unsigned dim : p.outer)
    outer = outer * space.extent(dim);
  SmallVector<AffineExpr> grid{space.extent(p.mDim).ceilDiv(p.blockM() * p.cluster),
                               space.extent(p.nDim).ceilDiv(p.blockN())};
  if (!p.outer.empty())
    grid.insert(grid.begin(), outer);
  // The blocks of a cluster lie one below the other.
  auto block = [&](llvm::function_ref<void()> body) {
    auto allocate = [&] {
      sharedA = alloc(p.a, p.blockM(), c.a.element);
      sharedB = alloc(p.b, p.blockN(), c.b.element);
      body();
    };
    rank = constant(0);
    if (p.cluster == 1)
      return allocate();
    space.parallel({constant(p.cluster)}, hierarchy.cluster, [&](ArrayRef<AffineExpr> own) {
      rank = own[0];
      allocate();
    });
  };
  if (!p.workers) {
    space.parallel(grid, hierarchy.grid, [&](ArrayRef<AffineExpr> place) { block([&] { tile(place); }); });
    return;
  }
  // Tiles in sweeps: `rasterRows` rows of tiles, column after column.
  AffineExpr tilesM = grid[grid.size() - 2], tilesN = grid.back();
  AffineExpr matrix = tilesM * tilesN, count = p.outer.empty() ? matrix : outer * matrix;
  auto rounds = [&](AffineExpr worker) {
    AffineExpr rounds = (count - worker + (p.workers - 1)).floorDiv(p.workers);
    space.loop(constant(0), {rounds}, [&](AffineExpr round) {
      AffineExpr number = round * p.workers + worker, inside = number % matrix, sweep = tilesN * p.rasterRows;
      AffineExpr row = inside.floorDiv(sweep) * p.rasterRows + inside % p.rasterRows;
      SmallVector<AffineExpr> place{row, (inside % sweep).floorDiv(p.rasterRows)};
      if (!p.outer.empty())
        place.insert(place.begin(), number.floorDiv(matrix));
      tile(place);
    });
  };
  space.parallel({constant(p.workers)}, hierarchy.grid,
                 [&](ArrayRef<AffineExpr> worker) { block([&] { rounds(worker[0]); }); });
}

/// One tile of C: indices of the outer dimensions as one, row and column of the tile.
void Emitter::tile(ArrayRef<AffineExpr> block) {
  if (!p.outer.empty()) {
    AffineExpr rest = block.front();
    for (unsigned i = p.outer.size(); i-- > 0;) {
      space.at[p.outer[i]] = i == 0 ? rest : rest % space.extent(p.outer[i]);
      if (i > 0)
        rest = rest.floorDiv(space.extent(p.outer[i]));
    }
    block = block.drop_front();
  }
  blockRow = (block[0] * p.cluster + rank) * p.blockM();
  blockCol = block[1] * p.blockN();
  space.parallel({constant(p.subgroupsM), constant(p.subgroupsN)}, hierarchy.block, [&](ArrayRef<AffineExpr> own) {
    localRow = own[0] * (p.tilesM * unit.m);
    localCol = own[1] * (p.tilesN * unit.n);
    row = blockRow + localRow;
    col = blockCol + localCol;
    subgroup();
  });
}

Value Emitter::alloc(const StagedTile &tile, int64_t free, Type element) {
  SmallVector<int64_t> shape{p.stages, tile.kInner ? free : p.depth, tile.kInner ? p.depth : free};
  if (inBlocks(tile))
    shape = {p.stages, free / tile.line, p.depth, tile.line};
  auto type = MemRefType::get(shape, element, AffineMap(), builder().getStringAttr(hierarchy.scratchpad));
  tile::ArrangementAttr arrangement;
  if (tile.swizzleBits || tile.padding)
    arrangement = tile::ArrangementAttr::get(builder().getContext(), tile.swizzleBits, tile.swizzleBase,
                                             tile.swizzleShift, tile.padding, 1);
  return tile::AllocOp::create(builder(), space.loc, type, ValueRange(), arrangement);
}

/// One stage of an operand from position `k` of the sum on; where tiles lie in blocks of lines, one of them.
Value Emitter::copy(const ContractionOperand &operand, const StagedTile &tile, Value buffer, bool isA, AffineExpr k,
                    AffineExpr stage, int64_t block) {
  unsigned freeDim = isA ? p.mDim : p.nDim;
  AffineExpr free = isA ? blockRow : blockCol;
  int64_t width = isA ? p.blockM() : p.blockN();
  SmallVector<AffineExpr> place{stage, constant(0), constant(0)};
  SmallVector<AffineExpr> into{constant(0), dim(0), dim(1)};
  if (inBlocks(tile)) {
    free = free + block * tile.line;
    width = tile.line;
    place.insert(place.begin() + 1, constant(block));
    into.insert(into.begin(), constant(0));
  }
  space.at[freeDim] = free;
  space.at[p.kDim] = k;
  auto [map, operands] = space.address(operand.access);
  auto [target, targetOperands] = space.map(place);
  unsigned freePlace = tile.kInner ? 0 : 1, kPlace = 1 - freePlace;
  SmallVector<AffineExpr> from;
  for (AffineExpr result : operand.access.map.getResults())
    from.push_back(dim(freePlace) * *linearCoefficient(result, freeDim) +
                   dim(kPlace) * *linearCoefficient(result, p.kDim));
  SmallVector<int64_t> shape{width, p.depth};
  SmallVector<AffineExpr> left{space.extent(freeDim) - free, space.extent(p.kDim) - k};
  if (!tile.kInner) {
    std::swap(shape[0], shape[1]);
    std::swap(left[0], left[1]);
  }
  // No check where the size is a multiple of what the blocks cover; a ring that lanes fill reads ahead along k.
  auto divides = [&](AffineExpr extent, int64_t size) {
    auto number = dyn_cast<AffineConstantExpr>(extent);
    return number && number.getValue() % size == 0;
  };
  bool freeEnds = divides(space.extent(freeDim), isA ? p.blockM() * p.cluster : p.blockN());
  bool kEnds = kInside || (divides(space.extent(p.kDim), p.depth) && (p.stages == 1 || !p.engine.empty()));
  AffineMap validMap;
  SmallVector<Value> validOperands;
  if (!freeEnds || !kEnds) {
    if (freeEnds)
      left[freePlace] = constant(shape[freePlace]);
    if (kEnds)
      left[kPlace] = constant(shape[kPlace]);
    std::tie(validMap, validOperands) = space.map(left);
  }
  auto copy = tile::CopyOp::create(builder(), space.loc, operand.access.memref, map, operands,
                                   AffineMap::get(2, 0, from, builder().getContext()), buffer, target, targetOperands,
                                   AffineMap::get(2, 0, into, builder().getContext()), shape, validMap, validOperands);
  if (tile.near)
    copy->setAttr(turnAttr, builder().getDenseI64ArrayAttr({tile.turn.along, tile.turn.across, tile.near}));
  if (tile.direct)
    copy->setAttr(directAttr, builder().getUnitAttr());
  if (!p.engine.empty())
    copy->setAttr(engineAttr, builder().getStringAttr(p.engine));
  return copy;
}

/// Both operands of one stage.
SmallVector<Value> Emitter::copyTiles(AffineExpr k, AffineExpr stage) {
  SmallVector<Value> tokens;
  for (bool isA : {true, false}) {
    const StagedTile &tile = isA ? p.a : p.b;
    int64_t blocks = inBlocks(tile) ? (isA ? p.blockM() : p.blockN()) / tile.line : 1;
    for (int64_t block = 0; block < blocks; ++block)
      tokens.push_back(copy(isA ? c.a : c.b, tile, isA ? sharedA : sharedB, isA, k, stage, block));
  }
  return tokens;
}

/// All products of one stage.
SmallVector<Value> Emitter::multiply(ValueRange accumulators, AffineExpr stage) {
  SmallVector<Value> results(accumulators);
  auto aType = fragment(unit.a, elementOf(unit.a, c.a.element)),
       bType = fragment(unit.b, elementOf(unit.b, c.b.element));
  auto load = [&](Value buffer, tile::FragmentType type, const StagedTile &tile, bool isA, AffineExpr free, int64_t k) {
    SmallVector<AffineExpr> place{stage, free, constant(k)};
    if (!tile.kInner)
      std::swap(place[1], place[2]);
    bool straight = isA == tile.kInner; // rows of the fragment are rows of the buffer
    SmallVector<AffineExpr> from{constant(0), straight ? dim(0) : dim(1), straight ? dim(1) : dim(0)};
    if (inBlocks(tile)) {
      place = {stage, free.floorDiv(tile.line), constant(k), constant(0)};
      AffineExpr inner = from[2];
      from = {constant(0), inner.floorDiv(tile.line), from[1], inner % tile.line};
    }
    auto [map, operands] = space.map(place);
    AffineMap elements = AffineMap::get(2, 0, from, builder().getContext());
    return tile::LoadOp::create(builder(), space.loc, type, buffer, operands, AffineMapAttr::get(map),
                                AffineMapAttr::get(elements), AffineMapAttr(), ValueRange())
        .getResult();
  };
  SmallVector<Value> a, b;
  auto loadAll = [&](int64_t k) {
    a.clear();
    b.clear();
    for (int64_t tm = 0; tm < p.tilesM; ++tm)
      a.push_back(load(sharedA, aType, p.a, true, localRow + tm * unit.m, k));
    for (int64_t tn = 0; tn < p.tilesN; ++tn)
      b.push_back(load(sharedB, bType, p.b, false, localCol + tn * unit.n, k));
  };
  auto mark = [&](Operation *op, StringRef attribute) { op->setAttr(attribute, builder().getUnitAttr()); };
  loadAll(0);
  for (int64_t k = 0; k < p.depth; k += unit.k) {
    SmallVector<Value> ownA(a), ownB(b);
    bool last = k + unit.k >= p.depth, first = true;
    bool ahead = p.loadsAhead || p.keepsOrder;
    if (ahead && !last) { // the next fragments come while these are multiplied
      loadAll(k + unit.k);
      mark(a.front().getDefiningOp(), arrivedAttr);
    }
    for (int64_t tm = 0; tm < p.tilesM; ++tm)
      for (int64_t i = 0; i < p.tilesN; ++i) {
        int64_t tn = tm % 2 ? p.tilesN - 1 - i : i; // back and forth: the last operand is used again
        Value &sum = results[tm * p.tilesN + tn];
        auto product = tile::MmaOp::create(builder(), space.loc, sum.getType(), ownA[tm], ownB[tn], sum,
                                           builder().getStringAttr(unit.name));
        if (std::exchange(first, false) && ahead)
          mark(product, last ? arrivedAttr : behindLoadsAttr);
        sum = product;
      }
    if (!ahead && !last)
      loadAll(k + unit.k);
  }
  return results;
}

SmallVector<Value> Emitter::reduce(unsigned which, ValueRange accumulators) {
  if (which == p.otherK.size() && !p.engine.empty())
    return space.reduce(constant(0), space.extent(p.kDim).ceilDiv(p.depth), accumulators,
                        [&](AffineExpr iv, ValueRange args) {
                          SmallVector<Value> tokens = copyTiles(iv * p.depth, iv % p.stages);
                          tile::WaitOp::create(builder(), space.loc, tokens);
                          return multiply(args, iv % p.stages);
                        });
  if (which == p.otherK.size())
    return p.stages == 1 ? single(accumulators) : ring(accumulators);
  return space.reduce(constant(0), space.extent(p.otherK[which]), accumulators, [&](AffineExpr iv, ValueRange args) {
    space.at[p.otherK[which]] = iv;
    return reduce(which + 1, args);
  });
}

/// One stage: copy, wait, multiply.
SmallVector<Value> Emitter::single(ValueRange accumulators) {
  return space.reduce(constant(0), space.extent(p.kDim).ceilDiv(p.depth), accumulators,
                      [&](AffineExpr iv, ValueRange args) {
                        Value a = copy(c.a, p.a, sharedA, true, iv * p.depth, constant(0));
                        Value b = copy(c.b, p.b, sharedB, false, iv * p.depth, constant(0));
                        tile::WaitOp::create(builder(), space.loc, ValueRange{a, b});
                        return multiply(args, constant(0));
                      });
}

/// A ring that lanes fill, of a constant size `k`: the last step is multiplied behind the loop, so that no copy goes
/// beyond the end and none needs a check, but that of a last step that is not whole.
SmallVector<Value> Emitter::prefetch(int64_t k, ValueRange accumulators) {
  int64_t whole = k / p.depth, steps = llvm::divideCeil(k, p.depth);
  auto copyStep = [&](AffineExpr step, bool inside) {
    kInside = inside;
    Value a = copy(c.a, p.a, sharedA, true, step * p.depth, step % p.stages);
    Value b = copy(c.b, p.b, sharedB, false, step * p.depth, step % p.stages);
    kInside = false;
    return SmallVector<Value>{a, b};
  };
  auto wait = [&](ValueRange tokens) { tile::WaitOp::create(builder(), space.loc, tokens); };
  // Step `step` is multiplied while the next one is on its way.
  auto both = [&](AffineExpr step, bool inside, ValueRange sums) {
    SmallVector<Value> tokens = copyStep(step + 1, inside);
    SmallVector<Value> next = multiply(sums, step % p.stages);
    wait(tokens);
    return next;
  };
  wait(copyStep(constant(0), whole > 0));
  SmallVector<Value> sums(accumulators);
  // Once round the ring in an iteration, where registers allow: then stages are constant, and places in the scratchpad.
  int64_t rounds = std::max<int64_t>(0, whole - 1) / p.round;
  sums = space.reduce(constant(0), constant(rounds), sums, [&](AffineExpr iv, ValueRange args) {
    SmallVector<Value> next(args);
    for (int64_t stage = 0; stage < p.round; ++stage)
      next = both(iv * p.round + stage, true, next);
    return next;
  });
  for (int64_t step = rounds * p.round; step < whole - 1; ++step)
    sums = both(constant(step), true, sums);
  if (whole > 0 && steps > whole)
    sums = both(constant(whole - 1), false, sums);
  return multiply(sums, constant((steps - 1) % p.stages));
}

/// A ring of stages. With an engine, `stages - 1` steps are under way; without, the next step waits in registers while
/// this one is multiplied.
SmallVector<Value> Emitter::ring(ValueRange accumulators) {
  if (auto k = dyn_cast<AffineConstantExpr>(space.extent(p.kDim)); k && !engine && p.lastApart && k.getValue() > 0)
    return prefetch(k.getValue(), accumulators);
  AffineExpr steps = space.extent(p.kDim).ceilDiv(p.depth);
  SmallVector<Value> carried(accumulators);
  size_t count = accumulators.size();
  auto stageCopies = [&](AffineExpr step, AffineExpr stage) {
    Value a = copy(c.a, p.a, sharedA, true, step * p.depth, stage);
    return std::pair(a, copy(c.b, p.b, sharedB, false, step * p.depth, stage));
  };
  int64_t ahead = p.stages - 1;
  for (int64_t s = 0; s < (engine ? ahead : 1); ++s) {
    auto [a, b] = stageCopies(constant(s), constant(s));
    if (engine)
      carried.append({a, b});
    else
      tile::WaitOp::create(builder(), space.loc, ValueRange{a, b});
  }
  SmallVector<Value> results =
      space.reduce(constant(0), steps, carried, [&](AffineExpr iv, ValueRange args) -> SmallVector<Value> {
        if (!engine) {
          auto [a, b] = stageCopies(iv + 1, (iv + 1) % p.stages);
          SmallVector<Value> sums = multiply(args, iv % p.stages);
          tile::WaitOp::create(builder(), space.loc, ValueRange{a, b});
          return sums;
        }
        tile::WaitOp::create(builder(), space.loc, args.slice(count, 2));
        auto [a, b] = stageCopies(iv + ahead, (iv + ahead) % p.stages);
        SmallVector<Value> next = multiply(args.take_front(count), iv % p.stages);
        llvm::append_range(next, args.drop_front(count + 2));
        next.append({a, b});
        return next;
      });
  if (engine) // nothing may be under way when the block ends
    tile::WaitOp::create(builder(), space.loc, ValueRange(results).drop_front(count));
  results.truncate(count);
  return results;
}

AffineMap Emitter::elements(const Access &access) {
  SmallVector<AffineExpr> results;
  for (AffineExpr result : access.map.getResults())
    results.push_back(dim(0) * *linearCoefficient(result, p.mDim) + dim(1) * *linearCoefficient(result, p.nDim));
  return AffineMap::get(2, 0, results, builder().getContext());
}

AffineMapAttr Emitter::valid(int64_t tm, int64_t tn, SmallVectorImpl<Value> &operands) {
  auto full = [&](unsigned d, int64_t size) {
    auto extent = dyn_cast<AffineConstantExpr>(space.extent(d));
    return extent && extent.getValue() % size == 0;
  };
  bool rows = full(p.mDim, p.blockM() * p.cluster), cols = full(p.nDim, p.blockN());
  if (rows && cols)
    return {};
  auto [map, values] = space.map({rows ? constant(unit.m) : space.extent(p.mDim) - (row + tm * unit.m),
                                  cols ? constant(unit.n) : space.extent(p.nDim) - (col + tn * unit.n)});
  operands.assign(values);
  return AffineMapAttr::get(map);
}

Value Emitter::load(const Access &access, tile::FragmentType type, int64_t tm, int64_t tn) {
  at(tm, tn);
  auto [map, operands] = space.address(access);
  SmallVector<Value> validOperands;
  AffineMapAttr validMap = valid(tm, tn, validOperands);
  return tile::LoadOp::create(builder(), space.loc, type, access.memref, operands, AffineMapAttr::get(map),
                              AffineMapAttr::get(elements(access)), validMap, validOperands);
}

void Emitter::store(Value value, const Access &access, int64_t tm, int64_t tn) {
  at(tm, tn);
  auto [map, operands] = space.address(access);
  SmallVector<Value> validOperands;
  AffineMapAttr validMap = valid(tm, tn, validOperands);
  tile::StoreOp::create(builder(), space.loc, value, access.memref, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(elements(access)), validMap, validOperands, UnitAttr());
}

/// The tile of one subgroup.
void Emitter::subgroup() {
  auto type = fragment(unit.c, c.accumulator);
  // What C held is added behind the sum: else the loop would hold the addresses and checks of all of the tile, which
  // its stores need again.
  bool adds = !task.zeroInit && p.engine.empty() && (task.mayReassociate || !isa<FloatType>(c.accumulator));
  SmallVector<Value> sums;
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    for (int64_t tn = 0; tn < p.tilesN; ++tn)
      sums.push_back(task.zeroInit || adds ? tile::ZeroOp::create(builder(), space.loc, type).getResult()
                                           : load(c.c, type, tm, tn));
  sums = reduce(0, sums);
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    for (int64_t tn = 0; tn < p.tilesN; ++tn) {
      Value sum = sums[tm * p.tilesN + tn];
      if (adds)
        sum = tile::MapOp::create(builder(), space.loc, type, ValueRange{load(c.c, type, tm, tn), sum},
                                  [&](OpBuilder &inner, Location loc, ValueRange values) {
                                    bool isFloat = isa<FloatType>(c.accumulator);
                                    Value total =
                                        isFloat ? arith::AddFOp::create(inner, loc, values[0], values[1]).getResult()
                                                : arith::AddIOp::create(inner, loc, values[0], values[1]);
                                    tile::YieldOp::create(inner, loc, total);
                                  })
                  .getResult(0);
      if (task.keepC)
        store(sum, c.c, tm, tn);
      if (!task.epilogue.empty())
        emitEpilogue(
            builder(), space.loc, task, sum, [&](Type element) { return fragment(unit.c, element); },
            [&](const Access &access, tile::FragmentType type) { return load(access, type, tm, tn); },
            [&](Value value, const Access &access) { store(value, access, tm, tn); });
    }
}

} // namespace

void emitLaneContraction(OpBuilder &builder, Location loc, const ContractionTask &task, const LaneContractionPlan &plan,
                         const LaneHierarchy &hierarchy, bool engine) {
  Emitter(builder, loc, task, plan, hierarchy, engine).emit();
}

} // namespace tilewright
