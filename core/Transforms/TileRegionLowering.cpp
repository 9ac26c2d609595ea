//===- TileRegionLowering.cpp - Regions and units on vectors --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scalar regions op by op on vectors; units as calls.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/TileRegionLowering.h"
#include "core/Transforms/TileAccessLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright;

/// Emits the ops of a scalar region on vectors of `count` elements; returns the yielded vectors.
SmallVector<Value> tilewright::vectorizeRegion(OpBuilder &builder, Location loc, Block &body, ValueRange arguments,
                                               int64_t count, const IRMapping &outside) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  auto wide = [&](Type type) { return VectorType::get({count}, type); };
  auto lookup = [&](Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Value broadcast = vector::BroadcastOp::create(builder, loc, wide(value.getType()), outside.lookupOrDefault(value));
    mapping.map(value, broadcast);
    return broadcast;
  };
  for (Operation &op : body.without_terminator()) {
    Attribute constant;
    if (matchPattern(&op, m_Constant(&constant))) {
      auto typed = DenseElementsAttr::get(wide(op.getResult(0).getType()), constant);
      mapping.map(op.getResult(0), arith::ConstantOp::create(builder, loc, typed).getResult());
      continue;
    }
    for (Value operand : op.getOperands())
      (void)lookup(operand);
    Operation *clone = op.clone(mapping);
    for (OpResult result : clone->getResults())
      result.setType(wide(result.getType()));
    builder.insert(clone);
  }
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(lookup(value));
  return results;
}

/// Checks one fragment of a mma against the operand that the unit's record describes.
static LogicalResult checkOperand(tile::MmaOp op, StringRef role, tile::FragmentType fragment,
                                  const UnitOperand &operand) {
  if (fragment.getRows() != operand.rows || fragment.getCols() != operand.cols)
    return op.emitOpError() << "unit " << op.getUnit() << " takes a " << operand.rows << "x" << operand.cols
                            << " fragment as " << role << ", got " << fragment.getRows() << "x" << fragment.getCols();
  Type element = fragment.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() != bitWidth(operand.element))
    return op.emitOpError() << "unit " << op.getUnit() << " takes elements of " << bitWidth(operand.element)
                            << " bits as " << role << ", got " << element;
  if (!(fragment.getLayout().getValue() == operand.layout))
    return op.emitOpError() << "unit " << op.getUnit() << " takes " << role << " in the layout "
                            << tile::LayoutAttr::get(op.getContext(), operand.layout) << ", got "
                            << fragment.getLayout();
  return success();
}

FailureOr<Value> tilewright::callUnit(OpBuilder &builder, tile::MmaOp op, const TargetDescription &target,
                                      ModuleOp module, Value a, Value b, Value c) {
  const MatrixUnit *unit = target.unit(op.getUnit());
  if (!unit)
    return op.emitOpError() << "chip " << target.target() << ":" << target.chip() << " has no unit \"" << op.getUnit()
                            << "\"";
  if (failed(checkOperand(op, "a", op.getA().getType(), unit->a)) ||
      failed(checkOperand(op, "b", op.getB().getType(), unit->b)) ||
      failed(checkOperand(op, "c", op.getC().getType(), unit->c)))
    return failure();
  Location loc = op.getLoc();
  int64_t widthA = unit->a.layout.numElements(), widthB = unit->b.layout.numElements();
  if (unit->a.residence == Residence::BroadcastScalar)
    a = repeatGroup(builder, loc, a, std::max(widthA, widthB));
  if (unit->b.residence == Residence::BroadcastScalar)
    b = repeatGroup(builder, loc, b, std::max(widthA, widthB));
  std::string name = ("tilewright.unit." + op.getUnit()).str();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = builder.getFunctionType({a.getType(), b.getType(), c.getType()}, {c.getType()});
    func::FuncOp::create(builder, loc, name, type).setPrivate();
  }
  return func::CallOp::create(builder, loc, name, TypeRange{c.getType()}, ValueRange{a, b, c}).getResult(0);
}
