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

#include "core/Transforms/Lower/Vectors/TileRegionLowering.h"
#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Lower/Vectors/TileAccessLowering.h"
#include "core/Transforms/Utils/RequireTarget.h"
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
  StringRef registers = operand.opaque ? StringRef(operand.opaque->name) : StringRef();
  if (fragment.getRegisters() != registers) {
    auto home = [](StringRef name) {
      return name.empty() ? std::string("vector registers") : "registers \"" + name.str() + "\"";
    };
    return op.emitOpError() << "unit " << op.getUnit() << " takes " << role << " in " << home(registers) << ", got "
                            << home(fragment.getRegisters());
  }
  if (operand.opaque && !operand.opaque->masks.empty() &&
      (fragment.getNumber() < 0 || fragment.getNumber() >= int64_t(operand.opaque->masks.size())))
    return op.emitOpError() << "unit " << op.getUnit() << " takes " << role << " in one of "
                            << operand.opaque->masks.size() << " registers \"" << registers
                            << "\"; assign-tile-registers gives it a number";
  if (!(fragment.getLayout().getValue() == operand.layout))
    return op.emitOpError() << "unit " << op.getUnit() << " takes " << role << " in the layout "
                            << tile::LayoutAttr::get(op.getContext(), operand.layout) << ", got "
                            << fragment.getLayout();
  return success();
}

FailureOr<Value> tilewright::callUnit(OpBuilder &builder, tile::MmaOp op, const TargetDescription &target,
                                      ModuleOp module, Value a, Value b, Value c, ValueRange scales) {
  FailureOr<const MatrixUnit *> named = requireUnit(op, target, op.getUnit());
  if (failed(named))
    return failure();
  const MatrixUnit *unit = *named;
  if (failed(checkOperand(op, "a", op.getA().getType(), unit->a)) ||
      failed(checkOperand(op, "b", op.getB().getType(), unit->b)) ||
      failed(checkOperand(op, "c", op.getC().getType(), unit->c)))
    return failure();
  if (unit->scales.has_value() == scales.empty())
    return op.emitOpError() << "unit " << op.getUnit()
                            << (unit->scales ? " takes scales of a and b" : " takes no scales");
  for (auto [i, fragment] : llvm::enumerate(op.getScales().getTypes()))
    if (failed(checkOperand(op, i == 0 ? "scales of a" : "scales of b", cast<tile::FragmentType>(fragment),
                            i == 0 ? unit->scales->a : unit->scales->b)))
      return failure();
  Location loc = op.getLoc();
  int64_t widthA = unit->a.layout.numElements(), widthB = unit->b.layout.numElements();
  if (unit->a.residence == Residence::BroadcastScalar)
    a = repeatGroup(builder, loc, a, std::max(widthA, widthB));
  if (unit->b.residence == Residence::BroadcastScalar)
    b = repeatGroup(builder, loc, b, std::max(widthA, widthB));
  // Numbered registers are given by their numbers; the unit changes that of C in place.
  SmallVector<Value> operands{a, b, c};
  SmallVector<tile::FragmentType> fragments{op.getA().getType(), op.getB().getType(), op.getC().getType()};
  for (auto [operand, fragment] : llvm::zip_equal(operands, fragments))
    if (fragment.getNumber() >= 0)
      operand = arith::ConstantIntOp::create(builder, loc, fragment.getNumber(), 32);
  llvm::append_range(operands, scales);
  bool inPlace = op.getC().getType().getNumber() >= 0;
  auto call = callByName(builder, loc, module, (unitPrefix + op.getUnit()).str(), operands,
                         inPlace ? TypeRange() : TypeRange(c.getType()));
  return inPlace ? operands[2] : call.getResult(0);
}
