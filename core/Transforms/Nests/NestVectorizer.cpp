//===- NestVectorizer.cpp - One nest as vector code ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops around one vector of iterations (NestLanes.cpp): rows, their aligned,
// unrolled, single and masked parts, steps taken at once, ranges over cores.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/NestVectorizer.h"
#include "core/Analysis/ElementType.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/Utils/VectorUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

Value NestVectorizer::laneTrips(OpBuilder &b) const {
  AffineForOp loop = nest.loops[laneLoop];
  if (auto trips = nest.tripCounts[laneLoop])
    return arith::ConstantIndexOp::create(b, loc, *trips);
  AffineMap map = loop.getUpperBoundMap();
  ValueRange operands = loop.getUpperBoundOperands();
  return affine::expandAffineExpr(b, loc, map.getResult(0), operands.take_front(map.getNumDims()),
                                  operands.drop_front(map.getNumDims()));
}

/// Iterations before the streamed store reaches the boundary of a vector, fewer than a vector has elements; a line that
/// several vectors share is whole but for the first and the last.
Value NestVectorizer::distanceToAlignment(OpBuilder &b, const Step &step, Value begin, Value trips) const {
  SmallVector<Value> ivs = step.ivs;
  ivs[laneLoop] = begin;
  auto type = cast<MemRefType>(streamed->memref.getType());
  int64_t bytes = elementBytes(type.getElementType());
  Value offset = arith::ConstantIndexOp::create(b, loc, 0);
  for (auto [dim, index] : llvm::enumerate(indices(b, *streamed, ivs))) {
    Value size = arith::ConstantIndexOp::create(b, loc, type.getDimSize(dim));
    offset = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, offset, size), index);
  }
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, streamed->memref);
  Value width = arith::ConstantIndexOp::create(b, loc, bytes);
  address = arith::AddIOp::create(b, loc, address, arith::MulIOp::create(b, loc, offset, width));
  Value lowBits = arith::ConstantIndexOp::create(b, loc, model.lineBytes() / vectorsOfLine(*streamed) - 1);
  Value negated = arith::SubIOp::create(b, loc, arith::ConstantIndexOp::create(b, loc, 0), address);
  Value distance = arith::AndIOp::create(b, loc, negated, lowBits);
  distance = arith::DivUIOp::create(b, loc, distance, width);
  return arith::MinUIOp::create(b, loc, distance, arith::SubIOp::create(b, loc, trips, begin).getResult());
}

/// Whether `rest` iterations are rather vectors whose lengths are powers of two than one with a mask: a single one
/// always is, more where the masked stores take longer.
bool NestVectorizer::restIsShorter(int64_t rest) const {
  if (rest < 2 || !turned.empty())
    return false;
  const auto vectors = static_cast<double>(llvm::popcount(static_cast<uint64_t>(rest)));
  const auto stores = static_cast<double>(nest.stores.size());
  const double body = model.issueSeconds(arithmetic(), laneCost(laneLoop).loads);
  return vectors * (body + model.storeSeconds(stores, false)) <= body + model.storeSeconds(stores, true);
}

NestVectorizer::Row NestVectorizer::beginRow(OpBuilder &b, ArrayRef<Step> steps) const {
  Row row;
  row.steps = steps;
  row.zero = arith::ConstantIndexOp::create(b, loc, 0);
  row.trips = rangeEnd ? rangeEnd : laneTrips(b);
  row.begin = row.aligned = row.position = rangeBegin ? rangeBegin : row.zero;
  row.known = streamed && !beginsAligned ? std::nullopt : nest.tripCounts[laneLoop];
  if (row.known && rangeBegin)
    row.known = laneBlock && *row.known % laneBlock == 0 && ranges == 1 ? std::optional(laneBlock) : std::nullopt;
  for (unsigned i = 0; i < accumulations.size(); ++i)
    if (accumulations[i].overLanes) {
      row.kept.push_back(i);
      row.sums.push_back(neutral(b, accumulations[i], /*vector=*/true));
    }
  return row;
}

/// The iteration that is `count` behind the first one of the row.
Value NestVectorizer::behindBegin(OpBuilder &b, const Row &row, int64_t count) const {
  Value distance = arith::ConstantIndexOp::create(b, loc, count);
  return rangeBegin ? arith::AddIOp::create(b, loc, row.begin, distance).getResult() : distance;
}

/// Where the last whole group of `count` iterations ends.
Value NestVectorizer::lastMultiple(OpBuilder &b, const Row &row, int64_t count) const {
  if (row.known)
    return behindBegin(b, row, *row.known / count * count);
  Value left = arith::SubIOp::create(b, loc, row.trips, row.aligned);
  Value rest = arith::RemUIOp::create(b, loc, left, arith::ConstantIndexOp::create(b, loc, count).getResult());
  return arith::SubIOp::create(b, loc, row.trips, rest);
}

/// One vector of which the first `count` lanes are on; the sums of the row with it.
SmallVector<Value> NestVectorizer::emitMasked(OpBuilder &b, const Row &row, Value base, Value count) {
  Value mask = vector::CreateMaskOp::create(b, loc, vectorOf(b.getI1Type()), count);
  lanesOn = count;
  SmallVector<Value> sums(accumulations.size());
  for (auto [i, value] : llvm::zip_equal(row.kept, row.sums))
    sums[i] = value;
  Value limit; // the last iteration, for what is not masked
  if (!turned.empty()) {
    limit = arith::AddIOp::create(b, loc, base, count);
    limit = arith::SubIOp::create(b, loc, limit, arith::ConstantIndexOp::create(b, loc, 1).getResult());
  }
  emitBlock(b, row.steps, base, mask, limit, false, sums);
  return llvm::map_to_vector(row.kept, [&](unsigned i) { return sums[i]; });
}

/// The same where `count` may be zero.
void NestVectorizer::emitMaskedIfAny(OpBuilder &b, Row &row, Value base, Value count) {
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, count, row.zero);
  auto choice = scf::IfOp::create(b, loc, TypeRange(ValueRange(row.sums)), any, /*withElseRegion=*/!row.sums.empty());
  OpBuilder then = choice.getThenBodyBuilder();
  SmallVector<Value> sums = emitMasked(then, row, base, count);
  if (sums.empty())
    return;
  scf::YieldOp::create(then, loc, sums);
  OpBuilder otherwise = choice.getElseBodyBuilder();
  scf::YieldOp::create(otherwise, loc, row.sums);
  row.sums.assign(choice.getResults().begin(), choice.getResults().end());
}

/// A loop over whole vectors from `position` to `end`, `copies` at a time, with the kept accumulations of each as
/// values that it carries, `init` before: these behind it.
SmallVector<Value> NestVectorizer::emitVectors(OpBuilder &b, Row &row, int64_t copies, ArrayRef<Value> init,
                                               Value end) {
  Value step = arith::ConstantIndexOp::create(b, loc, lanes * copies);
  auto created = scf::ForOp::create(b, loc, row.position, end, step, init);
  row.position = end;
  OpBuilder inner = OpBuilder::atBlockBegin(created.getBody());
  const bool abreast = copies > 1 && row.steps.size() == 1 && runsAbreast();
  SmallVector<Value> bases, out;
  SmallVector<SmallVector<Value>> sums(copies, SmallVector<Value>(accumulations.size()));
  for (int64_t copy = 0; copy < copies; ++copy) {
    Value base = created.getInductionVar();
    if (copy)
      base =
          arith::AddIOp::create(inner, loc, base, arith::ConstantIndexOp::create(inner, loc, copy * lanes).getResult());
    for (auto [k, i] : llvm::enumerate(row.kept))
      sums[copy][i] = created.getRegionIterArgs()[copy * row.kept.size() + k];
    emitPrefetches(inner, row.steps.front(), base, copy);
    if (!abreast)
      emitBlock(inner, row.steps, base, {}, {}, true, sums[copy]);
    bases.push_back(base);
  }
  if (abreast)
    emitAbreast(inner, row.steps.front(), bases, sums);
  for (SmallVector<Value> &own : sums)
    for (unsigned i : row.kept)
      out.push_back(own[i]);
  if (!created.getBody()->empty() && created.getBody()->back().hasTrait<OpTrait::IsTerminator>())
    created.getBody()->back().erase();
  inner.setInsertionPointToEnd(created.getBody());
  scf::YieldOp::create(inner, loc, out);
  return SmallVector<Value>(created.getResults());
}

/// Combines the kept accumulations of `from` with those of `to`.
void NestVectorizer::combineKept(OpBuilder &b, const Row &row, MutableArrayRef<Value> to, ArrayRef<Value> from) {
  for (auto [i, left, right] : llvm::zip_equal(row.kept, to, from))
    left = vector::makeArithReduction(b, accumulations[i].combine->getLoc(), accumulations[i].kind, left, right);
}

/// Full vectors up to `end`, `unroll` at a time.
void NestVectorizer::emitUnrolled(OpBuilder &b, Row &row, Value end) {
  const size_t kept = row.kept.size();
  SmallVector<Value> init = row.sums;
  for (int64_t copy = 1; copy < unroll; ++copy)
    for (unsigned i : row.kept)
      init.push_back(neutral(b, accumulations[i], /*vector=*/true));
  SmallVector<Value> out = emitVectors(b, row, unroll, init, end);
  // Pairs first: the same tree for every length.
  MutableArrayRef<Value> copies(out);
  for (int64_t count = unroll; count > 1; count /= 2)
    for (int64_t copy = 0; copy < count / 2; ++copy)
      combineKept(b, row, copies.slice(copy * kept, kept), copies.slice((copy + count / 2) * kept, kept));
  out.resize(kept);
  row.sums = out;
}

/// Long rows of sums in blocks, whose sums are added: what is added in a row is shorter then.
void NestVectorizer::emitBlocks(OpBuilder &b, Row &row) {
  constexpr int64_t additions = 64; // in a row
  const int64_t block = additions * lanes * unroll;
  const bool hasSums = llvm::any_of(row.kept, [&](unsigned i) {
    return accumulations[i].kind == vector::CombiningKind::ADD &&
           isa<FloatType>(accumulations[i].combine->getResult(0).getType());
  });
  if (!mayReassociate || !hasSums || !row.known || *row.known < 2 * block)
    return;
  Value end = lastMultiple(b, row, block), size = arith::ConstantIndexOp::create(b, loc, block);
  auto loop = scf::ForOp::create(b, loc, row.position, end, size, row.sums);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Row part = row;
  part.position = loop.getInductionVar();
  for (auto [i, sum] : llvm::zip_equal(row.kept, part.sums))
    sum = neutral(inner, accumulations[i], /*vector=*/true);
  emitUnrolled(inner, part, arith::AddIOp::create(inner, loc, part.position, size));
  SmallVector<Value> totals(loop.getRegionIterArgs());
  combineKept(inner, row, totals, part.sums);
  scf::YieldOp::create(inner, loc, totals);
  row.position = end;
  row.sums.assign(loop.getResults().begin(), loop.getResults().end());
}

/// The rest of a row without sums as vectors whose lengths are powers of two.
void NestVectorizer::emitShorter(OpBuilder &b, Row &row) {
  const int64_t whole = lanes;
  int64_t done = *row.known / whole * whole;
  SmallVector<Step> shorter(row.steps);
  for (; done < *row.known; done += lanes) {
    lanes = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(*row.known - done)));
    for (Step &step : shorter)
      broadcastUniform(b, step);
    SmallVector<Value> sums(accumulations.size()); // none is kept
    emitBlock(b, shorter, behindBegin(b, row, done), {}, {}, false, sums);
  }
  lanes = whole;
}

/// What is left behind the last whole vector.
void NestVectorizer::emitRest(OpBuilder &b, Row &row) {
  if (!row.known) {
    Value left = arith::SubIOp::create(b, loc, row.trips, row.position);
    return emitMaskedIfAny(b, row, row.position, left);
  }
  const int64_t rest = *row.known % lanes;
  if (rest == 0)
    return;
  if (row.kept.empty() && restIsShorter(rest))
    return emitShorter(b, row);
  Value base = behindBegin(b, row, *row.known / lanes * lanes);
  row.sums = emitMasked(b, row, base, arith::ConstantIndexOp::create(b, loc, rest));
}

/// Adds the kept accumulations up over their lanes, and to what memory holds.
void NestVectorizer::storeSums(OpBuilder &b, const Row &row) {
  SmallVector<Value> ivs = row.steps.front().ivs;
  ivs[laneLoop] = row.zero;
  for (auto [i, sum] : llvm::zip_equal(row.kept, row.sums)) {
    const Accumulation &accumulation = accumulations[i];
    SmallVector<Value> at = indices(b, *accumulation.store, ivs);
    Value memory = memref::LoadOp::create(b, loc, accumulation.load->memref, at);
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(sum.getType()));
    Location where = accumulation.combine->getLoc(); // of the sum in the program
    auto flags = isFloat && mayReassociate ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
    using vector::CombiningKind;
    if (mayReassociate &&
        (accumulation.kind == CombiningKind::MAXIMUMF || accumulation.kind == CombiningKind::MINIMUMF))
      flags = flags | arith::FastMathFlags::nsz; // an order of zeros would take branches
    Value total = vector::ReductionOp::create(b, where, accumulation.kind, sum, flags);
    total = vector::makeArithReduction(b, where, accumulation.kind, memory, total);
    memref::StoreOp::create(b, loc, total, accumulation.store->memref, at);
  }
}

/// All iterations of the lane loop, for the jammed `steps` of the loops around it: up to where a streamed store is
/// aligned; full vectors, `unroll` at a time; then single vectors; then shorter ones, or one that is masked.
void NestVectorizer::emitRow(OpBuilder &b, ArrayRef<Step> steps) {
  if (streamed && shortRows && !beginsAligned)
    return emitIfAligned(b, steps);
  Row row = beginRow(b, steps);
  if (streamed && !beginsAligned) {
    Value distance = distanceToAlignment(b, steps.front(), row.begin, row.trips);
    row.aligned = row.position = arith::AddIOp::create(b, loc, row.begin, distance);
    emitMaskedIfAny(b, row, row.begin, distance);
  }
  emitBlocks(b, row);
  if (unroll > 1)
    emitUnrolled(b, row, lastMultiple(b, row, lanes * unroll));
  if (!(row.known && unroll > 1 && *row.known % (lanes * unroll) < lanes))
    row.sums = emitVectors(b, row, 1, row.sums, lastMultiple(b, row, lanes));
  emitRest(b, row);
  storeSums(b, row);
}

/// Rows too short for a head: they go past the caches where the array begins at a vector, as each of them then does.
void NestVectorizer::emitIfAligned(OpBuilder &b, ArrayRef<Step> steps) {
  Row row = beginRow(b, steps);
  Value distance = distanceToAlignment(b, steps.front(), row.begin, row.trips);
  Value isAligned = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, distance, row.zero);
  auto choice = scf::IfOp::create(b, loc, isAligned, /*withElseRegion=*/true);
  OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
  beginsAligned = true;
  emitRow(then, steps);
  beginsAligned = false;
  const Access *store = std::exchange(streamed, nullptr);
  emitRow(otherwise, steps);
  streamed = store;
}

/// Whether iterations of loop `dim` write to elements that no other one touches: `dim` itself is an index of all
/// accesses of each array that is written, at one place.
bool NestVectorizer::keepsApart(unsigned dim) {
  for (const Access &store : nest.stores) {
    ArrayRef<AffineExpr> indices = store.map.getResults();
    const auto *at = llvm::find(indices, getAffineDimExpr(dim, store.map.getContext()));
    if (at == indices.end())
      return false;
    for (const Access &other : llvm::concat<const Access>(nest.loads, nest.stores))
      if (other.memref == store.memref && other.map.getResult(at - indices.begin()) != *at)
        return false;
  }
  return true;
}

/// A loop over blocks of the lanes' iterations, with the range that is written inside.
AffineForOp NestVectorizer::emitLaneBlocks(OpBuilder &b) {
  AffineForOp original = nest.loops[laneLoop];
  AffineMap bound = original.getUpperBoundMap();
  auto loop = AffineForOp::create(
      b, loc, {}, b.getConstantAffineMap(0), original.getUpperBoundOperands(),
      AffineMap::get(bound.getNumDims(), bound.getNumSymbols(), bound.getResult(0).ceilDiv(laneBlock)));
  b.setInsertionPointToStart(loop.getBody());
  Value size = arith::ConstantIndexOp::create(b, loc, laneBlock), trips = laneTrips(b);
  rangeBegin = arith::MulIOp::create(b, loc, loop.getInductionVar(), size);
  rangeEnd = arith::MinUIOp::create(b, loc, arith::AddIOp::create(b, loc, rangeBegin, size).getResult(), trips);
  return loop;
}

SmallVector<AffineForOp> NestVectorizer::rewrite() {
  SmallVector<AffineForOp> outermost;
  OpBuilder b(nest.loops.front());
  if (ranges > 1) {
    // Ranges of equal length in whole vectors; the last ones may be short or empty.
    Value trips = laneTrips(b);
    auto index = [&](OpBuilder &at, int64_t value) {
      return arith::ConstantIndexOp::create(at, loc, value).getResult();
    };
    Value length = arith::CeilDivUIOp::create(b, loc, trips, index(b, ranges * lanes));
    length = arith::MulIOp::create(b, loc, length, index(b, lanes));
    auto parallel =
        AffineParallelOp::create(b, loc, TypeRange(), ArrayRef<arith::AtomicRMWKind>(), ArrayRef<int64_t>{ranges});
    b.setInsertionPointToStart(parallel.getBody());
    Value begin = arith::MulIOp::create(b, loc, parallel.getIVs()[0], length);
    rangeBegin = arith::MinUIOp::create(b, loc, begin, trips);
    rangeEnd = arith::MinUIOp::create(b, loc, arith::AddIOp::create(b, loc, begin, length).getResult(), trips);
  }
  // The loops around the lanes stay affine, in their order, rows that run together in the place of their loop. Steps of
  // a sum or of a square run innermost: `steps` of them from `first` + `steps` * i on.
  const bool isInnermost = !accumulations.empty() || !turned.empty();
  auto emitOuter = [&](int64_t steps, AffineMap lower, AffineMap upper, ValueRange boundOperands, int64_t first = 0) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Value> ivs(nest.depth());
    auto enter = [&](unsigned dim) {
      AffineForOp original = nest.loops[dim];
      auto loop = dim == jamLoop
                      ? AffineForOp::create(b, loc, boundOperands, lower, boundOperands, upper)
                      : AffineForOp::create(b, loc, original.getLowerBoundOperands(), original.getLowerBoundMap(),
                                            original.getUpperBoundOperands(), original.getUpperBoundMap());
      bool isOutermost = dim == 0 && (dim != jamLoop || nest.stores.front().dims().test(dim));
      bool keeps = laneLoop == 0 && dim == 1 && dim != jamLoop && keepsApart(dim);
      if ((isOutermost || keeps) && !llvm::is_contained(outermost, loop->getParentOfType<AffineForOp>()))
        outermost.push_back(loop);
      b.setInsertionPointToStart(loop.getBody());
      ivs[dim] = loop.getInductionVar();
    };
    if (laneBlock && interleaved) { // around all rows, which each block of lanes walks while it stays near
      AffineForOp blocks = emitLaneBlocks(b);
      if (keepsApart(laneLoop))
        outermost.push_back(blocks);
    }
    for (unsigned dim = 0; dim < nest.depth(); ++dim)
      if (dim != laneLoop && (dim != jamLoop || !isInnermost))
        enter(dim);
    if (laneBlock && !interleaved) {
      AffineForOp blocks = emitLaneBlocks(b);
      if (nest.depth() == 2 && keepsApart(laneLoop))
        outermost.push_back(blocks);
    }
    if (jamLoop && isInnermost)
      enter(*jamLoop);
    SmallVector<Step> all;
    if (jamLoop) {
      Value number = ivs[*jamLoop];
      auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value).getResult(); };
      if (steps > 1 && jamDistance == 1)
        number = arith::MulIOp::create(b, loc, number, index(steps));
      for (int64_t k = 0; k < steps; ++k) {
        int64_t place = first + k * jamDistance;
        ivs[*jamLoop] = place == 0 ? number : arith::AddIOp::create(b, loc, number, index(place)).getResult();
        all.push_back(beginStep(b, ivs));
      }
    } else {
      all.push_back(beginStep(b, ivs));
    }
    emitRow(b, all);
  };
  if (!jamLoop) {
    emitOuter(1, {}, {}, {});
  } else {
    AffineForOp original = nest.loops[*jamLoop];
    AffineMap bound = original.getUpperBoundMap();
    auto mapOf = [&](AffineExpr expr) { return AffineMap::get(bound.getNumDims(), bound.getNumSymbols(), expr); };
    AffineExpr trips = bound.getResult(0);
    ValueRange operands = original.getUpperBoundOperands();
    AffineExpr zero = b.getAffineConstantExpr(0);
    // Neighbours together, or the iterations of `jam` ranges; what is left, one by one.
    AffineExpr count = jamDistance > 1 ? b.getAffineConstantExpr(jamDistance) : trips.floorDiv(jam);
    emitOuter(jam, mapOf(zero), mapOf(count), operands);
    std::optional<int64_t> known = nest.tripCounts[*jamLoop];
    if (interleaved && known && jamDistance == 1) { // what is left goes on together, too
      if (*known % jam != 0)
        emitOuter(*known % jam, mapOf(zero), mapOf(zero + 1), operands, *known / jam * jam);
    } else if (turned.empty()) {
      if (jam > 1 && (!known || *known != (jamDistance > 1 ? jamDistance : *known / jam) * jam))
        emitOuter(1, mapOf(count * jam), mapOf(trips), operands);
    } else if (known) {
      // One more square, whose first rows have been written.
      if (*known % jam != 0)
        emitOuter(*known % jam, mapOf(zero), mapOf(zero + 1), operands, *known / jam * jam);
    } else {
      // Fewer steps than a square has rows, of which nothing is known: as they were.
      auto scalar = cast<AffineForOp>(b.clone(*nest.root()));
      AffineForOp loop = scalar;
      for (unsigned dim = 0; dim < *jamLoop; ++dim)
        loop = cast<AffineForOp>(loop.getBody()->front());
      loop.setLowerBound(operands, mapOf(count * jam));
    }
  }
  nest.root()->erase();
  return outermost;
}

} // namespace tilewright
