//===- NestVectorizer.cpp - One nest as vector code ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emission, from one vector of iterations to the loops around it.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/NestVectorizer.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/Utils/VectorUtils.h"
#include "mlir/IR/TypeUtilities.h"

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

Value NestVectorizer::laneTrips(OpBuilder &b) const {
  AffineForOp loop = nest.loops[laneLoop];
  if (auto trips = nest.tripCounts[laneLoop])
    return arith::ConstantIndexOp::create(b, loc, *trips);
  AffineMap map = loop.getUpperBoundMap();
  ValueRange operands = loop.getUpperBoundOperands();
  return affine::expandAffineExpr(b, loc, map.getResult(0), operands.take_front(map.getNumDims()),
                                  operands.drop_front(map.getNumDims()));
}

/// Values that do not vary over the lanes, as scalars; the vectors of those that the lanes use.
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
  return step;
}

Value NestVectorizer::vectorValue(Value original, const Step &step, const IRMapping &values) const {
  if (Value value = values.lookupOrNull(original))
    return value;
  return step.broadcast.lookup(original);
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

void NestVectorizer::emitLanes(OpBuilder &b, const Step &step, Value base, Value mask, bool aligned, IRMapping values,
                               MutableArrayRef<Value> sums) {
  SmallVector<Value> ivs = step.ivs;
  ivs[laneLoop] = base;
  auto sumOf = [&](const Accumulation &accumulation) -> Value & { return sums[&accumulation - accumulations.data()]; };
  Value laneIv = nest.loops[laneLoop]->getRegion(0).front().getArgument(0);
  auto needsLaneIv = [&](Operation &op) {
    return !isa<AffineLoadOp, AffineStoreOp, AffineApplyOp>(op) && llvm::is_contained(op.getOperands(), laneIv);
  };
  if (llvm::any_of(*nest.body, needsLaneIv)) {
    VectorType type = vectorOf(b.getIndexType());
    values.map(laneIv, arith::AddIOp::create(b, loc, vector::BroadcastOp::create(b, loc, type, base),
                                             vector::StepOp::create(b, loc, type))
                           .getResult());
  }
  for (Operation &op : nest.body->without_terminator()) {
    if (!varying.contains(&op) || isa<AffineApplyOp>(op))
      continue;
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      if (const Accumulation *accumulation = accumulationOf(&op)) {
        values.map(load.getResult(), sumOf(*accumulation));
        continue;
      }
      if (!values.contains(load.getResult()))
        values.map(load.getResult(), emitLoad(b, load, step, base, mask));
      continue;
    }
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      Value value = vectorValue(store.getValueToStore(), step, values);
      if (const Accumulation *accumulation = accumulationOf(&op)) {
        if (mask && accumulation->overLanes)
          value = arith::SelectOp::create(b, loc, mask, value, sumOf(*accumulation));
        sumOf(*accumulation) = value;
        continue;
      }
      const Access &access = *accessOf(&op);
      SmallVector<Value> at = indices(b, access, ivs);
      if (mask)
        vector::MaskedStoreOp::create(b, loc, access.memref, at, mask, value);
      else if (aligned && &access == streamed)
        vector::StoreOp::create(b, loc, value, access.memref, at, /*nontemporal=*/true,
                                llvm::MaybeAlign(model.lineBytes()));
      else
        vector::StoreOp::create(b, loc, value, access.memref, at);
      continue;
    }
    OperationState state(loc, op.getName());
    for (Value operand : op.getOperands())
      state.addOperands(vectorValue(operand, step, values));
    for (Type type : op.getResultTypes())
      state.addTypes(vectorOf(type));
    state.addAttributes(op.getAttrs());
    Operation *created = b.create(state);
    for (auto [from, to] : llvm::zip_equal(op.getResults(), created->getResults()))
      values.map(from, to);
  }
}

void NestVectorizer::emitPrefetches(OpBuilder &b, const Step &step, Value base) {
  for (const auto &[load, outer] : prefetched) {
    Access next = load;
    for (Value &symbol : next.symbols)
      if (symbol == outer)
        symbol = arith::AddIOp::create(b, loc, outer, arith::ConstantIndexOp::create(b, loc, 1).getResult());
    SmallVector<Value> ivs = step.ivs;
    ivs[laneLoop] = base;
    memref::PrefetchOp::create(b, loc, next.memref, indices(b, next, ivs), /*isWrite=*/false, /*localityHint=*/3,
                               /*isDataCache=*/true);
  }
}

/// Accumulations over outer loops are loaded before and stored after.
void NestVectorizer::emitBlock(OpBuilder &b, ArrayRef<Step> steps, Value base, Value mask, bool aligned,
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
  if (!mask)
    emitPrefetches(b, steps.front(), base);
  IRMapping common;
  for (AffineLoadOp load : shared)
    common.map(load.getResult(), emitLoad(b, load, steps.front(), base, mask));
  for (const Step &step : steps)
    emitLanes(b, step, base, mask, aligned, common, all);
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

/// Iterations before the streamed store meets the boundary of a line.
Value NestVectorizer::distanceToAlignment(OpBuilder &b, const Step &step, Value begin, Value trips) const {
  SmallVector<Value> ivs = step.ivs;
  ivs[laneLoop] = begin;
  auto type = cast<MemRefType>(streamed->memref.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Value offset = arith::ConstantIndexOp::create(b, loc, 0);
  for (auto [dim, index] : llvm::enumerate(indices(b, *streamed, ivs))) {
    Value size = arith::ConstantIndexOp::create(b, loc, type.getDimSize(dim));
    offset = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, offset, size), index);
  }
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, streamed->memref);
  Value width = arith::ConstantIndexOp::create(b, loc, bytes);
  address = arith::AddIOp::create(b, loc, address, arith::MulIOp::create(b, loc, offset, width));
  Value lowBits = arith::ConstantIndexOp::create(b, loc, model.lineBytes() - 1);
  Value negated = arith::SubIOp::create(b, loc, arith::ConstantIndexOp::create(b, loc, 0), address);
  Value distance = arith::AndIOp::create(b, loc, negated, lowBits);
  distance = arith::DivUIOp::create(b, loc, distance, width);
  return arith::MinUIOp::create(b, loc, distance, arith::SubIOp::create(b, loc, trips, begin).getResult());
}

/// All iterations of the lane loop, for the jammed `steps` of the loops around it.
void NestVectorizer::emitRow(OpBuilder &b, ArrayRef<Step> steps) {
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value).getResult(); };
  Value zero = index(0), trips = rangeEnd ? rangeEnd : laneTrips(b);
  Value begin = rangeBegin ? rangeBegin : zero;
  // With bounds known here, the end of each part is a constant.
  bool isOpen = streamed || rangeBegin || !nest.tripCounts[laneLoop];
  std::optional<int64_t> known = isOpen ? std::nullopt : nest.tripCounts[laneLoop];
  SmallVector<unsigned> kept; // accumulations in registers
  for (unsigned i = 0; i < accumulations.size(); ++i)
    if (accumulations[i].overLanes)
      kept.push_back(i);

  auto masked = [&](OpBuilder &at, Value base, Value count, ArrayRef<Value> keptIn) {
    Value mask = vector::CreateMaskOp::create(at, loc, vectorOf(at.getI1Type()), count);
    SmallVector<Value> sums(accumulations.size());
    for (auto [i, value] : llvm::zip_equal(kept, keptIn))
      sums[i] = value;
    emitBlock(at, steps, base, mask, false, sums);
    SmallVector<Value> out;
    for (unsigned i : kept)
      out.push_back(sums[i]);
    return out;
  };
  // scf.for with the kept accumulations of `copies` vectors as iter_args.
  auto loop = [&](Value from, Value to, int64_t copies, ArrayRef<Value> init) {
    auto created = scf::ForOp::create(b, loc, from, to, index(lanes * copies), init);
    OpBuilder inner = OpBuilder::atBlockBegin(created.getBody());
    SmallVector<Value> out;
    for (int64_t copy = 0; copy < copies; ++copy) {
      Value base = created.getInductionVar();
      if (copy)
        base = arith::AddIOp::create(inner, loc, base,
                                     arith::ConstantIndexOp::create(inner, loc, copy * lanes).getResult());
      SmallVector<Value> sums(accumulations.size());
      for (auto [k, i] : llvm::enumerate(kept))
        sums[i] = created.getRegionIterArgs()[copy * kept.size() + k];
      emitBlock(inner, steps, base, {}, true, sums);
      for (unsigned i : kept)
        out.push_back(sums[i]);
    }
    if (!created.getBody()->empty() && created.getBody()->back().hasTrait<OpTrait::IsTerminator>())
      created.getBody()->back().erase();
    inner.setInsertionPointToEnd(created.getBody());
    scf::YieldOp::create(inner, loc, out);
    return SmallVector<Value>(created.getResults());
  };

  SmallVector<Value> first;
  for (unsigned i : kept)
    first.push_back(neutral(b, accumulations[i], /*vector=*/true));

  Value from = begin;
  if (streamed) {
    Value distance = distanceToAlignment(b, steps.front(), begin, trips);
    from = arith::AddIOp::create(b, loc, begin, distance);
    Value unaligned = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, distance, zero);
    SmallVector<Type> types(llvm::map_range(first, [](Value value) { return value.getType(); }));
    auto head = scf::IfOp::create(b, loc, types, unaligned, /*withElseRegion=*/!first.empty());
    OpBuilder then = head.getThenBodyBuilder();
    SmallVector<Value> sums = masked(then, begin, distance, first);
    if (!first.empty()) {
      scf::YieldOp::create(then, loc, sums);
      OpBuilder otherwise = head.getElseBodyBuilder();
      scf::YieldOp::create(otherwise, loc, first);
      first.assign(head.getResults().begin(), head.getResults().end());
    }
  }
  // Main part: full vectors, `unroll` at a time; then single vectors; then one masked vector.
  auto roundedEnd = [&](int64_t step) -> Value {
    if (known)
      return index(*known / step * step);
    Value left = arith::SubIOp::create(b, loc, trips, from);
    Value rest = arith::RemUIOp::create(b, loc, left, index(step));
    return arith::SubIOp::create(b, loc, trips, rest);
  };
  SmallVector<Value> sums = first;
  Value position = from;
  if (unroll > 1) {
    SmallVector<Value> init = first;
    for (int64_t copy = 1; copy < unroll; ++copy)
      for (unsigned i : kept)
        init.push_back(neutral(b, accumulations[i], /*vector=*/true));
    Value end = roundedEnd(lanes * unroll);
    SmallVector<Value> out = loop(position, end, unroll, init);
    // Pairs first: the same tree for every length.
    for (int64_t count = unroll; count > 1; count /= 2)
      for (int64_t copy = 0; copy < count / 2; ++copy)
        for (auto [k, i] : llvm::enumerate(kept)) {
          Value &left = out[copy * kept.size() + k], right = out[(copy + count / 2) * kept.size() + k];
          left = vector::makeArithReduction(b, loc, accumulations[i].kind, left, right);
        }
    out.resize(kept.size());
    sums = out;
    position = end;
  }
  if (!(known && unroll > 1 && *known % (lanes * unroll) < lanes)) {
    Value end = roundedEnd(lanes);
    sums = loop(position, end, 1, sums);
    position = end;
  }
  if (!known || *known % lanes != 0) {
    if (known) {
      sums = masked(b, index(*known / lanes * lanes), index(*known % lanes), sums);
    } else {
      Value left = arith::SubIOp::create(b, loc, trips, position);
      Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, left, zero);
      SmallVector<Type> types(llvm::map_range(sums, [](Value value) { return value.getType(); }));
      auto tail = scf::IfOp::create(b, loc, types, some, /*withElseRegion=*/!sums.empty());
      OpBuilder then = tail.getThenBodyBuilder();
      SmallVector<Value> out = masked(then, position, left, sums);
      if (!sums.empty()) {
        scf::YieldOp::create(then, loc, out);
        OpBuilder otherwise = tail.getElseBodyBuilder();
        scf::YieldOp::create(otherwise, loc, sums);
        sums.assign(tail.getResults().begin(), tail.getResults().end());
      }
    }
  }
  SmallVector<Value> ivs = steps.front().ivs;
  ivs[laneLoop] = zero;
  for (auto [i, sum] : llvm::zip_equal(kept, sums)) {
    const Accumulation &accumulation = accumulations[i];
    SmallVector<Value> at = indices(b, *accumulation.store, ivs);
    Value memory = memref::LoadOp::create(b, loc, accumulation.load->memref, at);
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(sum.getType()));
    Value total = vector::ReductionOp::create(b, loc, accumulation.kind, sum,
                                              isFloat && mayReassociate ? arith::FastMathFlags::reassoc
                                                                        : arith::FastMathFlags::none);
    total = vector::makeArithReduction(b, loc, accumulation.kind, memory, total);
    memref::StoreOp::create(b, loc, total, accumulation.store->memref, at);
  }
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
  // The loops around the lanes stay affine, in their order; the jammed one runs innermost, in steps.
  auto emitOuter = [&](int64_t steps, AffineMap lower, AffineMap upper, ValueRange boundOperands) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Value> ivs(nest.depth());
    for (unsigned dim = 0; dim < nest.depth(); ++dim) {
      if (dim == laneLoop || dim == jamLoop)
        continue;
      AffineForOp original = nest.loops[dim];
      auto loop = AffineForOp::create(b, loc, original.getLowerBoundOperands(), original.getLowerBoundMap(),
                                      original.getUpperBoundOperands(), original.getUpperBoundMap());
      ivs[dim] = loop.getInductionVar();
      if (dim == 0)
        outermost.push_back(loop);
      b.setInsertionPointToStart(loop.getBody());
    }
    SmallVector<Step> all;
    if (!jamLoop) {
      all.push_back(beginStep(b, ivs));
    } else {
      auto loop = AffineForOp::create(b, loc, boundOperands, lower, boundOperands, upper);
      if (jamLoop == 0u && nest.stores.front().dims().test(0))
        outermost.push_back(loop);
      b.setInsertionPointToStart(loop.getBody());
      Value scaled = loop.getInductionVar();
      if (steps > 1)
        scaled = arith::MulIOp::create(b, loc, scaled, arith::ConstantIndexOp::create(b, loc, steps).getResult());
      for (int64_t k = 0; k < steps; ++k) {
        ivs[*jamLoop] =
            k == 0 ? scaled
                   : arith::AddIOp::create(b, loc, scaled, arith::ConstantIndexOp::create(b, loc, k).getResult())
                         .getResult();
        all.push_back(beginStep(b, ivs));
      }
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
    emitOuter(jam, mapOf(zero), mapOf(trips.floorDiv(jam)), operands);
    std::optional<int64_t> known = nest.tripCounts[*jamLoop];
    if (jam > 1 && (!known || *known % jam != 0))
      emitOuter(1, mapOf(trips.floorDiv(jam) * jam), mapOf(trips), operands);
  }
  nest.root()->erase();
  return outermost;
}

} // namespace tilewright
