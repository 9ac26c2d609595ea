//===- GroupUnitProgram.cpp - The program around a unit of a group --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A unit that a group of subgroups issues reads A and B in the scratchpad, where
/// lanes put them line by line, or A in registers:
///
///   copy A, B | fence before engines | barrier | fence of registers | unit | commit | wait | store C
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Conformance/Units.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tilewright/LaneOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::conformance;

static constexpr int64_t linesOfGroup = 8, tileAlign = 1024;

/// Bytes of a line along k.
static int64_t lineBytes(const MatrixUnit &unit, const UnitOperand &operand) {
  return unit.k * bitWidth(operand.element) / 8;
}

/// Bytes of an operand's tile in the scratchpad: rows of A, columns of B.
static int64_t tileBytes(const MatrixUnit &unit, bool isA) {
  const UnitOperand &operand = isA ? unit.a : unit.b;
  if (operand.residence == Residence::LaneRegisters)
    return 0;
  return llvm::alignTo((isA ? unit.m : unit.n) * lineBytes(unit, operand), tileAlign);
}

bool conformance::isOfGroup(const MatrixUnit &unit) {
  auto inLines = [&](const UnitOperand &operand, int64_t lines) {
    return operand.residence == Residence::Scratchpad && operand.layout.numLanes() == 1 &&
           bitWidth(operand.element) % 8 == 0 && lines % linesOfGroup == 0 &&
           llvm::is_contained({16, 32, 64, 128}, lineBytes(unit, operand));
  };
  return unit.scopeCount > 1 && (unit.a.residence == Residence::LaneRegisters || inLines(unit.a, unit.m)) &&
         inLines(unit.b, unit.n) && unit.c.residence == Residence::LaneRegisters;
}

int64_t conformance::unitScratchpadBytes(const MatrixUnit &unit) {
  return isOfGroup(unit) ? tileBytes(unit, true) + tileBytes(unit, false) : 0;
}

namespace {
/// Writes the kernel.
struct Writer {
  OpBuilder &b;
  Location loc;
  LLVM::LLVMFuncOp function;
  const MatrixUnit &unit;
  Value lane;

  Value i32(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(value)); }
  Value i64(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value)); }
  Value plus(Value base, Value bytes) {
    return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
  }

  /// A vector of registers, one by one: of a number of elements that is no power of two, too.
  Value load(Value place, VectorType type) {
    Value result = LLVM::PoisonOp::create(b, loc, type);
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value part = LLVM::LoadOp::create(b, loc, type.getElementType(), at(place, type, i));
      result = LLVM::InsertElementOp::create(b, loc, result, part, i32(i));
    }
    return result;
  }
  void store(Value value, Value place) {
    auto type = cast<VectorType>(value.getType());
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      LLVM::StoreOp::create(b, loc, LLVM::ExtractElementOp::create(b, loc, value, i32(i)), at(place, type, i));
  }
  Value at(Value place, VectorType type, int64_t element) {
    return plus(place, i32(element * type.getElementTypeBitWidth() / 8));
  }

  /// Lanes take elements in turn: from their row-major places at `source` to those of lines along k at `destination`.
  void copy(bool isA, Value source, Value destination) {
    const UnitOperand &operand = isA ? unit.a : unit.b;
    int64_t bytes = bitWidth(operand.element) / 8, line = lineBytes(unit, operand);
    auto *head = function.addBlock(), *body = function.addBlock(), *after = function.addBlock();
    Value element = head->addArgument(b.getI32Type(), loc);
    LLVM::BrOp::create(b, loc, ValueRange(lane), head);
    b.setInsertionPointToStart(head);
    Value more = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, element, i32(operand.rows * operand.cols));
    LLVM::CondBrOp::create(b, loc, more, body, after);
    b.setInsertionPointToStart(body);
    Value row = LLVM::UDivOp::create(b, loc, element, i32(operand.cols));
    Value col = LLVM::URemOp::create(b, loc, element, i32(operand.cols));
    Value from = plus(source, LLVM::MulOp::create(b, loc, element, i32(bytes)));
    Value place = LLVM::AddOp::create(b, loc, LLVM::MulOp::create(b, loc, isA ? row : col, i32(line)),
                                      LLVM::MulOp::create(b, loc, isA ? col : row, i32(bytes)));
    // Vectors of 16 bytes are permuted within a line.
    Value flip = LLVM::AndOp::create(b, loc, LLVM::LShrOp::create(b, loc, place, i32(7)), i32(line / 16 - 1));
    place = LLVM::XOrOp::create(b, loc, place, LLVM::ShlOp::create(b, loc, flip, i32(4)));
    Value moved = LLVM::LoadOp::create(b, loc, b.getIntegerType(8 * bytes), from, /*alignment=*/1);
    LLVM::StoreOp::create(b, loc, moved, plus(destination, place), /*alignment=*/bytes);
    LLVM::BrOp::create(b, loc, ValueRange(LLVM::AddOp::create(b, loc, element, i32(unitLanes(unit)))), head);
    b.setInsertionPointToStart(after);
  }
};
} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> conformance::groupUnitProgram(const MatrixUnit &unit, llvm::StringRef target,
                                                                    Type element, MLIRContext &context) {
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  (*module)->setAttr("tilewright.target", b.getStringAttr(target));
  auto found = laneOpsOf(*module);
  if (!found)
    return found.takeError();
  const LaneOps &ops = **found;
  auto global = LLVM::LLVMPointerType::get(&context, globalSpace);
  auto registers = VectorType::get(unit.c.layout.numElements(), element);
  b.setInsertionPointToEnd(module->getBody());
  Type i64 = b.getI64Type();
  const bool describesA = unit.a.residence == Residence::Scratchpad;
  SmallVector<Type> types{i64, i64, i64, i64, registers};
  if (!describesA)
    types = {VectorType::get(unit.a.layout.numElements(), elementType(unit.a.element, &context)), i64, i64, registers};
  auto callee =
      LLVM::LLVMFuncOp::create(b, loc, "tilewright.unit." + unit.name, LLVM::LLVMFunctionType::get(registers, types));
  auto none = LLVM::LLVMVoidType::get(&context);
  auto function =
      LLVM::LLVMFuncOp::create(b, loc, unitEntry, LLVM::LLVMFunctionType::get(none, {global, global, global}));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Writer writer{b, loc, function, unit, ops.threadId(b, loc)};
  Value tileA = ops.scratchpad(b, loc, *module, unitScratchpadBytes(unit));
  Value tileB = writer.plus(tileA, writer.i32(tileBytes(unit, true)));
  if (describesA)
    writer.copy(true, entry->getArgument(0), tileA);
  writer.copy(false, entry->getArgument(1), tileB);
  ops.fenceEngines(b, loc);
  ops.barrier(b, loc);
  auto ofLane = [&](unsigned argument, const UnitOperand &operand) {
    int64_t bytes = operand.layout.numElements() * bitWidth(operand.element) / 8;
    return writer.plus(entry->getArgument(argument), LLVM::MulOp::create(b, loc, writer.lane, writer.i32(bytes)));
  };
  Value place = ofLane(2, unit.c);
  Value c = writer.load(place, registers);
  SmallVector<Value> operands;
  for (bool isA : {true, false}) {
    if (isA && !describesA) {
      operands.push_back(writer.load(ofLane(0, unit.a), cast<VectorType>(types.front())));
      continue;
    }
    ScratchpadTile tile;
    tile.lineBytes = lineBytes(unit, isA ? unit.a : unit.b);
    tile.groupBytes = tile.blockBytes = linesOfGroup * tile.lineBytes;
    Value described = ops.describeTile(b, loc, isA ? tileA : tileB, {}, 0, tile);
    if (!described)
      return llvm::createStringError("unit " + unit.name +
                                     " reads matrices in the scratchpad, which the target's operations do not describe "
                                     "(LaneOps::describeTile)");
    operands.append({described, writer.i64(tile.kInner)});
  }
  operands.push_back(c);
  ops.beginUnits(b, loc);
  Value result = LLVM::CallOp::create(b, loc, callee, operands).getResult();
  ops.commitUnits(b, loc);
  result = ops.waitUnits(b, loc, 0, result).front();
  writer.store(result, place);
  LLVM::ReturnOp::create(b, loc, ValueRange());
  ops.finishLaunch(function, {unitLanes(unit), unitScratchpadBytes(unit), 0, unitLanes(unit)});
  return module;
}
