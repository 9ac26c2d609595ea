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

/// Where one stage of an operand comes from, from position `k` of the sum on. No check where the size is a multiple of
/// what the blocks cover; a multi-stage buffer that lanes fill reads ahead along k.
StagedPlace LaneContractionNest::placeOf(bool isA, AffineExpr k, AffineExpr stage) {
  StagedPlace place{isA ? blockRow : blockCol, k, stage};
  place.freeEnds = divides(isA ? p.mDim : p.nDim, isA ? p.blockM() * p.cluster : p.blockN());
  place.kEnds = kInside || (divides(p.kDim, p.depth) && (p.stages == 1 || !p.engine.empty()));
  place.k = isA ? alongA(k) : alongB(k);
  if (!place.kEnds)
    place.kLeft = (isA ? alongA(space.extent(p.kDim)) : alongB(space.extent(p.kDim))) - place.k;
  place.wholeVectors = (isA ? p.a : p.b).over && !place.freeEnds && !isLast;
  return place;
}

/// One stage of an operand; where tiles lie in blocks of lines, one of them.
Value LaneContractionNest::copy(bool isA, AffineExpr k, AffineExpr stage, int64_t block) {
  return (isA ? bufferA : bufferB).copy(space, placeOf(isA, k, stage), block);
}

/// Both operands of one stage, with the places of a sparse A.
SmallVector<Value> LaneContractionNest::copyTiles(AffineExpr k, AffineExpr stage) {
  SmallVector<Value> tokens;
  for (bool isA : {true, false}) {
    for (int64_t block = 0, blocks = (isA ? bufferA : bufferB).blocks(); block < blocks; ++block)
      tokens.push_back(copy(isA, k, stage, block));
  }
  if (bufferOfPlaces)
    tokens.push_back(bufferOfPlaces->copy(space, placeOf(true, k, stage)));
  if (task.scalesOfA)
    tokens.push_back(task.scalesOfA->copy(space, scalesA, blockRow, k, stage));
  if (task.scalesOfB)
    tokens.push_back(task.scalesOfB->copy(space, scalesB, blockCol, k, stage));
  if (task.indexOfA)
    tokens.push_back(task.indexOfA->copy(space, indexA, blockRow, k, stage));
  return tokens;
}

/// Where the elements of number `tile` of the subgroup's rows of a sparse A stand in their groups, for a unit's k from
/// `inStage` of the step on; from stage `stage`, images there, or where that lies. Beyond the edges, where elements are
/// zero, it is a group's begin, or that of some group.
Value LaneContractionNest::loadIndex(int64_t tile, AffineExpr stage, AffineExpr inStage) {
  const tile::FragmentType type = fragmentOf(unit.sparsity->index, builder().getI8Type());
  if (task.indexOfA)
    return task.indexOfA->load(space, indexA, type, stage, localRow + tile * unit.m, inStage);
  if (bufferOfPlaces)
    return bufferOfPlaces->load(space, type, stage, localRow + tile * unit.m, alongA(inStage));
  const AffineExpr k = stepBegin + inStage;
  space.at[p.mDim] = row + tile * unit.m;
  space.at[p.kDim] = alongA(k);
  TileAxes axes{p.mDim, p.kDim};
  if (!divides(p.mDim, p.blockM() * p.cluster))
    axes.validRows = space.extent(p.mDim) - space.at[p.mDim];
  if (!stepInside && !divides(p.kDim, p.depth))
    axes.validCols = alongA(space.extent(p.kDim)) - space.at[p.kDim];
  return loadTile(space, c.a.index->access, type, axes);
}

/// The scales of number `tile` of the subgroup's rows of A (columns of B) for a unit's k, from `inStage` of the step
/// on; from where they lie, or from their images in stage `stage`. Beyond the edges, where elements are zero, they are
/// some power of two.
Value LaneContractionNest::loadScales(bool isA, int64_t tile, AffineExpr stage, AffineExpr inStage) {
  const OperandScale &scale = *(isA ? c.a : c.b).scale;
  const UnitOperand &own = isA ? unit.scales->a : unit.scales->b;
  if (const std::optional<ScaleImages> &images = isA ? task.scalesOfA : task.scalesOfB)
    return images->load(space, isA ? scalesA : scalesB, fragmentOf(own, scale.element), stage,
                        isA ? localRow + tile * unit.m : localCol + tile * unit.n, inStage);
  const AffineExpr k = stepBegin + inStage;
  // Blocks of the unit, or larger ones, of which one serves a whole issue.
  const bool isAlike = scale.block != unit.scales->block;
  const int64_t block = isAlike ? std::max<int64_t>(1, scale.block) : scale.block;
  const unsigned free = isA ? p.mDim : p.nDim;
  space.at[free] = isA ? row + tile * unit.m : col + tile * unit.n;
  space.at[p.kDim] = k.floorDiv(block);
  AffineExpr validFree, validK;
  if (!divides(free, isA ? p.blockM() * p.cluster : p.blockN()))
    validFree = space.extent(free) - space.at[free];
  TileAxes axes{free, std::nullopt};
  if (!isAlike) {
    axes.col = p.kDim;
    if (!stepInside && !divides(p.kDim, p.depth))
      validK = space.extent(p.kDim).ceilDiv(block) - space.at[p.kDim];
  }
  axes.validRows = validFree;
  axes.validCols = validK;
  if (!isA) {
    std::swap(axes.row, axes.col);
    std::swap(axes.validRows, axes.validCols);
  }
  return loadTile(space, scale.access, fragmentOf(own, scale.element), axes);
}

/// The fragments of a unit's k at `k` of the slice's part of a stage.
LaneContractionNest::Fragments LaneContractionNest::loadFragments(AffineExpr stage, int64_t k) {
  AffineExpr inStage = slice * p.sliceDepth() + k;
  Fragments loaded;
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    loaded.a.push_back(bufferA.load(space, fragmentOf(unit.a, storedType(elementIn(unit.a, c.a.element))), stage,
                                    localRow + tm * unit.m, alongA(inStage)));
  for (int64_t tn = 0; tn < p.tilesN; ++tn)
    loaded.b.push_back(bufferB.load(space, fragmentOf(unit.b, storedType(elementIn(unit.b, c.b.element))), stage,
                                    localCol + tn * unit.n, alongB(inStage)));
  for (int64_t tm = 0; c.a.scale && tm < p.tilesM; ++tm)
    loaded.scalesA.push_back(loadScales(true, tm, stage, inStage));
  for (int64_t tn = 0; c.b.scale && tn < p.tilesN; ++tn)
    loaded.scalesB.push_back(loadScales(false, tn, stage, inStage));
  for (int64_t tm = 0; c.a.index && tm < p.tilesM; ++tm)
    loaded.indexA.push_back(loadIndex(tm, stage, inStage));
  return loaded;
}

/// The products of a unit's k. `mark`: an attribute of the first one, empty: none.
void LaneContractionNest::multiply(const Fragments &own, SmallVectorImpl<Value> &sums, StringRef mark) {
  for (int64_t tm = 0; tm < p.tilesM; ++tm)
    for (int64_t i = 0; i < p.tilesN; ++i) {
      int64_t tn = tm % 2 ? p.tilesN - 1 - i : i; // back and forth: the last operand is used again
      Value &sum = sums[tm * p.tilesN + tn];
      SmallVector<Value> scales;
      if (c.a.scale)
        scales.push_back(own.scalesA[tm]);
      if (c.b.scale)
        scales.push_back(own.scalesB[tn]);
      auto product =
          tile::MmaOp::create(builder(), space.loc, sum.getType(), own.a[tm], own.b[tn], sum,
                              builder().getStringAttr(unit.name), scales, c.a.index ? own.indexA[tm] : Value());
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
  if (which == p.otherK.size() && (!p.engine.empty() || p.stages == 1))
    return space.reduce(constant(0), space.extent(p.kDim).ceilDiv(p.depth), accumulators,
                        [&](AffineExpr iv, ValueRange args) {
                          stepBegin = iv * p.depth;
                          SmallVector<Value> tokens = copyTiles(iv * p.depth, iv % p.stages);
                          tile::WaitOp::create(builder(), space.loc, tokens);
                          return multiply(args, iv % p.stages);
                        });
  if (which == p.otherK.size())
    return ring(accumulators);
  return space.reduce(constant(0), space.extent(p.otherK[which]), accumulators, [&](AffineExpr iv, ValueRange args) {
    space.at[p.otherK[which]] = iv;
    return reduce(which + 1, args);
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
    coming.push_back(copy(true, step * p.depth, step % p.stages));
    coming.push_back(copy(false, step * p.depth, step % p.stages));
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
    stepBegin = step * p.depth;
    stepInside = !number || *number < whole;
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
    for (const auto *fragments : held.all())
      values.append(*fragments);
    values.append(coming);
  };
  auto take = [&](SmallVectorImpl<Value> &values) {
    auto rest = ArrayRef(values).drop_front(count);
    for (auto *fragments : held.all()) {
      fragments->assign(rest.begin(), rest.begin() + fragments->size());
      rest = rest.drop_front(fragments->size());
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
        tokens.push_back(copy(isA, step * p.depth, stage));
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
        stepBegin = iv * p.depth;
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
