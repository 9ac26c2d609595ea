//===- UseVectorOps.cpp - Element-wise chains as instructions of a vector unit ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Calls of records in place of the ends of chains.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Engines/UseVectorOps.h"
#include "core/Machine/ExternalCall.h"
#include "core/Transforms/Lower/Engines/Requantisation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright;

/// The record's instruction on vectors, then clamps that are tighter than the type.
static void rewrite(arith::FPToSIOp op, const Requantisation &chain, const VectorOp &record, ModuleOp module) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<VectorType>(op.getType());
  auto floats = VectorType::get(type.getShape(), builder.getF32Type());
  auto splat = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(floats, float(value)));
  };
  SmallVector<Value> operands{chain.from};
  if (record.scale)
    operands.push_back(chain.scale ? chain.scale : splat(1));
  if (record.zeroPoint)
    operands.push_back(chain.zeroPoint ? chain.zeroPoint : splat(0));
  std::string name = (vectorPrefix + record.name + "." + Twine(type.getNumElements())).str();
  if (!module.lookupSymbol(name)) {
    OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
    func::FuncOp::create(top, loc, name, top.getFunctionType(TypeRange(operands), type)).setPrivate();
  }
  Value result = func::CallOp::create(builder, loc, name, TypeRange(type), operands).getResult(0);
  op.replaceAllUsesWith(clampAsIn(builder, loc, chain, record, result));
}

/// Erases a chain from its end as far as nobody else uses it.
static void eraseUnused(Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseUnused(operand.getDefiningOp());
}

void tilewright::useVectorOps(ModuleOp module, const TargetDescription &chip) {
  SmallVector<arith::FPToSIOp> ends;
  module.walk([&](arith::FPToSIOp op) {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (vector && vector.getRank() == 1)
      ends.push_back(op);
  });
  for (arith::FPToSIOp op : ends) {
    Requantisation chain;
    if (const VectorOp *record = findRequantisation(op, chip, chain)) {
      rewrite(op, chain, *record, module);
      eraseUnused(op);
    }
  }
}
