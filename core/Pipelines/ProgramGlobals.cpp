//===- ProgramGlobals.cpp - Globals of ml_program as constants ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Looks at all uses of each global, and puts a constant in the place of each load.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/ProgramGlobals.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

/// Replaces a load by the value of its global.
static LogicalResult inlineLoad(Operation *load, ml_program::GlobalOp global) {
  auto value = dyn_cast_or_null<TypedAttr>(global.getValueAttr());
  if (!value || !arith::ConstantOp::isBuildableWith(value, value.getType()))
    return load->emitError("unsupported operation: '")
           << load->getName() << "' of '@" << global.getSymName()
           << "', which has no value here; give it one in this module, or make it an argument";
  OpBuilder builder(load);
  Value constant = arith::ConstantOp::create(builder, load->getLoc(), value);
  Type type = load->getResult(0).getType();
  if (constant.getType() != type) {
    if (!tensor::CastOp::areCastCompatible(constant.getType(), type))
      return load->emitError("has type ")
             << type << ", but the value of '@" << global.getSymName() << "' has type " << constant.getType();
    constant = tensor::CastOp::create(builder, load->getLoc(), type, constant);
  }
  load->getResult(0).replaceAllUsesWith(constant);
  load->erase();
  return success();
}

/// Replaces what reads the global; refused where something writes to it.
static LogicalResult inlineGlobal(ml_program::GlobalOp global, ModuleOp module) {
  auto uses = SymbolTable::getSymbolUses(global, module);
  if (!uses)
    return success();
  SmallVector<Operation *> loads;
  for (const SymbolTable::SymbolUse &use : *uses) {
    Operation *user = use.getUser();
    if (!isa<ml_program::GlobalLoadOp, ml_program::GlobalLoadConstOp>(user))
      return user->emitError("unsupported operation: '")
             << user->getName() << "'; programs keep nothing between calls: make '@" << global.getSymName()
             << "' an argument and a result";
    loads.push_back(user);
  }
  for (Operation *load : loads)
    if (failed(inlineLoad(load, global)))
      return failure();
  global.erase();
  return success();
}

LogicalResult tilewright::inlineProgramGlobals(ModuleOp module) {
  if (module.getOps<ml_program::GlobalOp>().empty())
    return success();
  module.getContext()
      ->loadDialect<arith::ArithDialect, tensor::TensorDialect>(); // the program may have no other operations
  for (auto global : llvm::make_early_inc_range(module.getOps<ml_program::GlobalOp>()))
    if (failed(inlineGlobal(global, module)))
      return failure();
  return success();
}
