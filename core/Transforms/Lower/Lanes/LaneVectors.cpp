//===- LaneVectors.cpp - Elements of one lane as a vector ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads and stores of runs, inside the extents that are valid.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace tilewright;

/// Type of one run: a scalar, or a vector.
static Type runType(Type element, unsigned count) {
  return count == 1 ? element : VectorType::get(int64_t(count), element);
}

/// `runs`, those by place of which the end of the array may be inside in the longest parts of which it is not: a load
/// for each costs less than a branch around all.
static SmallVector<LaneRun> partsInside(ArrayRef<LaneRun> runs, const LaneAccess &access,
                                        const Distribution &distribution, const ValidExtents &valid, bool byPlace) {
  SmallVector<LaneRun> parts;
  for (LaneRun run : runs) {
    unsigned count = run.count;
    auto arePartsInside = [&] {
      for (unsigned e = run.first; e < run.first + run.count; e += count)
        if (!areTogether(distribution, valid, e, count))
          return false;
      return true;
    };
    while (byPlace && access.hasPlace(run.first) && count > 1 && !arePartsInside())
      count /= 2;
    for (unsigned e = run.first; e < run.first + run.count; e += count)
      parts.push_back({e, count});
  }
  return parts;
}

/// The dimension along which the end of the array may be inside of `run`, a vector that is unaligned by place and
/// may be loaded from before that end; nullopt: there is none, or indices of the array are compared along it.
static std::optional<unsigned> endInside(const LaneContext &context, LaneRun run, const LaneAccess &access,
                                         const Distribution &distribution, const ValidExtents &valid, bool byPlace) {
  if (!byPlace || run.count == 1 || !context.ops.zerosBeyond() || !access.beginsAnywhere() ||
      !access.hasPlace(run.first, run.count))
    return std::nullopt;
  std::optional<unsigned> along;
  for (auto [d, extent] : llvm::enumerate(valid)) {
    ValidExtents alone(valid.size());
    alone[d] = extent;
    if (areTogether(distribution, alone, run.first, run.count))
      continue;
    if (along || extent.start)
      return std::nullopt;
    along = d;
  }
  for (unsigned e = 0; along && e < run.count; ++e)
    if (distribution.elements[run.first + e][*along] != distribution.elements[run.first][*along] + e)
      return std::nullopt;
  return along;
}

/// `place` for lanes that are inside, the end of its range for others. `shared`, bytes of its constant, go to the
/// uniform part.
static ArrayPlace onlyWhere(const LaneContext &context, Value inside, ArrayPlace place, int64_t shared) {
  if (shared) {
    Value constant = context.i32(int32_t(shared));
    place.uniform = place.uniform
                        ? arith::AddIOp::create(context.builder, context.loc, place.uniform, constant).getResult()
                        : constant;
    place.constant -= shared;
  }
  Value own = context.i32(place.constant);
  if (place.lane)
    own = arith::AddIOp::create(context.builder, context.loc, place.lane, own);
  place.lane = arith::SelectOp::create(context.builder, context.loc, inside, own, context.i32(int32_t(place.range)));
  place.constant = 0;
  return place;
}

/// Loads `run`, of which a part may lie beyond the end of the array's row, earlier by that part, so that the vector
/// ends where the row does; then shifts what it should not have out, and zeros in. As many bits as the run has.
///
///   row   .. u v w x y z |          wanted: y z - -     loaded: w x y z     shifted by 2: y z 0 0
static Value loadAtEnd(const LaneContext &context, LaneRun run, const LaneAccess &access,
                       const Distribution &distribution, const ValidExtents &valid, unsigned along) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  SmallVector<int64_t> bits;
  for (const Point &bit : distribution.bits)
    bits.push_back(bit[along]);
  int64_t last = distribution.elements[run.first][along] + run.count;
  Value length = context.index(std::accumulate(bits.begin(), bits.end(), last));
  Value end = arith::MaxSIOp::create(builder, loc, valid[along].end, context.index(0));
  end = context.toI32(arith::MinSIOp::create(builder, loc, end, length));
  // Elements beyond the end, if the first one is inside.
  Value beyond = arith::SubIOp::create(builder, loc, context.i32(last), end);
  if (Value lane = distribution.number ? context.fromBits(distribution.number, bits) : Value())
    beyond = arith::AddIOp::create(builder, loc, beyond, lane);
  beyond = arith::MaxSIOp::create(builder, loc, beyond, context.i32(0));
  beyond = arith::MinSIOp::create(builder, loc, beyond, context.i32(run.count - 1));
  ValidExtents begins = valid;
  begins[along].multiple = run.count;
  Value inside = insideAll(context, distribution, begins, run.first, run.count);
  ArrayPlace place = *access.place(run.first, run.count);
  if (place.uniform && context.allComeHere())
    place.uniform = context.ops.uniform(builder, loc, place.uniform);
  int64_t elementBytes = access.elementBytes();
  auto times = [&](int64_t factor) -> Value {
    return factor == 1 ? beyond : arith::MulIOp::create(builder, loc, beyond, context.i32(factor)).getResult();
  };
  place.lane = arith::SubIOp::create(builder, loc, place.lane ? place.lane : context.i32(0), times(elementBytes));
  int64_t bytes = run.count * elementBytes;
  Type number = builder.getIntegerType(unsigned(bytes * 8));
  Value loaded = context.ops.loadPlace(builder, loc, onlyWhere(context, inside, place, 0), bytes);
  if (loaded.getType() != number)
    loaded = LLVM::BitcastOp::create(builder, loc, number, loaded);
  Value shift = times(elementBytes * 8);
  if (bytes * 8 > 32)
    shift = arith::ExtUIOp::create(builder, loc, number, shift);
  else if (bytes * 8 < 32)
    shift = arith::TruncIOp::create(builder, loc, number, shift);
  return arith::ShRUIOp::create(builder, loc, loaded, shift);
}

Value tilewright::loadElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                               const ValidExtents &valid, VectorType type, bool byPlace) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  bool checked = llvm::any_of(valid, [](const ValidExtent &extent) { return bool(extent); });
  if (!checked) {
    if (Value matrices = access.loadMatrices(type))
      return matrices;
    if (Value columns = access.loadColumns(type))
      return columns;
  }
  Type carrier = carrierOf(type.getElementType());
  auto vectorType = VectorType::get(type.getShape(), carrier);
  // Addresses stand before the branches, so that all of an array share what they have in common, and what all lanes of
  // a subgroup have is known to be the same for them.
  struct Address {
    std::optional<ArrayPlace> place;
    Value pointer;
  };
  auto addressOf = [&](unsigned e) {
    std::optional<ArrayPlace> place = byPlace ? access.place(e) : std::nullopt;
    if (checked && place && place->uniform && context.allComeHere())
      place->uniform = context.ops.uniform(builder, loc, place->uniform);
    return Address{place, place ? Value() : access.pointer(e)};
  };
  auto load = [&](unsigned e, unsigned count, const Address &address) -> Value {
    int64_t bytes = access.elementBytes() * count;
    if (address.place)
      if (Value bits = context.ops.loadPlace(builder, loc, *address.place, bytes))
        return LLVM::BitcastOp::create(builder, loc, runType(carrier, count), bits);
    Value pointer = address.pointer ? address.pointer : access.pointer(e);
    return LLVM::LoadOp::create(builder, loc, runType(carrier, count), pointer, access.alignment({e, count}));
  };
  auto insert = [&](Value run, Value vector, unsigned e, unsigned count) -> Value {
    if (count == 1)
      return vector::InsertOp::create(builder, loc, run, vector, e);
    return vector::InsertStridedSliceOp::create(builder, loc, run, vector, ArrayRef<int64_t>{int64_t(e)},
                                                ArrayRef<int64_t>{1});
  };
  auto zero = [&](unsigned count) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(runType(carrier, count)));
  };
  // Steps whose places differ where nothing is checked have the same conditions and share the choices: each would else
  // have its own, and conditions be held from the first to the last.
  int64_t shared = access.unchecked(valid);
  Value result;
  auto take = [&](LaneRun run, Value value) {
    if (!result)
      result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    result = insert(value, result, run.first, run.count);
  };
  SmallVector<LaneRun> runs;
  for (LaneRun run : access.runs(mostAccessBytes)) {
    std::optional<unsigned> along = endInside(context, run, access, distribution, valid, byPlace);
    if (!along) {
      runs.push_back(run);
      continue;
    }
    Value bits = loadAtEnd(context, run, access, distribution, valid, *along);
    take(run, LLVM::BitcastOp::create(builder, loc, runType(carrier, run.count), bits));
  }
  if (checked && context.ops.zerosBeyond())
    runs = partsInside(runs, access, distribution, valid, byPlace);
  LaneBounds bounds(context, distribution, valid, runs);
  // All runs or zeros; or single elements of the only one.
  auto loadAll = [&](ArrayRef<LaneRun> runs, auto &&self) -> SmallVector<Value> {
    LaneRun first = runs.front();
    unsigned count = runs.back().first + runs.back().count - first.first;
    Value inside = bounds.inside(first.first, count);
    SmallVector<Address> addresses;
    SmallVector<Value> loaded;
    SmallVector<Type> types;
    for (LaneRun run : runs) {
      addresses.push_back(addressOf(run.first));
      types.push_back(runType(carrier, run.count));
    }
    auto loadRuns = [&] {
      for (auto [run, address] : llvm::zip(runs, addresses))
        loaded.push_back(load(run.first, run.count, address));
      return loaded;
    };
    if (!inside)
      return loadRuns();
    // Lanes outside load from where the chip reads zeros.
    auto isByPlace = [](const Address &address) { return address.place.has_value(); };
    if (context.ops.zerosBeyond() && areTogether(distribution, valid, first.first, count) &&
        llvm::all_of(addresses, isByPlace)) {
      for (Address &address : addresses)
        address.place = onlyWhere(context, inside, *address.place, shared);
      return loadRuns();
    }
    auto branch = scf::IfOp::create(builder, loc, types, inside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, loadRuns());
    builder.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> otherwise;
    for (LaneRun run : runs)
      otherwise.push_back(zero(run.count));
    if (!bounds.areTogether(first.first, count))
      for (unsigned i = 0; i < count; ++i)
        otherwise[0] = insert(self(LaneRun{first.first + i, 1}, self)[0], otherwise[0], i, 1);
    scf::YieldOp::create(builder, loc, otherwise);
    return llvm::to_vector_of<Value>(branch.getResults());
  };
  for (ArrayRef<LaneRun> group : bounds.groups())
    for (auto [run, value] : llvm::zip(group, loadAll(group, loadAll))) {
      if (run.count == vectorType.getNumElements() && run.count > 1) {
        result = value;
        break;
      }
      take(run, value);
    }
  return fromCarrier(context, result, type);
}

void tilewright::storeElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                               const ValidExtents &valid, Value vector) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  vector = toCarrier(context, vector);
  auto store = [&](unsigned e, unsigned count, Value pointer) {
    Value value = count == 1
                      ? vector::ExtractOp::create(builder, loc, vector, int64_t(e)).getResult()
                      : vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{int64_t(e)},
                                                              ArrayRef<int64_t>{int64_t(count)}, ArrayRef<int64_t>{1})
                            .getResult();
    LLVM::StoreOp::create(builder, loc, value, pointer, access.elementBytes() * count);
  };
  SmallVector<LaneRun> runs = access.runs(mostAccessBytes);
  if (llvm::none_of(valid, [](const ValidExtent &extent) { return bool(extent); })) {
    // Side by side those a constant apart: two may be one instruction.
    llvm::stable_sort(runs, [&](LaneRun a, LaneRun b) { return access.flipped(a.first) < access.flipped(b.first); });
    for (LaneRun run : runs)
      store(run.first, run.count, access.pointer(run.first));
    return;
  }
  LaneBounds bounds(context, distribution, valid, runs);
  for (ArrayRef<LaneRun> group : bounds.groups()) {
    unsigned first = group.front().first, count = group.back().first + group.back().count - first;
    Value inside = bounds.inside(first, count);
    SmallVector<Value> pointers; // before the branch, as those of loads
    for (LaneRun run : group)
      pointers.push_back(access.pointer(run.first));
    auto storeRuns = [&] {
      for (auto [run, pointer] : llvm::zip(group, pointers))
        store(run.first, run.count, pointer);
    };
    if (!inside) {
      storeRuns();
      continue;
    }
    bool divides = !bounds.areTogether(first, count);
    auto branch = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/divides);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    storeRuns();
    if (!divides)
      continue;
    builder.setInsertionPointToStart(branch.elseBlock());
    for (unsigned i = 0; i < count; ++i) {
      auto single = scf::IfOp::create(builder, loc, bounds.inside(first + i, 1));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(single.thenBlock());
      store(first + i, 1, access.pointer(first + i));
    }
  }
}
