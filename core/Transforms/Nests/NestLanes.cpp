//===- NestLanes.cpp - One vector of a nest's iterations ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars that all lanes share, loads, the body's operations as vectors, stores,
// accumulations; NestVectorizer.cpp writes the loops around them.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Nests/NestVectorizer.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

SmallVector<Value> NestVectorizer::indices(OpBuilder &b, const Access &access, ValueRange ivs) const {
  SmallVector<Value> operands(ivs);
  operands.append(access.symbols.begin(), access.symbols.end());
  SmallVector<Value> result;
  for (AffineExpr expr : access.map.getResults())
    result.push_back(affine::expandAffineExpr(b, loc, expr, ValueRange(operands).take_front(nest.depth()),
                                              ValueRange(operands).drop_front(nest.depth())));
  return result;
}

VectorType NestVectorizer::vectorOf(Type element) const { return VectorType::get({lanes}, element); }

Value NestVectorizer::neutral(OpBuilder &b, const Accumulation &accumulation, bool vector) const {
  using vector::CombiningKind;
  Type type = accumulation.combine->getResult(0).getType();
  TypedAttr attr;
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    APFloat value = APFloat::getZero(semantics, /*Negative=*/true);
    if (accumulation.kind == CombiningKind::MUL)
      value = APFloat::getOne(semantics);
    else if (accumulation.kind == CombiningKind::MAXIMUMF)
      value = APFloat::getInf(semantics, /*Negative=*/true);
    else if (accumulation.kind == CombiningKind::MINIMUMF)
      value = APFloat::getInf(semantics);
    else if (accumulation.kind == CombiningKind::MAXNUMF || accumulation.kind == CombiningKind::MINNUMF)
      value = APFloat::getNaN(semantics);
    attr = FloatAttr::get(type, value);
  } else {
    unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    APInt value = APInt::getZero(bits);
    if (accumulation.kind == CombiningKind::MUL)
      value = APInt(bits, 1);
    else if (accumulation.kind == CombiningKind::MAXSI)
      value = APInt::getSignedMinValue(bits);
    else if (accumulation.kind == CombiningKind::MINSI)
      value = APInt::getSignedMaxValue(bits);
    else if (accumulation.kind == CombiningKind::MINUI || accumulation.kind == CombiningKind::AND)
      value = APInt::getAllOnes(bits);
    attr = IntegerAttr::get(type, value);
  }
  if (vector)
    attr = SplatElementsAttr::get(vectorOf(type), attr);
  return arith::ConstantOp::create(b, loc, attr);
}

/// Values that do not vary over the lanes, as scalars, and the vectors of those that the lanes use.
NestVectorizer::Step NestVectorizer::beginStep(OpBuilder &b, ValueRange outer) {
  Step step;
  step.ivs.assign(outer.begin(), outer.end());
  for (auto [loop, iv] : llvm::zip_equal(nest.loops, step.ivs))
    if (iv)
      step.uniform.map(AffineForOp(loop).getInductionVar(), iv);
  // The lanes' own variable has no value here; maps that do not use it take a zero.
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  SmallVector<Value> ivs = step.ivs;
  ivs[laneLoop] = zero;
  for (Operation &op : nest.body->without_terminator()) {
    if (varying.contains(&op))
      continue;
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      const Access &access = *accessOf(&op);
      step.uniform.map(load.getResult(),
                       memref::LoadOp::create(b, loc, access.memref, indices(b, access, ivs)).getResult());
    } else if (auto apply = dyn_cast<AffineApplyOp>(op)) {
      SmallVector<Value> operands;
      for (Value operand : apply.getMapOperands())
        operands.push_back(step.uniform.lookupOrDefault(operand));
      AffineMap map = apply.getAffineMap();
      step.uniform.map(apply.getResult(), affine::expandAffineExpr(b, loc, map.getResult(0),
                                                                   ValueRange(operands).take_front(map.getNumDims()),
                                                                   ValueRange(operands).drop_front(map.getNumDims())));
    } else {
      b.clone(op, step.uniform);
    }
  }
  broadcastUniform(b, step);
  return step;
}

/// Makes vectors of `lanes` elements of the scalars that the lanes of `step` use.
void NestVectorizer::broadcastUniform(OpBuilder &b, Step &step) const {
  step.broadcast.clear();
  for (Operation &op : nest.body->without_terminator()) {
    if (!varying.contains(&op) || isa<AffineLoadOp, AffineApplyOp>(op))
      continue;
    ValueRange data = op.getOperands();
    if (auto store = dyn_cast<AffineStoreOp>(op))
      data = ValueRange(op.getOperands()).take_front(1);
    for (Value operand : data) {
      Operation *definition = operand.getDefiningOp();
      bool varies = (definition && varying.contains(definition)) ||
                    operand == nest.loops[laneLoop]->getRegion(0).front().getArgument(0);
      if (varies || step.broadcast.contains(operand))
        continue;
      step.broadcast.map(operand, vector::BroadcastOp::create(b, loc, vectorOf(operand.getType()),
                                                              step.uniform.lookupOrDefault(operand))
                                      .getResult());
    }
  }
}

Value NestVectorizer::vectorValue(Value original, const Step &step, const IRMapping &values) const {
  if (Value value = values.lookupOrNull(original))
    return value;
  return step.broadcast.lookup(original);
}

/// The loads that read near `load`, as it does: how many elements the first of them begins before it, and the last
/// after it. They share what they load side by side. Loads more than a vector apart share nothing.
std::pair<int64_t, int64_t> NestVectorizer::neighbourhood(const Access &load) const {
  SmallVector<int64_t> distances;
  for (const Access &other : nest.loads) {
    if (other.memref != load.memref || other.symbols != load.symbols ||
        other.map.getResults().drop_back() != load.map.getResults().drop_back())
      continue;
    AffineExpr distance = other.map.getResults().back() - load.map.getResults().back();
    if (auto number =
            dyn_cast<AffineConstantExpr>(simplifyAffineExpr(distance, load.map.getNumDims(), load.map.getNumSymbols())))
      distances.push_back(number.getValue());
  }
  llvm::sort(distances);
  std::pair<int64_t, int64_t> around{distances.front(), distances.front()};
  for (int64_t distance : distances) {
    if (distance > around.first + lanes) {
      if (around.second >= 0)
        break; // `load` is in this group
      around.first = distance;
    }
    around.second = distance;
  }
  return {-around.first, around.second};
}

/// Every `stride`-th element from `at` on, by loads side by side and shuffles. The last load ends with the last element
/// that is wanted, by this load or by a neighbour, so nothing beyond it is read:
///
///   stride 2, 4 lanes:                      a . b . | c . d      loads at 0 and 3, lanes {0, 2, 5, 7} of both
///   stride 2, 4 lanes, neighbour 1 behind:  a A b B | c C d D    loads at 0 and 4, which both share
///
/// The masked vector at the end of a row masks what lies beyond.
Value NestVectorizer::emitDeinterleaved(OpBuilder &b, const Access &load, VectorType type, ArrayRef<Value> at,
                                        int64_t stride, Value mask, Value filler) const {
  auto [before, behind] = neighbourhood(load);
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value).getResult(); };
  const int64_t span = before + (lanes - 1) * stride + behind + 1, parts = llvm::divideCeil(span, lanes);
  auto startOf = [&](int64_t part) { return mask || part + 1 < parts ? part * lanes : span - lanes; };
  auto holderOf = [&](int64_t lane) { return std::min((before + lane * stride) / lanes, parts - 1); };
  Value value;
  int64_t first = holderOf(0);
  for (int64_t part = first; part <= holderOf(lanes - 1); ++part) {
    SmallVector<Value> place(at);
    place.back() = arith::AddIOp::create(b, loc, place.back(), index(startOf(part) - before));
    Value loaded;
    if (mask) {
      // Elements from the start of this part to the last one that is wanted.
      Value wanted = arith::MulIOp::create(b, loc, lanesOn, index(stride));
      wanted = arith::AddIOp::create(b, loc, wanted, index(before + behind + 1 - stride - startOf(part)));
      Value some = vector::CreateMaskOp::create(b, loc, vectorOf(b.getI1Type()), wanted);
      loaded = vector::MaskedLoadOp::create(b, loc, type, load.memref, place, some, filler);
    } else {
      loaded = vector::LoadOp::create(b, loc, type, load.memref, place);
    }
    if (part == first) {
      value = loaded;
      continue;
    }
    SmallVector<int64_t> chosen;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t position = before + lane * stride, holder = holderOf(lane);
      // What the parts before have chosen lies at its lane.
      int64_t known = part == first + 1 ? position - startOf(first) : lane;
      chosen.push_back(holder < part ? known : holder == part ? lanes + position - startOf(part) : 0);
    }
    value = vector::ShuffleOp::create(b, loc, value, loaded, chosen);
  }
  // Where the mask is off there may be an element that a neighbour wants.
  return mask && isa<IntegerType>(type.getElementType())
             ? arith::SelectOp::create(b, loc, mask, value, filler).getResult()
             : value;
}

/// The elements that `load` reads for the lanes from `base` on; where `mask` is off, a value that harms no operation.
Value NestVectorizer::emitLoad(OpBuilder &b, AffineLoadOp load, const Step &step, Value base, Value mask) const {
  const Access &access = *accessOf(load);
  VectorType type = vectorOf(load.getType());
  SmallVector<Value> ivs = step.ivs;
  ivs[laneLoop] = base;
  SmallVector<Value> at = indices(b, access, ivs);
  int64_t stride = *access.stride(laneLoop);
  Value value;
  auto passThrough = [&] {
    // One instead of zero where the value may divide.
    Attribute filler = isa<FloatType>(load.getType()) ? Attribute(b.getFloatAttr(load.getType(), 0.0))
                                                      : Attribute(b.getIntegerAttr(load.getType(), 1));
    return arith::ConstantOp::create(b, loc, SplatElementsAttr::get(type, filler)).getResult();
  };
  if (stride == 0) {
    value = vector::BroadcastOp::create(b, loc, type, memref::LoadOp::create(b, loc, access.memref, at));
  } else if (stride == 1) {
    value = mask ? vector::MaskedLoadOp::create(b, loc, type, access.memref, at, mask, passThrough()).getResult()
                 : vector::LoadOp::create(b, loc, type, access.memref, at).getResult();
  } else if (model.deinterleaves(stride, lanes, elementBytes(load.getType())) && load.getType().isIntOrFloat() &&
             load.getType().getIntOrFloatBitWidth() >= 8) {
    value = emitDeinterleaved(b, access, type, at, stride, mask, mask ? passThrough() : Value());
  } else {
    VectorType offsets = vectorOf(b.getIndexType());
    SmallVector<int64_t> numbers;
    for (int64_t i = 0; i < lanes; ++i)
      numbers.push_back(i * stride);
    Value offset = arith::ConstantOp::create(b, loc, DenseIntElementsAttr::get(offsets, [&] {
                                               SmallVector<APInt> list;
                                               for (int64_t n : numbers)
                                                 list.push_back(APInt(64, n, /*isSigned=*/true));
                                               return list;
                                             }()));
    Value all =
        mask ? mask
             : arith::ConstantOp::create(b, loc, SplatElementsAttr::get(vectorOf(b.getI1Type()), b.getBoolAttr(true)))
                   .getResult();
    value = vector::GatherOp::create(b, loc, type, access.memref, at, offset, all, passThrough());
  }
  return value;
}

/// Numbers of the lanes' iterations that are data: that of the first, and multiples of what it grows by.
Value NestVectorizer::emitNumbers(OpBuilder &b, AffineApplyOp apply, const Step &step, Value base) {
  Value laneIv = nest.loops[laneLoop]->getRegion(0).front().getArgument(0);
  SmallVector<Value> operands;
  for (Value operand : apply.getMapOperands())
    operands.push_back(operand == laneIv ? base : step.uniform.lookupOrDefault(operand));
  AffineMap map = apply.getAffineMap();
  Value first = affine::expandAffineExpr(b, loc, map.getResult(0), ValueRange(operands).take_front(map.getNumDims()),
                                         ValueRange(operands).drop_front(map.getNumDims()));
  VectorType type = vectorOf(b.getIndexType());
  SmallVector<int64_t> offsets;
  for (int64_t lane = 0; lane < lanes; ++lane)
    offsets.push_back(lane * *laneCoefficient(apply));
  Value distances =
      arith::ConstantOp::create(b, loc, DenseIntElementsAttr::get(type, llvm::map_to_vector(offsets, [](int64_t each) {
                                                                    return APInt(64, each, /*isSigned=*/true);
                                                                  })));
  return arith::AddIOp::create(b, loc, vector::BroadcastOp::create(b, loc, type, first), distances);
}

/// The body of the nest for each of `steps`; where they are interleaved, operation by operation. Each step adds to sums
/// of its own, or all to the same.
void NestVectorizer::emitLanes(OpBuilder &b, ArrayRef<Step> steps, Value base, Value mask, bool aligned,
                               MutableArrayRef<IRMapping> values, MutableArrayRef<SmallVector<Value>> sums) {
  Value laneIv = nest.loops[laneLoop]->getRegion(0).front().getArgument(0);
  auto needsLaneIv = [&](Operation &op) {
    return !isa<AffineLoadOp, AffineStoreOp, AffineApplyOp>(op) && llvm::is_contained(op.getOperands(), laneIv);
  };
  if (llvm::any_of(*nest.body, needsLaneIv)) {
    VectorType type = vectorOf(b.getIndexType());
    Value numbers = arith::AddIOp::create(b, loc, vector::BroadcastOp::create(b, loc, type, base),
                                          vector::StepOp::create(b, loc, type));
    for (IRMapping &each : values)
      each.map(laneIv, numbers);
  }
  auto emit = [&](Operation &op, size_t step) {
    if (varying.contains(&op))
      emitOperation(b, op, steps[step], base, mask, aligned, values[step], sums[step % sums.size()]);
  };
  if (!interleaved) {
    for (size_t step = 0; step < steps.size(); ++step)
      for (Operation &op : nest.body->without_terminator())
        emit(op, step);
    return;
  }
  for (Operation &op : nest.body->without_terminator()) {
    emit(op, 0);
    auto load = dyn_cast<AffineLoadOp>(op);
    bool isShared = load && llvm::is_contained(shared, load) && values.front().contains(load.getResult());
    for (size_t step = 1; step < steps.size(); ++step)
      if (isShared)
        values[step].map(load.getResult(), values.front().lookup(load.getResult()));
      else
        emit(op, step);
  }
}

/// Whether neighbouring vectors go on together: an elementary function is a long chain of dependent operations, and
/// several chains one after the other do not fit the window in which a core looks for what is ready.
bool NestVectorizer::runsAbreast() const {
  Value laneIv = nest.loops[laneLoop]->getRegion(0).front().getArgument(0);
  auto isPlain = [&](Operation &op) {
    return isa<AffineLoadOp, AffineStoreOp>(op) || !llvm::is_contained(op.getOperands(), laneIv);
  };
  return turned.empty() && shared.empty() && llvm::all_of(*nest.body, isPlain) &&
         llvm::all_of(accumulations, [](const Accumulation &a) { return a.overLanes; }) &&
         llvm::any_of(varying, [](Operation *op) { return isa<math::MathDialect>(op->getDialect()); });
}

/// Vectors from each of `bases` on, operation by operation.
void NestVectorizer::emitAbreast(OpBuilder &b, const Step &step, ArrayRef<Value> bases,
                                 MutableArrayRef<SmallVector<Value>> sums) {
  SmallVector<IRMapping> values(bases.size());
  for (Operation &op : nest.body->without_terminator())
    if (varying.contains(&op))
      for (auto [base, own, total] : llvm::zip_equal(bases, values, sums))
        emitOperation(b, op, step, base, /*mask=*/{}, /*aligned=*/true, own, total);
}

void NestVectorizer::emitOperation(OpBuilder &b, Operation &op, const Step &step, Value base, Value mask, bool aligned,
                                   IRMapping &values, MutableArrayRef<Value> sums) {
  auto sumOf = [&](const Accumulation &accumulation) -> Value & { return sums[&accumulation - accumulations.data()]; };
  if (auto apply = dyn_cast<AffineApplyOp>(op)) {
    if (isData(apply))
      values.map(apply.getResult(), emitNumbers(b, apply, step, base));
    return;
  }
  if (auto load = dyn_cast<AffineLoadOp>(op)) {
    if (const Accumulation *accumulation = accumulationOf(&op))
      values.map(load.getResult(), sumOf(*accumulation));
    else if (!values.contains(load.getResult()))
      values.map(load.getResult(), emitLoad(b, load, step, base, mask));
    return;
  }
  if (auto store = dyn_cast<AffineStoreOp>(op)) {
    Value value = vectorValue(store.getValueToStore(), step, values);
    if (const Accumulation *accumulation = accumulationOf(&op)) {
      if (mask && accumulation->overLanes)
        value = arith::SelectOp::create(b, loc, mask, value, sumOf(*accumulation));
      sumOf(*accumulation) = value;
      return;
    }
    const Access &access = *accessOf(&op);
    SmallVector<Value> ivs = step.ivs;
    ivs[laneLoop] = base;
    SmallVector<Value> at = indices(b, access, ivs);
    if (mask)
      vector::MaskedStoreOp::create(b, loc, access.memref, at, mask, value);
    else if (aligned && &access == streamed)
      vector::StoreOp::create(b, loc, value, access.memref, at, /*nontemporal=*/true,
                              llvm::MaybeAlign(model.lineBytes() / vectorsOfLine(access)));
    else
      vector::StoreOp::create(b, loc, value, access.memref, at);
    return;
  }
  OperationState state(op.getLoc(), op.getName());
  for (Value operand : op.getOperands())
    state.addOperands(vectorValue(operand, step, values));
  for (Type type : op.getResultTypes())
    state.addTypes(vectorOf(type));
  state.addAttributes(op.getAttrs());
  Operation *created = b.create(state);
  for (auto [from, to] : llvm::zip_equal(op.getResults(), created->getResults()))
    values.map(from, to);
}

/// Those of vector `copy` of a step, from `base` on.
void NestVectorizer::emitPrefetches(OpBuilder &b, const Step &step, Value base, int64_t copy) {
  // Hints of memref.prefetch: 3 keeps a line in all caches, 2 in all but the nearest.
  for (const Prefetch &each : prefetched) {
    if (copy % vectorsOfLine(each.access) != 0)
      continue;
    Access next = each.access;
    for (Value &symbol : next.symbols)
      if (symbol == each.outer)
        symbol = arith::AddIOp::create(b, loc, each.outer, arith::ConstantIndexOp::create(b, loc, 1).getResult());
    SmallVector<Value> ivs = step.ivs;
    ivs[laneLoop] = base;
    memref::PrefetchOp::create(b, loc, next.memref, indices(b, next, ivs), each.written,
                               /*localityHint=*/each.near ? 3 : 2, /*isDataCache=*/true);
  }
}

bool NestVectorizer::hasLongSums(const Nest &nest) {
  constexpr int64_t few = 64; // terms in a row
  int64_t terms = 1;
  for (unsigned dim = 0; dim < nest.depth(); ++dim)
    if (llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(dim); }))
      terms = std::min(terms * nest.tripCounts[dim].value_or(few), few);
  return terms == few;
}

/// Whether each step of outer sums has sums of its own, which are then added pairwise: of n additions in a row a step
/// of four leaves n / 4 + 2.
bool NestVectorizer::addsPairwise(size_t steps) const {
  return steps > 1 && mayReassociate && !accumulations.empty() && hasLongSums(nest) &&
         llvm::all_of(accumulations, [](const Accumulation &a) {
           return !a.overLanes && a.kind == vector::CombiningKind::ADD &&
                  isa<FloatType>(a.combine->getResult(0).getType());
         });
}

/// `sums` of steps added pairwise, and to `all`, that memory had.
void NestVectorizer::addPairwise(OpBuilder &b, SmallVector<SmallVector<Value>> sums, MutableArrayRef<Value> all) {
  auto addTo = [&](MutableArrayRef<Value> left, ArrayRef<Value> right) {
    for (auto [accumulation, to, from] : llvm::zip_equal(accumulations, left, right))
      to = vector::makeArithReduction(b, accumulation.combine->getLoc(), accumulation.kind, to, from);
  };
  for (size_t distance = 1; distance < sums.size(); distance *= 2)
    for (size_t i = 0; i + distance < sums.size(); i += 2 * distance)
      addTo(sums[i], sums[i + distance]);
  addTo(all, sums.front());
}

/// Accumulations over outer loops are loaded before and stored after.
void NestVectorizer::emitBlock(OpBuilder &b, ArrayRef<Step> steps, Value base, Value mask, Value limit, bool aligned,
                               MutableArrayRef<Value> sums) {
  SmallVector<Value> ivs = steps.front().ivs;
  ivs[laneLoop] = base;
  SmallVector<Value> all(sums);
  for (auto [accumulation, sum] : llvm::zip_equal(accumulations, all)) {
    if (accumulation.overLanes)
      continue;
    VectorType type = vectorOf(accumulation.combine->getResult(0).getType());
    SmallVector<Value> at = indices(b, *accumulation.load, ivs);
    if (mask) {
      Value passThrough = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
      sum = vector::MaskedLoadOp::create(b, loc, type, accumulation.load->memref, at, mask, passThrough);
    } else {
      sum = vector::LoadOp::create(b, loc, type, accumulation.load->memref, at);
    }
  }
  IRMapping common;
  for (AffineLoadOp load : interleaved ? ArrayRef<AffineLoadOp>() : ArrayRef<AffineLoadOp>(shared))
    common.map(load.getResult(), emitLoad(b, load, steps.front(), base, mask));
  SmallVector<IRMapping> values(steps.size(), common);
  if (!turned.empty())
    emitTurned(b, steps, base, limit, values);
  SmallVector<SmallVector<Value>> own(1, all);
  const bool pairwise = addsPairwise(steps.size());
  if (pairwise)
    own.assign(steps.size(), llvm::map_to_vector(accumulations, [&](const Accumulation &accumulation) {
                 return neutral(b, accumulation, /*vector=*/true);
               }));
  emitLanes(b, steps, base, mask, aligned, values, own);
  if (pairwise)
    addPairwise(b, std::move(own), all);
  else
    all = own.front();
  for (auto [accumulation, sum] : llvm::zip_equal(accumulations, all)) {
    if (accumulation.overLanes)
      continue;
    SmallVector<Value> at = indices(b, *accumulation.store, ivs);
    if (mask)
      vector::MaskedStoreOp::create(b, loc, accumulation.store->memref, at, mask, sum);
    else
      vector::StoreOp::create(b, loc, sum, accumulation.store->memref, at);
  }
  for (auto [accumulation, sum, out] : llvm::zip_equal(accumulations, all, sums))
    if (accumulation.overLanes)
      out = sum;
}

} // namespace tilewright
