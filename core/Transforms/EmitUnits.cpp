//===- EmitUnits.cpp - Calls of matrix units become instructions ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replaces each call of `@tilewright.unit.<record>` by the emission of its
/// record: an op, an LLVM intrinsic, inline assembly, or an external function.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/TypeFromLLVM.h"
#include "tilewright/TargetDescription.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EMITUNITS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace tilewright;

static constexpr StringLiteral prefix = "tilewright.unit.";
static constexpr StringLiteral constraintsRole = "constraints:";

namespace {
/// The types that an emission prescribes; empty where it takes the operands as they are.
struct Signature {
  SmallVector<Type> parameters;
  Type result;
};
} // namespace

/// The fixed signature of an intrinsic; no types for one that is overloaded, failure if there is none of that name.
static FailureOr<Signature> signatureOf(StringRef intrinsic, MLIRContext *context) {
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(intrinsic);
  if (id == llvm::Intrinsic::not_intrinsic)
    return failure();
  Signature signature;
  if (llvm::Intrinsic::isOverloaded(id))
    return signature;
  llvm::LLVMContext llvmContext;
  llvm::FunctionType *type = llvm::Intrinsic::getType(llvmContext, id);
  LLVM::TypeFromLLVMIRTranslator translator(*context);
  for (llvm::Type *parameter : type->params())
    signature.parameters.push_back(translator.translateType(parameter));
  signature.result = translator.translateType(type->getReturnType());
  return signature;
}

/// The operand that `role` names: "A", "B", "C", or a constant "i32:7"; null if it names none.
static Value operandOf(OpBuilder &builder, LLVM::CallOp call, StringRef role) {
  if (role == "A" || role == "B" || role == "C")
    return call.getArgOperands()[role[0] - 'A'];
  auto [type, text] = role.split(':');
  unsigned width;
  int64_t value;
  if (!type.consume_front("i") || type.getAsInteger(10, width) || text.getAsInteger(10, value))
    return {};
  Type integer = builder.getIntegerType(width);
  return LLVM::ConstantOp::create(builder, call.getLoc(), integer, builder.getIntegerAttr(integer, value));
}

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (!type || value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(builder, loc, type, value);
}

/// Emits `unit` in place of `call`; the result, or null after an error.
static Value emitUnit(OpBuilder &builder, LLVM::CallOp call, const MatrixUnit &unit) {
  Location loc = call.getLoc();
  const Emission &emission = unit.emit;
  Type resultType = call.getResult().getType();
  Signature signature;
  if (emission.kind == EmissionKind::LlvmIntrinsic) {
    FailureOr<Signature> found = signatureOf(emission.name, call.getContext());
    if (failed(found)) {
      call.emitError() << "record " << unit.name << " names the intrinsic \"" << emission.name
                       << "\", which this LLVM does not have";
      return {};
    }
    signature = *found;
  }

  SmallVector<Value> operands;
  std::string constraints;
  for (StringRef role : emission.arguments) {
    if (role.consume_front(constraintsRole)) {
      constraints = role.str();
      continue;
    }
    Value operand = operandOf(builder, call, role);
    if (!operand) {
      call.emitError() << "record " << unit.name << " has the argument \"" << role
                       << "\"; known are A, B, C and constants such as i32:0";
      return {};
    }
    if (operands.size() < signature.parameters.size())
      operand = castTo(builder, loc, operand, signature.parameters[operands.size()]);
    operands.push_back(operand);
  }
  if (signature.result && signature.parameters.size() != operands.size()) {
    call.emitError() << "record " << unit.name << " gives " << operands.size() << " arguments to \"" << emission.name
                     << "\", which takes " << signature.parameters.size();
    return {};
  }

  switch (emission.kind) {
  case EmissionKind::MlirOp: {
    OperationName name(emission.name, call.getContext());
    if (!name.isRegistered()) {
      call.emitError() << "record " << unit.name << " names the op \"" << emission.name << "\", which is not registered";
      return {};
    }
    OperationState state(loc, name, operands, {resultType});
    return builder.create(state)->getResult(0);
  }
  case EmissionKind::LlvmIntrinsic: {
    auto intrinsic = LLVM::CallIntrinsicOp::create(builder, loc, signature.result ? signature.result : resultType,
                                                   builder.getStringAttr(emission.name), operands);
    return castTo(builder, loc, intrinsic.getResult(0), resultType);
  }
  case EmissionKind::InlineAsm:
    return LLVM::InlineAsmOp::create(builder, loc, resultType, operands, emission.name, constraints,
                                     /*has_side_effects=*/false, /*is_align_stack=*/false,
                                     LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
        .getResult(0);
  case EmissionKind::ExternalCall: {
    auto module = call->getParentOfType<ModuleOp>();
    if (!module.lookupSymbol(emission.name)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      SmallVector<Type> types(ValueRange(operands).getTypes());
      LLVM::LLVMFuncOp::create(builder, loc, emission.name, LLVM::LLVMFunctionType::get(resultType, types));
    }
    return LLVM::CallOp::create(builder, loc, TypeRange{resultType}, emission.name, operands).getResult();
  }
  }
  llvm_unreachable("all kinds handled");
}

namespace {
struct EmitUnits : tilewright::impl::EmitUnitsBase<EmitUnits> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LLVM::CallOp> calls;
    module.walk([&](LLVM::CallOp call) {
      if (call.getCallee() && call.getCallee()->starts_with(prefix))
        calls.push_back(call);
    });
    if (!calls.empty()) {
      auto target = targetOf(module);
      if (!target) {
        module.emitError() << llvm::toString(target.takeError());
        return signalPassFailure();
      }
      for (LLVM::CallOp call : calls) {
        StringRef name = call.getCallee()->drop_front(prefix.size());
        const MatrixUnit *unit = (*target)->unit(name);
        if (!unit) {
          call.emitError() << "chip " << (*target)->target() << ":" << (*target)->chip() << " has no unit \"" << name
                           << "\"";
          return signalPassFailure();
        }
        OpBuilder builder(call);
        Value result = emitUnit(builder, call, *unit);
        if (!result)
          return signalPassFailure();
        call.getResult().replaceAllUsesWith(result);
        call.erase();
      }
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (function.getName().starts_with(prefix) && function.isExternal())
        function.erase();
  }
};
} // namespace
