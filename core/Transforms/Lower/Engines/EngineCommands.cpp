//===- EngineCommands.cpp - Commands of copy engines and units ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups of commands and waits; the order of a unit's instructions.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Engines/EngineCommands.h"
#include "core/Analysis/ElementType.h"
#include "core/Machine/ExternalCall.h"
#include "core/Transforms/Lower/Engines/EngineNumbers.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright;

StringRef tilewright::nameOf(EngineCommand engine) {
  return engine == EngineCommand::Copy ? "copy" : engine == EngineCommand::Unit ? "unit" : "store";
}

Value EngineWriter::call(OpBuilder &builder, Operation *at, StringRef name, Type result, ValueRange operands) {
  auto module = at->getParentOfType<ModuleOp>();
  SmallVector<Type, 1> results;
  if (result)
    results.push_back(result);
  if (!module.lookupSymbol(name)) {
    OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
    auto type = top.getFunctionType(TypeRange(operands), results);
    func::FuncOp::create(top, at->getLoc(), name, type).setPrivate();
  }
  auto call = func::CallOp::create(builder, at->getLoc(), name, results, operands);
  return result ? call.getResult(0) : Value();
}

EngineWriter::EngineWriter(func::FuncOp function, const TargetDescription &chip, const CoreHierarchy &cores)
    : chip(chip), cores(cores), function(function) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  Location loc = function.getLoc();
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(0));
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(1));
  for (Value &counter : issued) {
    counter = LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                                     builder.getI32Type(), one);
    LLVM::StoreOp::create(builder, loc, zero, counter);
  }
}

Value EngineWriter::commit(OpBuilder &builder, Operation *op, EngineCommand engine) {
  Location loc = op->getLoc();
  call(builder, op, (primitivePrefix + "commit_" + nameOf(engine)).str(), {}, {});
  Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
  Value number = arith::AddIOp::create(builder, loc, last(builder, loc, engine), one);
  LLVM::StoreOp::create(builder, loc, number, issued[int(engine)]);
  return number;
}

Value EngineWriter::last(OpBuilder &builder, Location loc, EngineCommand engine) {
  return LLVM::LoadOp::create(builder, loc, builder.getI32Type(), issued[int(engine)]);
}

void EngineWriter::wait(OpBuilder &builder, Location loc, EngineCommand engine, Value number) {
  Value all = last(builder, loc, engine);
  call(builder, function, (primitivePrefix + "wait_" + nameOf(engine)).str(), {},
       arith::SubIOp::create(builder, loc, all, number).getResult());
}

//===-- Products ----------------------------------------------------------===//

FailureOr<Value> EngineWriter::multiply(OpBuilder &builder, tile::MultiplyOp op) {
  Location loc = op.getLoc();
  FailureOr<const MatrixUnit *> named = requireUnit(op, chip, op.getUnit());
  if (failed(named))
    return failure();
  const MatrixUnit *unit = *named;
  int64_t units[] = {unit->m, unit->n, unit->k};
  for (unsigned d = 0; d < 3; ++d)
    if (op.getShape()[d] % units[d])
      return op.emitOpError() << "has the shape " << op.getShape()[0] << " x " << op.getShape()[1] << " x "
                              << op.getShape()[2] << ", which is no multiple of " << unit->m << " x " << unit->n
                              << " x " << unit->k << " of unit \"" << unit->name << "\"";
  if (unit->init != UnitInit::ZeroFlag && !matchPattern(op.getAccumulate(), m_One()))
    return op.emitOpError() << "asks unit \"" << unit->name
                            << "\" not to read C, which it cannot without a zero flag; clear C and accumulate";
  struct Operand {
    Value base;
    int64_t pitch, bytes;
  };
  auto operand = [&](Value memref, ValueRange indices) {
    Numbers at{builder, loc};
    auto type = cast<MemRefType>(memref.getType());
    int64_t bytes = elementBytes(type.getElementType());
    Value base = at.advance(pointerOf(builder, loc, memref), at.mul(at.linear(memref, indices), at.index(bytes)));
    return Operand{base, type.getShape().back() * bytes, bytes};
  };
  Operand a = operand(op.getA(), op.getAIndices()), b = operand(op.getB(), op.getBIndices()),
          c = operand(op.getC(), op.getCIndices());

  // The loops, outermost first: the stationary operand does not change in the innermost one.
  unsigned order[] = {2, 1, 0}; // k, n, m
  if (unit->stationary == 'A')
    std::swap(order[1], order[2]);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> upper;
  Value exists; // of what the product has one block along; null: all of it
  for (unsigned d : order) {
    const int64_t blocks = op.getShape()[d] / units[d];
    Value all = arith::ConstantIndexOp::create(builder, loc, blocks);
    APInt valid;
    const bool isWhole = op.getValid().empty() || (matchPattern(op.getValid()[d], m_ConstantInt(&valid)) &&
                                                   valid.getSExtValue() >= op.getShape()[d]);
    if (isWhole) {
      upper.push_back(all);
      continue;
    }
    if (blocks == 1) {
      Value has = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, op.getValid()[d], zero);
      exists = exists ? arith::AndIOp::create(builder, loc, exists, has).getResult() : has;
      upper.push_back(all);
      continue;
    }
    // What is less than none stays so, and a loop to there does nothing.
    Value size = arith::ConstantIndexOp::create(builder, loc, units[d]);
    Value rounded = arith::AddIOp::create(builder, loc, op.getValid()[d],
                                          arith::ConstantIndexOp::create(builder, loc, units[d] - 1));
    upper.push_back(
        arith::MinSIOp::create(builder, loc, arith::DivSIOp::create(builder, loc, rounded, size).getResult(), all));
  }
  OpBuilder commands = builder;
  if (exists)
    commands.setInsertionPointToStart(scf::IfOp::create(builder, loc, exists, /*withElseRegion=*/false).thenBlock());
  scf::buildLoopNest(commands, loc, SmallVector<Value>(3, zero), upper, SmallVector<Value>(3, one),
                     [&](OpBuilder &inner, Location, ValueRange ivs) {
                       Numbers at{inner, loc};
                       Value point[3];
                       for (unsigned i = 0; i < 3; ++i)
                         point[order[i]] = ivs[i];
                       auto tile = [&](const Operand &operand, unsigned row, unsigned col) {
                         Value offset = at.add(at.mul(point[row], at.index(units[row] * operand.pitch)),
                                               at.mul(point[col], at.index(units[col] * operand.bytes)));
                         return at.advance(operand.base, offset);
                       };
                       SmallVector<Value> operands{tile(a, 0, 2),   at.i64(a.pitch), tile(b, 2, 1),
                                                   at.i64(b.pitch), tile(c, 0, 1),   at.i64(c.pitch)};
                       if (unit->init == UnitInit::ZeroFlag) {
                         Value later = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ne, point[2], zero);
                         operands.push_back(arith::OrIOp::create(inner, loc, op.getAccumulate(), later));
                       }
                       call(inner, op, (unitPrefix + unit->name).str(), {}, operands);
                     });
  return commit(builder, op, EngineCommand::Unit);
}
