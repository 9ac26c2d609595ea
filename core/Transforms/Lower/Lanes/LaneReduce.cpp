//===- LaneReduce.cpp - Combining what lanes hold -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Trees of elements and exchanges between lanes, 32 bits at a time.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneReduce.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilewright;

Value tilewright::valueOfLane(const LaneContext &context, Value value, Value lane) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(bits);
  Value raw = value;
  if (type != integer)
    raw = arith::BitcastOp::create(builder, loc, integer, value);
  if (bits < 32)
    raw = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), raw);
  if (bits <= 32) {
    raw = context.ops.shuffle(builder, loc, raw, lane);
  } else {
    Value half = arith::ConstantIntOp::create(builder, loc, 32, 64);
    Value low = arith::TruncIOp::create(builder, loc, builder.getI32Type(), raw);
    Value high = arith::ShRUIOp::create(builder, loc, raw, half);
    high = arith::TruncIOp::create(builder, loc, builder.getI32Type(), high);
    low = context.ops.shuffle(builder, loc, low, lane);
    high = context.ops.shuffle(builder, loc, high, lane);
    low = arith::ExtUIOp::create(builder, loc, integer, low);
    high = arith::ExtUIOp::create(builder, loc, integer, high);
    raw = arith::OrIOp::create(builder, loc, low, arith::ShLIOp::create(builder, loc, high, half));
  }
  if (bits < 32)
    raw = arith::TruncIOp::create(builder, loc, integer, raw);
  return type == integer ? raw : arith::BitcastOp::create(builder, loc, type, raw).getResult();
}

FailureOr<Value> tilewright::emitReduce(const LaneContext &context, tile::ReduceOp op, Value vector,
                                        const Distribution &distribution, const IRMapping &values) {
  tile::FragmentType type = op.getInput().getType();
  const unsigned along = op.getDimension() == 1 ? 1 : 0, across = 1 - along;
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  auto combine = [&](Value left, Value right) {
    IRMapping mapping = values;
    Block &body = op.getBody().front();
    mapping.map(body.getArgument(0), left);
    mapping.map(body.getArgument(1), right);
    for (Operation &each : body.without_terminator())
      builder.clone(each, mapping);
    return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
  };
  // The elements of a lane that go into one of its results.
  llvm::MapVector<int64_t, SmallVector<Value>> groups;
  for (auto [e, element] : llvm::enumerate(distribution.elements))
    groups[element[across]].push_back(vector::ExtractOp::create(builder, loc, vector, int64_t(e)));
  Layout layout = op.getType().getLayout().getValue();
  auto placeOf = [&](int64_t lane, int64_t element) {
    Position position = layout.at(lane, element);
    return across == 0 ? position.row : position.col;
  };
  // Lanes hold the results of their own elements.
  bool agrees =
      layout.numElements() == int64_t(groups.size()) && layout.numLanes() == (int64_t(1) << distribution.bits.size());
  for (auto [b, bit] : llvm::enumerate(distribution.bits))
    agrees = agrees && placeOf(int64_t(1) << b, 0) - placeOf(0, 0) == bit[across];
  if (!agrees || !llvm::all_of(llvm::seq<int64_t>(0, layout.numElements()),
                               [&](int64_t e) { return groups.contains(placeOf(0, e)); }))
    return op.emitOpError() << "combines dimension " << op.getDimension() << " of " << type.getRows() << " x "
                            << type.getCols() << " elements into a layout whose lanes do not have their own results";
  SmallVector<Value> totals;
  for (int64_t e = 0; e < layout.numElements(); ++e) {
    SmallVector<Value> &parts = groups[placeOf(0, e)];
    for (; parts.size() > 1; parts.resize(parts.size() / 2)) // a power of two
      for (unsigned i = 0; i < parts.size() / 2; ++i)
        parts[i] = combine(parts[i], parts[i + parts.size() / 2]);
    Value total = parts.front();
    for (auto [b, bit] : llvm::enumerate(distribution.bits)) {
      if (bit[along] == 0)
        continue; // both hold the same
      Value other = arith::XOrIOp::create(builder, loc, distribution.number, context.i32(int64_t(1) << b));
      total = combine(total, valueOfLane(context, total, other));
    }
    totals.push_back(total);
  }
  return vector::FromElementsOp::create(builder, loc, VectorType::get(totals.size(), type.getElementType()), totals)
      .getResult();
}
