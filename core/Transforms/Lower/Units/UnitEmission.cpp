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
#include "core/Machine/IrFunction.h"
#include "core/Machine/RecordTypes.h"
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

/// Role that says in which order the members of a result lie in registers: "result:1,0".
static constexpr StringLiteral resultRole = "result:";

/// The types that an emission prescribes; empty where it takes the operands as they are.
struct UnitEmitter::Signature {
  SmallVector<Type> parameters;
  Type result;              // null: not prescribed
  LLVM::LLVMFuncOp shipped; // the function whose operations stand there
  bool isPrescribed() const { return result != nullptr; }
};

/// The fixed signature of an intrinsic, or that of a function which the record ships; no types for all others.
FailureOr<UnitEmitter::Signature> UnitEmitter::signatureOf(const Emission &emission) {
  MLIRContext *context = call.getContext();
  Signature signature;
  if (shippedText(emission)) {
    auto function = functions.find(emission, *context);
    if (!function)
      return call.emitError() << "record " << record
                              << " ships a function that cannot be used: " << llvm::toString(function.takeError());
    signature.shipped = *function;
    llvm::append_range(signature.parameters, function->getArgumentTypes());
    signature.result = function->getFunctionType().getReturnType();
    return signature;
  }
  if (emission.kind != EmissionKind::LlvmIntrinsic)
    return signature;
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(emission.name);
  if (id == llvm::Intrinsic::not_intrinsic)
    return call.emitError() << "record " << record << " names the intrinsic \"" << emission.name
                            << "\", which this LLVM does not have";
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

/// Number `index` of `count` equal parts of a vector, or that member of a structure; null if there is none.
Value UnitEmitter::partOf(Value value, int64_t index, int64_t count) {
  if (auto members = dyn_cast<LLVM::LLVMStructType>(value.getType()))
    return index < int64_t(members.getBody().size()) ? LLVM::ExtractValueOp::create(builder, loc, value, index)
                                                     : Value();
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector || vector.isScalable() || vector.getNumElements() % count != 0)
    return {};
  int64_t width = vector.getNumElements() / count;
  return LLVM::vector_extract::create(builder, loc, VectorType::get({width}, vector.getElementType()), value,
                                      index * width);
}

/// Appends `value` as the next parameters: whole, or where the emission takes registers one by one, in as many pieces
/// as its bits fill.
LogicalResult UnitEmitter::appendPieces(const Emission &emission, StringRef role, Value value,
                                        const Signature &signature, SmallVectorImpl<Value> &operands) {
  auto parameters = ArrayRef(signature.parameters).drop_front(operands.size());
  int64_t bits = bitsOfType(value.getType()), piece = bitsOfType(parameters[0]);
  if (value.getType() == parameters[0] || (bits == piece && bits != 0)) {
    operands.push_back(castTo(builder, loc, value, parameters[0]));
    return success();
  }
  int64_t count = piece ? bits / piece : 0;
  auto vector = dyn_cast<VectorType>(value.getType());
  if (count < 2 || bits % piece || !vector || count > int64_t(parameters.size()) ||
      llvm::any_of(parameters.take_front(count), [&](Type type) { return bitsOfType(type) != piece; })) {
    InFlightDiagnostic error = call.emitError();
    error << "record " << record << " gives \"" << role << "\" of the type " << value.getType() << " to parameter "
          << operands.size() << " of \"" << emission.name << "\", which is " << parameters[0];
    return bits && piece ? error << ": " << bits << " bits do not fill parameters of " << piece : error;
  }
  // Parts of a vector where these are vectors; pieces of the element's own type need no detour over integers.
  bool isWide = piece > 64 && vector.getNumElements() % count == 0;
  Type unit = vector.getElementType() == parameters[0] ? vector.getElementType() : builder.getIntegerType(piece);
  Value pieces = isWide ? value : castTo(builder, loc, value, VectorType::get(count, unit));
  for (int64_t i = 0; i < count; ++i) {
    Value one =
        isWide ? partOf(value, i, count) : Value(LLVM::ExtractElementOp::create(builder, loc, pieces, constant(32, i)));
    operands.push_back(castTo(builder, loc, one, parameters[i]));
  }
  return success();
}

/// The members of `result`, a structure; `result` itself of another type.
static SmallVector<Value> membersOf(OpBuilder &builder, Location loc, Value result) {
  auto members = dyn_cast<LLVM::LLVMStructType>(result.getType());
  if (!members)
    return {result};
  SmallVector<Value> values;
  for (int64_t i = 0, end = members.getBody().size(); i < end; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, result, i));
  return values;
}

FailureOr<Value> UnitEmitter::join(const Emission &emission, ArrayRef<Value> parts, Type type) {
  auto refuse = [&]() -> FailureOr<Value> {
    InFlightDiagnostic error = call.emitError();
    error << "record " << record << " gets ";
    llvm::interleaveComma(parts, error, [&](Value part) { error << part.getType(); });
    return error << " from \"" << emission.name << "\", but its value is " << type;
  };
  if (parts.size() == 1) {
    Type given = parts[0].getType();
    if (given != type && (bitsOfType(given) != bitsOfType(type) || bitsOfType(given) == 0))
      return refuse();
    return castTo(builder, loc, parts[0], type);
  }
  if (auto members = dyn_cast<LLVM::LLVMStructType>(type)) {
    if (members.getBody() != ArrayRef(llvm::to_vector(ValueRange(parts).getTypes())))
      return refuse();
    Value joined = LLVM::PoisonOp::create(builder, loc, type);
    for (auto [i, part] : llvm::enumerate(parts))
      joined = LLVM::InsertValueOp::create(builder, loc, joined, part, i);
    return joined;
  }
  auto vector = dyn_cast<VectorType>(type);
  int64_t count = parts.size(), piece = count ? bitsOfType(parts[0].getType()) : 0;
  bool areAlike = llvm::all_of(parts, [&](Value part) { return bitsOfType(part.getType()) == piece; });
  if (!vector || vector.isScalable() || !areAlike || piece == 0 || count * piece != bitsOfType(type))
    return refuse();
  if (piece > 64 && vector.getNumElements() % count == 0) {
    int64_t width = vector.getNumElements() / count;
    Value joined = LLVM::PoisonOp::create(builder, loc, type);
    for (auto [i, part] : llvm::enumerate(parts)) {
      Value one = castTo(builder, loc, part, VectorType::get({width}, vector.getElementType()));
      joined = LLVM::vector_insert::create(builder, loc, type, joined, one, int64_t(i) * width);
    }
    return joined;
  }
  bool isElement = vector.getElementType() == parts[0].getType();
  Type unit = isElement ? vector.getElementType() : builder.getIntegerType(piece);
  Value joined = LLVM::PoisonOp::create(builder, loc, VectorType::get(count, unit));
  for (auto [i, part] : llvm::enumerate(parts))
    joined = LLVM::InsertElementOp::create(builder, loc, joined, castTo(builder, loc, part, unit), constant(32, i));
  return castTo(builder, loc, joined, type);
}

/// "A" and 1 of "A.1"; nothing of a role without a number.
static std::optional<std::pair<StringRef, int64_t>> numberedRole(StringRef role) {
  auto [name, digits] = role.rsplit('.');
  int64_t number;
  if (name.empty() || name.contains(':') || digits.getAsInteger(10, number) || number < 0)
    return std::nullopt;
  return std::pair(name, number);
}

/// The operands of an emission in the order of its roles.
FailureOr<SmallVector<Value>> UnitEmitter::operandsOf(const Emission &emission, const Signature &signature,
                                                      Roles roles) {
  SmallVector<Value> operands;
  llvm::StringMap<int64_t> counts; // parts that are asked for by their number
  for (StringRef role : writtenArguments(emission))
    if (auto part = numberedRole(role))
      counts[part->first] = std::max(counts[part->first], part->second + 1);
  for (StringRef role : writtenArguments(emission)) {
    if (role.starts_with(constraintsRole) || role.starts_with(resultRole))
      continue;
    bool prescribed = operands.size() < signature.parameters.size();
    Value operand = operandOf(role, prescribed ? signature.parameters[operands.size()] : Type(), roles);
    if (auto part = numberedRole(role); !operand && part)
      if (Value whole = roles(part->first, {}))
        operand = partOf(whole, part->second, counts[part->first]);
    if (!operand)
      return call.emitError() << "record " << record << " has the argument \"" << role << "\" in the emission \""
                              << emission.name << "\", which is neither an operand nor a constant such as i32:0";
    if (!prescribed)
      operands.push_back(operand);
    else if (failed(appendPieces(emission, role, operand, signature, operands)))
      return failure();
  }
  if (signature.isPrescribed() && signature.parameters.size() != operands.size())
    return call.emitError() << "record " << record << " gives " << operands.size() << " arguments to \""
                            << emission.name << "\", which takes " << signature.parameters.size();
  return operands;
}

/// The emission on its operands; what it gives, null if nothing is asked for.
FailureOr<Value> UnitEmitter::write(const Emission &emission, ValueRange operands, const Signature &signature,
                                    Type resultType) {
  if (resultType && signature.isPrescribed() && !isa<LLVM::LLVMVoidType>(signature.result))
    resultType = signature.result;
  TypeRange results = resultType ? TypeRange(resultType) : TypeRange();
  if (signature.shipped) {
    Value result = ShippedFunctions::insert(signature.shipped, operands, builder, loc);
    if (resultType && !result)
      return call.emitError() << "record " << record << " ships the function \"" << emission.name
                              << "\", which returns nothing; a value of the type " << resultType << " is needed";
    return resultType ? result : Value();
  }
  switch (emission.kind) {
  case EmissionKind::MlirOp: {
    OperationName name(emission.name, call.getContext());
    if (!name.isRegistered())
      return call.emitError() << "record " << record << " names the op \"" << emission.name
                              << "\", which is not registered";
    OperationState state(loc, name, operands, results);
    Operation *op = builder.create(state);
    return resultType ? op->getResult(0) : Value();
  }
  case EmissionKind::LlvmIntrinsic: {
    auto name = builder.getStringAttr(emission.name);
    if (!resultType) {
      LLVM::CallIntrinsicOp::create(builder, loc, name, operands);
      return Value();
    }
    return LLVM::CallIntrinsicOp::create(builder, loc, resultType, name, operands).getResult(0);
  }
  case EmissionKind::InlineAsm: {
    StringRef assembly = emission.name, constraints;
    for (StringRef role : emission.arguments)
      if (role.consume_front(constraintsRole))
        constraints = role;
    if (constraints.empty())
      std::tie(assembly, constraints) = assembly.rsplit(';');
    bool effects = !resultType || constraints.contains("~{memory}");
    auto instructions =
        LLVM::InlineAsmOp::create(builder, loc, results, operands, assembly, constraints,
                                  /*has_side_effects=*/effects, /*is_align_stack=*/false,
                                  LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    return resultType ? instructions.getResult(0) : Value();
  }
  case EmissionKind::ExternalCall: {
    auto module = call->getParentOfType<ModuleOp>();
    if (!module.lookupSymbol(emission.name)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      SmallVector<Type> types(operands.getTypes());
      Type result = resultType ? resultType : LLVM::LLVMVoidType::get(call.getContext());
      LLVM::LLVMFuncOp::create(builder, loc, emission.name, LLVM::LLVMFunctionType::get(result, types));
    }
    auto external = LLVM::CallOp::create(builder, loc, results, emission.name, operands);
    return resultType ? external.getResult() : Value();
  }
  }
  llvm_unreachable("all kinds handled");
}

FailureOr<SmallVector<Value>> UnitEmitter::emitParts(const Emission &emission, Type resultType, Roles roles) {
  FailureOr<Signature> signature = signatureOf(emission);
  if (failed(signature))
    return failure();
  FailureOr<SmallVector<Value>> operands = operandsOf(emission, *signature, roles);
  if (failed(operands))
    return failure();
  FailureOr<Value> result = write(emission, *operands, *signature, resultType);
  if (failed(result))
    return failure();
  if (!*result)
    return SmallVector<Value>();
  StringRef order;
  for (StringRef role : emission.arguments)
    if (role.consume_front(resultRole))
      order = role;
  if (order.empty() && result->getType() == resultType)
    return SmallVector<Value>{*result};
  SmallVector<Value> members = membersOf(builder, loc, *result), ordered;
  SmallVector<StringRef> numbers;
  order.split(numbers, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef text : numbers) {
    size_t number;
    if (text.getAsInteger(10, number) || number >= members.size() || numbers.size() != members.size())
      return call.emitError() << "record " << record << " has the argument \"" << resultRole << order
                              << "\" in the emission \"" << emission.name << "\", whose result has " << members.size()
                              << " members; name each of them once, from 0 on";
    ordered.push_back(members[number]);
  }
  return ordered.empty() ? members : ordered;
}

FailureOr<Value> UnitEmitter::emit(const Emission &emission, Type resultType, Roles roles) {
  FailureOr<SmallVector<Value>> parts = emitParts(emission, resultType, roles);
  if (failed(parts) || !resultType)
    return failed(parts) ? FailureOr<Value>(failure()) : FailureOr<Value>(Value());
  return join(emission, *parts, resultType);
}
