//===- UnitEmission.cpp - One record in place of a call ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands by their roles, cut into the registers that the emission takes, and
// its result put together again.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/UnitEmission.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/TypeFromLLVM.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;
using namespace tilewright;

/// Role that is the address of constant bytes, two hexadecimal digits each.
static constexpr StringLiteral dataRole = "data:";
/// Role that holds the constraints of inline assembly; without it they follow the last semicolon of the text.
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

Value tilewright::castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (!type || value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(builder, loc, type, value);
}

Value UnitEmitter::operandOf(StringRef role, Type wanted, Roles roles) {
  if (Value value = roles(role, wanted))
    return value;
  if (role.consume_front(dataRole))
    return data(role);
  auto [type, text] = role.split(':');
  unsigned width;
  int64_t value;
  if (!type.consume_front("i") || type.getAsInteger(10, width) || text.getAsInteger(10, value))
    return {};
  return constant(width, value);
}

/// The address of a constant, shared by all emissions of the same bytes.
Value UnitEmitter::data(StringRef digits) {
  auto module = call->getParentOfType<ModuleOp>();
  std::string bytes, name = ("tilewright.data." + digits).str();
  if (!llvm::tryGetFromHex(digits, bytes))
    return {};
  if (!module.lookupSymbol(name)) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(top.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, top.getStringAttr(bytes),
                           /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(builder, loc, LLVM::LLVMPointerType::get(call.getContext()), name);
}

/// Appends `value` as the next parameters: whole, or where the emission takes registers one by one, in as many pieces
/// as its bits fill.
void UnitEmitter::appendPieces(Value value, ArrayRef<Type> parameters, SmallVectorImpl<Value> &operands) {
  size_t next = operands.size();
  int64_t bits = bitsOf(value.getType()), piece = bitsOf(parameters[next]);
  if (bits <= piece || piece == 0) {
    operands.push_back(castTo(builder, loc, value, parameters[next]));
    return;
  }
  int64_t count = bits / piece;
  // Pieces of the element's own type need no detour over integers.
  Type element = cast<VectorType>(value.getType()).getElementType();
  Type unit = element == parameters[next] ? element : builder.getIntegerType(piece);
  Value pieces = castTo(builder, loc, value, VectorType::get(count, unit));
  for (int64_t i = 0; i < count && next + i < parameters.size(); ++i) {
    Value one = LLVM::ExtractElementOp::create(builder, loc, pieces, constant(32, i));
    operands.push_back(castTo(builder, loc, one, parameters[next + i]));
  }
}

/// A result that comes as one value or as a structure of registers, in `type`.
Value UnitEmitter::joinPieces(Value result, Type type) {
  auto pieces = dyn_cast<LLVM::LLVMStructType>(result.getType());
  if (!pieces)
    return castTo(builder, loc, result, type);
  int64_t count = pieces.getBody().size(), piece = bitsOf(pieces.getBody().front());
  Type element = cast<VectorType>(type).getElementType();
  Type unit = element == pieces.getBody().front() ? element : builder.getIntegerType(piece);
  Value joined = LLVM::PoisonOp::create(builder, loc, VectorType::get(count, unit));
  for (int64_t i = 0; i < count; ++i) {
    Value one = castTo(builder, loc, LLVM::ExtractValueOp::create(builder, loc, result, i), unit);
    joined = LLVM::InsertElementOp::create(builder, loc, joined, one, constant(32, i));
  }
  return castTo(builder, loc, joined, type);
}

FailureOr<Value> UnitEmitter::emit(const Emission &emission, Type resultType, Roles roles) {
  Signature signature;
  if (emission.kind == EmissionKind::LlvmIntrinsic) {
    FailureOr<Signature> found = signatureOf(emission.name, call.getContext());
    if (failed(found))
      return call.emitError() << "record " << record << " names the intrinsic \"" << emission.name
                              << "\", which this LLVM does not have";
    signature = *found;
  }
  SmallVector<Value> operands;
  StringRef assembly = emission.name, constraints;
  for (StringRef role : emission.arguments) {
    if (role.consume_front(constraintsRole)) {
      constraints = role;
      continue;
    }
    bool prescribed = operands.size() < signature.parameters.size();
    Value operand = operandOf(role, prescribed ? signature.parameters[operands.size()] : Type(), roles);
    if (!operand)
      return call.emitError() << "record " << record << " has the argument \"" << role << "\" in the emission \""
                              << emission.name << "\", which is neither an operand nor a constant such as i32:0";
    if (prescribed)
      appendPieces(operand, signature.parameters, operands);
    else
      operands.push_back(operand);
  }
  if (signature.result && signature.parameters.size() != operands.size())
    return call.emitError() << "record " << record << " gives " << operands.size() << " arguments to \""
                            << emission.name << "\", which takes " << signature.parameters.size();

  switch (emission.kind) {
  case EmissionKind::MlirOp: {
    OperationName name(emission.name, call.getContext());
    if (!name.isRegistered())
      return call.emitError() << "record " << record << " names the op \"" << emission.name
                              << "\", which is not registered";
    OperationState state(loc, name, operands, resultType ? TypeRange(resultType) : TypeRange());
    Operation *op = builder.create(state);
    return resultType ? op->getResult(0) : Value();
  }
  case EmissionKind::LlvmIntrinsic: {
    auto name = builder.getStringAttr(emission.name);
    if (!resultType) {
      LLVM::CallIntrinsicOp::create(builder, loc, name, operands);
      return Value();
    }
    auto intrinsic =
        LLVM::CallIntrinsicOp::create(builder, loc, signature.result ? signature.result : resultType, name, operands);
    return joinPieces(intrinsic.getResult(0), resultType);
  }
  case EmissionKind::InlineAsm: {
    if (constraints.empty())
      std::tie(assembly, constraints) = assembly.rsplit(';');
    bool effects = !resultType || constraints.contains("~{memory}");
    auto instructions = LLVM::InlineAsmOp::create(
        builder, loc, resultType ? TypeRange(resultType) : TypeRange(), operands, assembly, constraints,
        /*has_side_effects=*/effects, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr(), ArrayAttr());
    return resultType ? instructions.getResult(0) : Value();
  }
  case EmissionKind::ExternalCall: {
    auto module = call->getParentOfType<ModuleOp>();
    if (!module.lookupSymbol(emission.name)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      SmallVector<Type> types(ValueRange(operands).getTypes());
      Type result = resultType ? resultType : LLVM::LLVMVoidType::get(call.getContext());
      LLVM::LLVMFuncOp::create(builder, loc, emission.name, LLVM::LLVMFunctionType::get(result, types));
    }
    auto external =
        LLVM::CallOp::create(builder, loc, resultType ? TypeRange(resultType) : TypeRange(), emission.name, operands);
    return resultType ? external.getResult() : Value();
  }
  }
  llvm_unreachable("all kinds handled");
}
