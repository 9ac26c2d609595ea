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
  if (op.getDimension() != 1 || type.getRows() != 1)
    return op.emitOpError() << "combines dimension " << op.getDimension() << " of " << type.getRows() << " x "
                            << type.getCols() << " elements; lanes combine the columns of one row";
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
  SmallVector<Value> parts;
  for (unsigned e = 0; e < distribution.elements.size(); ++e)
    parts.push_back(vector::ExtractOp::create(builder, loc, vector, int64_t(e)));
  for (; parts.size() > 1; parts.resize(parts.size() / 2)) // a power of two
    for (unsigned e = 0; e < parts.size() / 2; ++e)
      parts[e] = combine(parts[e], parts[e + parts.size() / 2]);
  Value total = parts.front();
  for (auto [b, bit] : llvm::enumerate(distribution.bits)) {
    if (bit[1] == 0)
      continue; // both hold the same columns
    Value other = arith::XOrIOp::create(builder, loc, distribution.number, context.i32(int64_t(1) << b));
    total = combine(total, valueOfLane(context, total, other));
  }
  return vector::BroadcastOp::create(builder, loc, VectorType::get(1, total.getType()), total).getResult();
}
