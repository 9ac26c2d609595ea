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
#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Lower/Vectors/TileAccessLowering.h"
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

/// The low `width` bits (4 or 6) of the bytes of `codes`, a vector of whole words, side by side from the lowest bit on.
static Value packCodes(OpBuilder &b, Location loc, Value codes, unsigned width) {
  const int64_t count = cast<VectorType>(codes.getType()).getNumElements(), quads = count / 4;
  VectorType words = VectorType::get({quads}, b.getI32Type());
  auto number = [&](uint64_t value, Type type) -> Value {
    TypedAttr scalar = b.getI32IntegerAttr(int32_t(uint32_t(value)));
    auto vector = dyn_cast<VectorType>(type);
    return arith::ConstantOp::create(b, loc, vector ? DenseElementsAttr::get(vector, Attribute(scalar)) : scalar);
  };
  auto both = [&](Value x, uint64_t mask) -> Value {
    return arith::AndIOp::create(b, loc, x, number(mask, x.getType()));
  };
  auto moved = [&](Value x, int64_t left) -> Value { // to the right where negative
    if (left == 0)
      return x;
    Value by = number(std::abs(left), x.getType());
    return left > 0 ? arith::ShLIOp::create(b, loc, x, by).getResult() : arith::ShRUIOp::create(b, loc, x, by);
  };
  const uint64_t one = (1u << width) - 1, two = (1u << 2 * width) - 1;
  Value x = both(vector::BitCastOp::create(b, loc, words, codes), one * 0x01010101);
  // Pairs in halves of a word, then four in a word.
  x = arith::OrIOp::create(b, loc, both(x, one * 0x00010001),
                           both(moved(x, int64_t(width) - 8), (one << width) * 0x00010001));
  x = arith::OrIOp::create(b, loc, both(x, two), both(moved(x, 2 * int64_t(width) - 16), two << 2 * width));
  SmallVector<Value> packed(count * width / 32);
  for (int64_t quad = 0; quad < quads; ++quad) {
    Value four = vector::ExtractOp::create(b, loc, x, quad);
    const int64_t first = quad * 4 * width, last = first + 4 * width - 1;
    for (int64_t word = first / 32; word <= last / 32; ++word) {
      Value part = moved(four, first - 32 * word);
      packed[word] = packed[word] ? Value(arith::OrIOp::create(b, loc, packed[word], part)) : part;
    }
  }
  Value all = vector::FromElementsOp::create(b, loc, VectorType::get({int64_t(packed.size())}, b.getI32Type()), packed);
  return vector::BitCastOp::create(b, loc, VectorType::get({count}, b.getIntegerType(width)), all);
}

/// Whether `attribute` says `layout`, which is not made anew for it.
static bool isLayout(tile::LayoutAttr attribute, const Layout &layout) {
  auto areEqual = [](ArrayRef<int64_t> flat, ArrayRef<Position> bases) {
    return flat.size() == 2 * bases.size() && llvm::all_of(llvm::enumerate(bases), [&](auto each) {
             return flat[2 * each.index()] == each.value().row && flat[2 * each.index() + 1] == each.value().col;
           });
  };
  if (!areEqual(attribute.getLanes(), layout.lanes) || !areEqual(attribute.getElements(), layout.elements))
    return false;
  if (attribute.getRepeats().empty() || layout.repeats.empty())
    return attribute.getRepeats().empty() && layout.repeats.empty();
  return attribute.getValue().repeats == layout.repeats;
}

/// Checks one fragment of a mma against the operand that the unit's record describes.
static LogicalResult checkOperand(tile::MmaOp op, StringRef role, tile::FragmentType fragment,
                                  const UnitOperand &operand) {
  if (fragment.getRows() != operand.rows || fragment.getCols() != operand.cols)
    return op.emitOpError() << "unit " << op.getUnit() << " takes a " << operand.rows << "x" << operand.cols
                            << " fragment as " << role << ", got " << fragment.getRows() << "x" << fragment.getCols();
  Type element = fragment.getElementType();
  const bool isCode = isPackedFloat(operand) && element.isInteger(8);
  if (!isCode && (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() != bitWidth(operand.element)))
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
  if (!isLayout(fragment.getLayout(), operand.layout))
    return op.emitOpError() << "unit " << op.getUnit() << " takes " << role << " in the layout "
                            << tile::LayoutAttr::get(op.getContext(), operand.layout) << ", got "
                            << fragment.getLayout();
  return success();
}

FailureOr<Value> tilewright::callUnit(OpBuilder &builder, tile::MmaOp op, const MatrixUnit &unit, ModuleOp module,
                                      Value a, Value b, Value c, ValueRange besides) {
  if (failed(checkOperand(op, "a", op.getA().getType(), unit.a)) ||
      failed(checkOperand(op, "b", op.getB().getType(), unit.b)) ||
      failed(checkOperand(op, "c", op.getC().getType(), unit.c)))
    return failure();
  const auto taken = unit.scales ? unit.scales->operands() : std::vector<const UnitOperand *>();
  if (taken.size() != op.getScales().size()) {
    auto error = op.emitOpError() << "unit " << op.getUnit() << " takes ";
    return !unit.scales           ? error << "no scales"
           : !unit.scales->hasB() ? error << "scales of a"
           : !unit.scales->hasA() ? error << "scales of b"
                                  : error << "scales of a and b";
  }
  for (auto [operand, fragment] : llvm::zip_equal(taken, op.getScales().getTypes()))
    if (failed(checkOperand(op, operand == &unit.scales->a ? "scales of a" : "scales of b",
                            cast<tile::FragmentType>(fragment), *operand)))
      return failure();
  if (unit.sparsity.has_value() != bool(op.getIndex()))
    return op.emitOpError() << "unit " << op.getUnit() << " takes " << (op.getIndex() ? "no" : "an") << " index of a";
  if (op.getIndex() && failed(checkOperand(op, "the index of a", cast<tile::FragmentType>(op.getIndex().getType()),
                                           unit.sparsity->index)))
    return failure();
  Location loc = op.getLoc();
  int64_t widthA = unit.a.layout.numElements(), widthB = unit.b.layout.numElements();
  if (unit.a.residence == Residence::BroadcastScalar)
    a = repeatGroup(builder, loc, a, std::max(widthA, widthB));
  if (unit.b.residence == Residence::BroadcastScalar)
    b = repeatGroup(builder, loc, b, std::max(widthA, widthB));
  if (isPackedFloat(unit.a))
    a = packCodes(builder, loc, a, bitWidth(unit.a.element));
  if (isPackedFloat(unit.b))
    b = packCodes(builder, loc, b, bitWidth(unit.b.element));
  // Numbered registers are given by their numbers; the unit changes that of C in place.
  SmallVector<Value> operands{a, b, c};
  SmallVector<tile::FragmentType> fragments{op.getA().getType(), op.getB().getType(), op.getC().getType()};
  for (auto [operand, fragment] : llvm::zip_equal(operands, fragments))
    if (fragment.getNumber() >= 0)
      operand = arith::ConstantIntOp::create(builder, loc, fragment.getNumber(), 32);
  llvm::append_range(operands, besides);
  bool inPlace = op.getC().getType().getNumber() >= 0;
  auto call = callByName(builder, loc, module, (unitPrefix + op.getUnit()).str(), operands,
                         inPlace ? TypeRange() : TypeRange(c.getType()));
  return inPlace ? operands[2] : call.getResult(0);
}
