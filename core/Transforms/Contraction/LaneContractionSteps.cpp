//===- LaneContractionSteps.cpp - Steps of a contraction on lanes ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Copies of one step, its products, and how the next step's copies run ahead.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Contraction/LaneContractionNest.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// One stage of an operand from position `k` of the sum on; where tiles lie in blocks of lines, one of them.
Value LaneContractionNest::copy(const ContractionOperand &operand, const StagedTile &tile, Value buffer, bool isA,
                                AffineExpr k, AffineExpr stage, int64_t block) {
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
  // No check where the size is a multiple of what the blocks cover; a multi-stage buffer that lanes fill reads ahead
  // along k.
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
    if (tile.over && !freeEnds && !isLast) { // whole vectors, the last of which ends in the array's next row
      int64_t vector = tile.looseElements(elementBytes(operand.element));
      left[freePlace] = left[freePlace].ceilDiv(vector) * vector;
    }
    std::tie(validMap, validOperands) = space.map(left);
  }
  auto copy = tile::CopyOp::create(builder(), space.loc, operand.access.memref, map, operands,
                                   AffineMap::get(2, 0, from, builder().getContext()), buffer, target, targetOperands,
                                   AffineMap::get(2, 0, into, builder().getContext()), shape, validMap, validOperands,
                                   llvm::to_vector_of<int64_t>(operand.bounded));
  if (tile.near)
    copy->setAttr(turnAttr,
                  builder().getDenseI64ArrayAttr({tile.turn.along, tile.turn.across, tile.near, tile.beside}));
  if (tile.direct)
    copy->setAttr(directAttr, builder().getUnitAttr());
  if (tile.begin)
    copy->setAttr(looseAttr, builder().getI64IntegerAttr(tile.begin));
  if (tile.held)
    copy->setAttr(heldAttr, builder().getUnitAttr());
  if (!p.engine.empty())
    copy->setAttr(engineAttr, builder().getStringAttr(p.engine));
  return copy;
}

/// Both operands of one stage.
SmallVector<Value> LaneContractionNest::copyTiles(AffineExpr k, AffineExpr stage) {
  SmallVector<Value> tokens;
  for (bool isA : {true, false}) {
    const StagedTile &tile = isA ? p.a : p.b;
    int64_t blocks = inBlocks(tile) ? (isA ? p.blockM() : p.blockN()) / tile.line : 1;
    for (int64_t block = 0; block < blocks; ++block)
      tokens.push_back(copy(isA ? c.a : c.b, tile, isA ? sharedA : sharedB, isA, k, stage, block));
  }
  return tokens;
}

/// The fragments of a unit's k at `k` of the slice's part of a stage.
LaneContractionNest::Fragments LaneContractionNest::loadFragments(AffineExpr stage, int64_t k) {
  AffineExpr inStage = slice * p.sliceDepth() + k;
  auto load = [&](Value buffer, const UnitOperand &own, const ContractionOperand &operand, const StagedTile &tile,
                  bool isA, AffineExpr free) {
    SmallVector<AffineExpr> place{stage, free, inStage};
    if (!tile.kInner)
      std::swap(place[1], place[2]);
    bool straight = isA == tile.kInner; // rows of the fragment are rows of the buffer
    SmallVector<AffineExpr> from{constant(0), straight ? dim(0) : dim(1), straight ? dim(1) : dim(0)};
    if (inBlocks(tile)) {
      place = {stage, free.floorDiv(tile.line), inStage, constant(0)};
      AffineExpr inner = from[2];
      from = {constant(0), inner.floorDiv(tile.line), from[1], inner % tile.line};
    }
    auto [map, operands] = space.map(place);
    AffineMap elements = AffineMap::get(2, 0, from, builder().getContext());
    return tile::LoadOp::create(builder(), space.loc, fragment(own, elementOf(own, operand.element)), buffer, operands,
                                AffineMapAttr::get(map), AffineMapAttr::get(elements), AffineMapAttr(), ValueRange())
        .getResult();
  };
  Fragments loaded;
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    loaded.a.push_back(load(sharedA, unit.a, c.a, p.a, true, localRow + tm * unit.m));
  for (int64_t tn = 0; tn < p.tilesN; ++tn)
    loaded.b.push_back(load(sharedB, unit.b, c.b, p.b, false, localCol + tn * unit.n));
  return loaded;
}

/// The products of a unit's k. `mark`: an attribute of the first one, empty: none.
void LaneContractionNest::multiply(const Fragments &own, SmallVectorImpl<Value> &sums, StringRef mark) {
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    for (int64_t i = 0; i < p.tilesN; ++i) {
      int64_t tn = tm % 2 ? p.tilesN - 1 - i : i; // back and forth: the last operand is used again
      Value &sum = sums[tm * p.tilesN + tn];
      auto product = tile::MmaOp::create(builder(), space.loc, sum.getType(), own.a[tm], own.b[tn], sum,
                                         builder().getStringAttr(unit.name));
      if (!mark.empty())
        product->setAttr(std::exchange(mark, StringRef()), builder().getUnitAttr());
      sum = product;
    }
}

/// All products of a slice's part of one stage.
SmallVector<Value> LaneContractionNest::multiply(ValueRange accumulators, AffineExpr stage) {
  SmallVector<Value> sums(accumulators);
  bool ahead = p.loadsAhead || p.keepsOrder;
  Fragments next = loadFragments(stage, 0);
  for (int64_t k = 0; k < p.sliceDepth(); k += unit.k) {
    Fragments own = next;
    bool last = k + unit.k >= p.sliceDepth();
    if (ahead && !last) // the next fragments come while these are multiplied
      next = loadBehind(stage, k + unit.k);
    multiply(own, sums, !ahead ? StringRef() : last ? StringRef(arrivedAttr) : StringRef(behindLoadsAttr));
    if (!ahead && !last)
      next = loadFragments(stage, k + unit.k);
  }
  return sums;
}

/// loadFragments behind the arrival of those that were loaded before.
LaneContractionNest::Fragments LaneContractionNest::loadBehind(AffineExpr stage, int64_t k) {
  Fragments loaded = loadFragments(stage, k);
  loaded.a.front().getDefiningOp()->setAttr(arrivedAttr, builder().getUnitAttr());
  return loaded;
}

/// The products of `held`, the last ones of the step before (none: it has no fragments), and those of `stage` but the
/// last, whose fragments become `held`. `arrive` writes the wait for what this step copies (null: it copies nothing):
/// lanes write what they hold beside the last products here, an engine has the whole step.
void LaneContractionNest::multiplyAcross(Fragments &held, SmallVectorImpl<Value> &sums, AffineExpr stage,
                                         function_ref<Operation *()> arrive) {
  bool byLanes = arrive && !(p.a.direct && p.b.direct) && p.sliceDepth() > 2 * unit.k;
  Fragments next = loadFragments(stage, 0);
  if (!held.a.empty())
    multiply(held, sums, behindLoadsAttr);
  for (int64_t k = unit.k; k < p.sliceDepth(); k += unit.k) {
    Fragments own = next;
    bool writes = byLanes && k + unit.k >= p.sliceDepth();
    if (writes) { // one wait for fragments and elements
      arrive()->setAttr(arrivedAttr, builder().getUnitAttr());
      next = loadFragments(stage, k);
    } else {
      next = loadBehind(stage, k);
    }
    multiply(own, sums, writes ? StringRef() : StringRef(behindLoadsAttr));
  }
  if (arrive && !byLanes)
    arrive();
  held = next;
}

SmallVector<Value> LaneContractionNest::reduce(unsigned which, ValueRange accumulators) {
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
SmallVector<Value> LaneContractionNest::single(ValueRange accumulators) {
  return space.reduce(constant(0), space.extent(p.kDim).ceilDiv(p.depth), accumulators,
                      [&](AffineExpr iv, ValueRange args) {
                        Value a = copy(c.a, p.a, sharedA, true, iv * p.depth, constant(0));
                        Value b = copy(c.b, p.b, sharedB, false, iv * p.depth, constant(0));
                        tile::WaitOp::create(builder(), space.loc, ValueRange{a, b});
                        return multiply(args, constant(0));
                      });
}

/// A multi-stage buffer that lanes fill, of a constant size `k`. Steps whose copies are whole are a loop; those after
/// it are written one by one, so that no copy goes beyond the end and none needs a check, but that of a last step that
/// is not whole. Where copies may go over the end of a row, the last one is after the loop too: no row follows it.
SmallVector<Value> LaneContractionNest::prefetch(int64_t k, ValueRange accumulators) {
  int64_t whole = k / p.depth, steps = llvm::divideCeil(k, p.depth), ahead = p.ahead();
  int64_t alike = p.a.over || p.b.over ? std::min(whole, steps - 1) : whole; // steps whose copies are the loop's
  SmallVector<Value> coming; // tokens of the copies under way, the oldest ones first
  // Steps of the loop have no number; they are inside, and not the last one.
  auto copyStep = [&](AffineExpr step, std::optional<int64_t> number) {
    kInside = !number || *number < whole;
    isLast = number && *number + 1 == steps;
    coming.push_back(copy(c.a, p.a, sharedA, true, step * p.depth, step % p.stages));
    coming.push_back(copy(c.b, p.b, sharedB, false, step * p.depth, step % p.stages));
    kInside = false;
    isLast = true;
  };
  auto wait = [&] {
    SmallVector<Value> oldest(ArrayRef(coming).take_front(2));
    coming.erase(coming.begin(), coming.begin() + 2);
    return tile::WaitOp::create(builder(), space.loc, oldest).getOperation();
  };
  // Step `step` is multiplied while the next ones are on their way.
  Fragments held;
  auto stepAt = [&](AffineExpr step, std::optional<int64_t> number, SmallVectorImpl<Value> &sums) {
    bool waits = !number || *number + 1 < steps;
    if (!number)
      copyStep(step + ahead, std::nullopt);
    else if (*number + ahead < steps)
      copyStep(step + ahead, *number + ahead);
    if (p.across && waits)
      return multiplyAcross(held, sums, step % p.stages, wait);
    if (p.across)
      return multiplyAcross(held, sums, step % p.stages, nullptr);
    sums = multiply(sums, step % p.stages);
    if (waits)
      wait();
  };
  for (int64_t step = 0; step < std::min(ahead, steps); ++step)
    copyStep(constant(step), step);
  wait();
  SmallVector<Value> sums(accumulators);
  // As many steps as stages, or twice as many, in an iteration, where registers allow: then stages are constant, and
  // places in the scratchpad. The first step has no fragments of one before.
  int64_t first = p.across && alike > ahead;
  if (first)
    stepAt(constant(0), 0, sums);
  int64_t rounds = std::max<int64_t>(0, alike - ahead - first) / p.round;
  size_t count = sums.size();
  auto carry = [&](SmallVectorImpl<Value> &values) {
    values.append(held.a);
    values.append(held.b);
    values.append(coming);
  };
  auto take = [&](SmallVectorImpl<Value> &values) {
    auto rest = ArrayRef(values).drop_front(count);
    if (!held.a.empty()) {
      held = {llvm::to_vector(rest.take_front(p.tilesM)), llvm::to_vector(rest.slice(p.tilesM, p.tilesN))};
      rest = rest.drop_front(p.tilesM + p.tilesN);
    }
    coming.assign(rest.begin(), rest.end());
    values.truncate(count);
  };
  carry(sums);
  sums = space.reduce(constant(0), constant(rounds), sums, [&](AffineExpr iv, ValueRange args) {
    SmallVector<Value> next(args);
    take(next);
    for (int64_t stage = 0; stage < p.round; ++stage)
      stepAt(iv * p.round + stage + first, std::nullopt, next);
    carry(next);
    return next;
  });
  take(sums);
  for (int64_t step = rounds * p.round + first; step < steps; ++step)
    stepAt(constant(step), step, sums);
  if (p.across)
    multiply(held, sums, arrivedAttr);
  return sums;
}

/// A multi-stage buffer. With an engine, `stages - 1` steps are under way; without, and of operands that pass
/// through registers all the same, the next step is staged in registers while this one is multiplied.
SmallVector<Value> LaneContractionNest::ring(ValueRange accumulators) {
  if (auto k = dyn_cast<AffineConstantExpr>(space.extent(p.kDim)); k && !engine && p.lastApart && k.getValue() > 0)
    return prefetch(k.getValue(), accumulators);
  AffineExpr steps = space.extent(p.kDim).ceilDiv(p.depth);
  SmallVector<Value> carried(accumulators);
  size_t count = accumulators.size();
  // Of the operands that the engine copies, or of those that it does not.
  auto stageCopies = [&](bool byEngine, AffineExpr step, AffineExpr stage) {
    SmallVector<Value> tokens;
    for (bool isA : {true, false})
      if (const StagedTile &tile = isA ? p.a : p.b; (engine && !tile.held) == byEngine)
        tokens.push_back(copy(isA ? c.a : c.b, tile, isA ? sharedA : sharedB, isA, step * p.depth, stage));
    return tokens;
  };
  auto wait = [&](ValueRange tokens) {
    if (!tokens.empty())
      tile::WaitOp::create(builder(), space.loc, tokens);
  };
  int64_t ahead = p.stages - 1;
  SmallVector<Value> first = stageCopies(false, constant(0), constant(0));
  for (int64_t s = 0; s < ahead; ++s)
    llvm::append_range(carried, stageCopies(true, constant(s), constant(s)));
  wait(first);
  size_t each = (carried.size() - count) / ahead;
  SmallVector<Value> results =
      space.reduce(constant(0), steps, carried, [&](AffineExpr iv, ValueRange args) -> SmallVector<Value> {
        SmallVector<Value> held = stageCopies(false, iv + 1, (iv + 1) % p.stages);
        wait(args.slice(count, each));
        SmallVector<Value> started = stageCopies(true, iv + ahead, (iv + ahead) % p.stages);
        SmallVector<Value> next = multiply(args.take_front(count), iv % p.stages);
        wait(held);
        llvm::append_range(next, args.drop_front(count + each));
        llvm::append_range(next, started);
        return next;
      });
  wait(ValueRange(results).drop_front(count)); // nothing may be under way when the block ends
  results.truncate(count);
  return results;
}
