//===- PadIntegers.cpp - Odd integers at the boundary ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// No C type has 4 or 24 bits, and what the bits between the elements of such an
/// array hold is nobody's promise. Arguments and results of public functions get
/// the next integer that has a C type; inside nothing changes. Floats of 4 and 6 bits
/// become bytes there, too, but another type inside (NarrowFloats.h).
///
///   func.func @f(%a: tensor<8xi4>) -> tensor<8xi4>
///   ->
///   func.func @f(%a: tensor<8xi8>) -> tensor<8xi8> { %x = arith.trunci %a; ...; %r = arith.extsi %y; return %r }
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/NarrowFloats.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/SymbolUsers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {
#define GEN_PASS_DEF_PADINTEGERS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct PadIntegers : tilewright::impl::PadIntegersBase<PadIntegers> {
  void runOnOperation() override;
};

/// `type` with elements of 8, 16, 32 or 64 bits where it has signless integers of other widths; i1 is a bool.
Type padded(Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  if (!integer || !integer.isSignless() || integer.getWidth() == 1 || isa<VectorType>(type))
    return type;
  unsigned width = std::max<unsigned>(llvm::PowerOf2Ceil(integer.getWidth()), 8);
  Type element = IntegerType::get(type.getContext(), width);
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

/// `value` as a value of `type`, which differs from its type by the width of the elements alone.
Value converted(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  bool widens = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() <
                getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (widens)
    return arith::ExtSIOp::create(builder, value.getLoc(), type, value);
  return arith::TruncIOp::create(builder, value.getLoc(), type, value);
}

/// Gives `value`, which comes over the boundary, the padded type; its users get it converted back at the builder's
/// place.
void padOutside(OpBuilder &builder, Value value) {
  Type type = value.getType();
  if (padded(type) == type)
    return;
  value.setType(padded(type));
  Value inside = converted(builder, value, type);
  value.replaceAllUsesExcept(inside, inside.getDefiningOp());
}

LogicalResult pad(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (isa<BaseMemRefType>(argument.getType()) && padded(argument.getType()) != argument.getType())
      return emitError(argument.getLoc()) << "unsupported type: argument " << argument.getArgNumber() << " of '"
                                          << function.getName() << "' of type " << argument.getType()
                                          << ", which callers cannot write in C; use i8, i16, i32 or i64, or a tensor, "
                                             "whose elements are passed as such";
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  for (BlockArgument argument : function.getArguments())
    padOutside(builder, argument);
  function.walk([&](func::ReturnOp end) {
    builder.setInsertionPoint(end);
    for (OpOperand &operand : end->getOpOperands())
      operand.set(converted(builder, operand.get(), padded(operand.get().getType())));
  });
  auto all = [](TypeRange types) { return llvm::map_to_vector(types, padded); };
  function.setType(builder.getFunctionType(all(function.getArgumentTypes()), all(function.getResultTypes())));
  return success();
}

/// A call of a function whose boundary has changed.
void padCall(func::CallOp call) {
  OpBuilder builder(call);
  for (OpOperand &operand : call->getOpOperands())
    operand.set(converted(builder, operand.get(), padded(operand.get().getType())));
  builder.setInsertionPointAfter(call);
  for (Value result : call.getResults())
    padOutside(builder, result);
}

} // namespace

void PadIntegers::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(tilewright::holdNarrowFloats(module)))
    return signalPassFailure();
  auto isOdd = [](Type type) { return padded(type) != type; };
  const tilewright::SymbolUsers users(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    FunctionType type = function.getFunctionType();
    if (function.isPrivate() || function.isExternal() ||
        (llvm::none_of(type.getInputs(), isOdd) && llvm::none_of(type.getResults(), isOdd)))
      continue;
    if (failed(pad(function)))
      return signalPassFailure();
    for (Operation *user : users.getUsers(function))
      if (auto call = dyn_cast<func::CallOp>(user))
        padCall(call);
  }
}
