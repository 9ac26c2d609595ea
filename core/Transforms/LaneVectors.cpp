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

#include "core/Transforms/LaneAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilewright;

Value tilewright::insideAll(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
                            unsigned first, unsigned count) {
  Value inside;
  for (auto [d, extent] : llvm::enumerate(valid)) {
    if (!extent)
      continue;
    SmallVector<int64_t> bits;
    for (const Point &bit : distribution.bits)
      bits.push_back(bit[d]);
    int64_t last = 0;
    for (unsigned e = first; e < first + count; ++e)
      last = std::max(last, distribution.elements[e][d]);
    Value lane = distribution.number ? context.fromBits(distribution.number, bits) : Value();
    Value position = lane ? context.toIndex(lane) : context.index(0);
    if (last)
      position = arith::AddIOp::create(context.builder, context.loc, position, context.index(last));
    Value below = arith::CmpIOp::create(context.builder, context.loc, arith::CmpIPredicate::slt, position, extent);
    inside = inside ? arith::AndIOp::create(context.builder, context.loc, inside, below).getResult() : below;
  }
  return inside;
}

/// Type of one run: a scalar, or a vector.
static Type runType(Type element, unsigned count) {
  return count == 1 ? element : VectorType::get(int64_t(count), element);
}

Value tilewright::loadElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                               const ValidExtents &valid, VectorType type, bool byPlace) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  bool checked = llvm::any_of(valid, [](Value extent) { return bool(extent); });
  if (!checked) {
    if (Value matrices = access.loadMatrices(type))
      return matrices;
    if (Value columns = access.loadColumns(type))
      return columns;
  }
  Type carrier = carrierOf(type.getElementType());
  auto vectorType = VectorType::get(type.getShape(), carrier);
  // Addresses stand before the branches, so that all of an array share what they have in common.
  auto addressOf = [&](unsigned e) { return byPlace ? Value() : access.pointer(e); };
  auto load = [&](unsigned e, unsigned count, Value pointer) -> Value {
    int64_t bytes = access.elementBytes() * count;
    if (std::optional<ArrayPlace> place = byPlace ? access.place(e) : std::nullopt)
      if (Value bits = context.ops.loadPlace(builder, loc, *place, bytes))
        return LLVM::BitcastOp::create(builder, loc, runType(carrier, count), bits);
    return LLVM::LoadOp::create(builder, loc, runType(carrier, count), pointer ? pointer : access.pointer(e), bytes);
  };
  auto insert = [&](Value run, Value vector, unsigned e, unsigned count) -> Value {
    if (count == 1)
      return vector::InsertOp::create(builder, loc, run, vector, e);
    return vector::InsertStridedSliceOp::create(builder, loc, run, vector, ArrayRef<int64_t>{int64_t(e)},
                                                ArrayRef<int64_t>{1});
  };
  Value result;
  SmallVector<LaneRun> runs = access.runs(16);
  for (LaneRun run : runs) {
    auto guarded = [&](unsigned e, unsigned count, auto &&otherwise) -> Value {
      Value inside = insideAll(context, distribution, valid, e, count);
      Value pointer = addressOf(e);
      if (!inside)
        return load(e, count, pointer);
      auto branch = scf::IfOp::create(builder, loc, runType(carrier, count), inside, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(builder, loc, load(e, count, pointer));
      builder.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(builder, loc, otherwise());
      return branch.getResult(0);
    };
    auto zero = [&](unsigned count) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(runType(carrier, count)));
    };
    Value value = guarded(run.first, run.count, [&]() -> Value {
      if (run.count == 1)
        return zero(1);
      Value vector = zero(run.count);
      for (unsigned i = 0; i < run.count; ++i)
        vector = insert(guarded(run.first + i, 1, [&] { return zero(1); }), vector, i, 1);
      return vector;
    });
    if (runs.size() == 1 && run.count > 1) {
      result = value;
      break;
    }
    if (!result)
      result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    result = insert(value, result, run.first, run.count);
  }
  return result.getType() == type ? result : arith::BitcastOp::create(builder, loc, type, result).getResult();
}

void tilewright::storeElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                               const ValidExtents &valid, Value vector) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  auto type = cast<VectorType>(vector.getType());
  Type carrier = carrierOf(type.getElementType());
  if (carrier != type.getElementType())
    vector = arith::BitcastOp::create(builder, loc, VectorType::get(type.getShape(), carrier), vector);
  auto store = [&](unsigned e, unsigned count, Value pointer) {
    Value value = count == 1
                      ? vector::ExtractOp::create(builder, loc, vector, int64_t(e)).getResult()
                      : vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{int64_t(e)},
                                                              ArrayRef<int64_t>{int64_t(count)}, ArrayRef<int64_t>{1})
                            .getResult();
    LLVM::StoreOp::create(builder, loc, value, pointer, access.elementBytes() * count);
  };
  for (LaneRun run : access.runs(16)) {
    Value inside = insideAll(context, distribution, valid, run.first, run.count);
    Value pointer = access.pointer(run.first); // before the branch, as that of loads
    if (!inside) {
      store(run.first, run.count, pointer);
      continue;
    }
    auto branch = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/run.count > 1);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    store(run.first, run.count, pointer);
    if (run.count == 1)
      continue;
    builder.setInsertionPointToStart(branch.elseBlock());
    for (unsigned i = 0; i < run.count; ++i) {
      auto single = scf::IfOp::create(builder, loc, insideAll(context, distribution, valid, run.first + i, 1));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(single.thenBlock());
      store(run.first + i, 1, access.pointer(run.first + i));
    }
  }
}
