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
#include "mlir/AsmParser/AsmParser.h"
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

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (!type || value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(builder, loc, type, value);
}

namespace {
/// Emits one unit in place of a call.
class UnitEmitter {
public:
  UnitEmitter(LLVM::CallOp call, const MatrixUnit &unit) : call(call), unit(unit), builder(call), loc(call.getLoc()) {}

  /// The value of the call's result.
  FailureOr<Value> emit() {
    const UnitOperand *operands[] = {&unit.a, &unit.b, &unit.c};
    SmallVector<Value> values;
    for (auto [value, operand] : llvm::zip(call.getArgOperands(), operands)) {
      FailureOr<Value> filled = fill(value, *operand);
      if (failed(filled))
        return failure();
      values.push_back(*filled);
    }
    Type resultType = unit.c.opaque ? values[2].getType() : call.getResult().getType();
    FailureOr<Value> result = emit(unit.emit, resultType, [&](StringRef role) -> Value {
      return role == "A" || role == "B" || role == "C" ? values[role[0] - 'A'] : Value();
    });
    if (failed(result) || !unit.c.opaque)
      return result;
    return read(*result, call.getResult().getType(), *unit.c.opaque);
  }

private:
  using Roles = function_ref<Value(StringRef)>;

  //===-- One emission ----------------------------------------------------===//

  /// The operand that `role` names: one of `roles`, or a constant "i32:7"; null if it names none.
  Value operandOf(StringRef role, Roles roles) {
    if (Value value = roles(role))
      return value;
    auto [type, text] = role.split(':');
    unsigned width;
    int64_t value;
    if (!type.consume_front("i") || type.getAsInteger(10, width) || text.getAsInteger(10, value))
      return {};
    return constant(width, value);
  }
  Value constant(unsigned width, int64_t value) {
    Type integer = builder.getIntegerType(width);
    return LLVM::ConstantOp::create(builder, loc, integer, builder.getIntegerAttr(integer, value));
  }

  /// Bits of an LLVM scalar or vector type; 0 if unknown.
  static int64_t bitsOf(Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.getNumElements() * bitsOf(vector.getElementType());
    return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  }

  /// Appends `value` as the next parameters: whole, or where the emission takes registers one by one, in as many pieces
  /// as its bits fill.
  void appendPieces(Value value, ArrayRef<Type> parameters, SmallVectorImpl<Value> &operands) {
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
  Value joinPieces(Value result, Type type) {
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

  /// An operand in the type that its record carries it in, where the emission does not say one.
  Value carried(Value value, StringRef role) {
    const UnitOperand *operand = role == "A" ? &unit.a : role == "B" ? &unit.b : role == "C" ? &unit.c : nullptr;
    if (!operand || operand->storage.empty() || operand->residence != Residence::LaneRegisters)
      return value;
    Type type = parseType(operand->storage, call.getContext());
    int64_t count = bitsOf(value.getType()) / bitsOf(type);
    return castTo(builder, loc, value, VectorType::get(count, type));
  }

  /// Emits `emission`; `resultType` is null where it gives nothing.
  FailureOr<Value> emit(const Emission &emission, Type resultType, Roles roles) {
    Signature signature;
    if (emission.kind == EmissionKind::LlvmIntrinsic) {
      FailureOr<Signature> found = signatureOf(emission.name, call.getContext());
      if (failed(found))
        return call.emitError() << "record " << unit.name << " names the intrinsic \"" << emission.name
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
      Value operand = operandOf(role, roles);
      if (!operand)
        return call.emitError() << "record " << unit.name << " has the argument \"" << role << "\" in the emission \""
                                << emission.name << "\", which is neither an operand nor a constant such as i32:0";
      if (operands.size() < signature.parameters.size())
        appendPieces(operand, signature.parameters, operands);
      else
        operands.push_back(carried(operand, role));
    }
    if (signature.result && signature.parameters.size() != operands.size())
      return call.emitError() << "record " << unit.name << " gives " << operands.size() << " arguments to \""
                              << emission.name << "\", which takes " << signature.parameters.size();

    switch (emission.kind) {
    case EmissionKind::MlirOp: {
      OperationName name(emission.name, call.getContext());
      if (!name.isRegistered())
        return call.emitError() << "record " << unit.name << " names the op \"" << emission.name
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
      auto instructions = LLVM::InlineAsmOp::create(
          builder, loc, resultType ? TypeRange(resultType) : TypeRange(), operands, assembly, constraints,
          /*has_side_effects=*/!resultType, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
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

  //===-- Opaque registers ------------------------------------------------===//

  /// Memory for one register, in the entry block so that a loop does not grow the stack.
  Value slot(const OpaqueRegister &tile, Type type) {
    OpBuilder entry = OpBuilder::atBlockBegin(&call->getParentOfType<LLVM::LLVMFuncOp>().front());
    auto pointer = LLVM::LLVMPointerType::get(call.getContext());
    Value one = LLVM::ConstantOp::create(entry, loc, entry.getI64Type(), entry.getI64IntegerAttr(1));
    return LLVM::AllocaOp::create(entry, loc, pointer, type, one, /*alignment=*/64);
  }

  Value registerRole(StringRef role, const OpaqueRegister &tile, Value pointer, Value value) {
    if (role == "Rows")
      return constant(16, tile.rows);
    if (role == "RowBytes")
      return constant(16, tile.rowBytes);
    if (role == "Stride")
      return constant(64, tile.rowBytes);
    if (role == "Ptr")
      return pointer;
    if (role == "Tile")
      return value;
    return {};
  }

  LogicalResult checkRegister(const OpaqueRegister &tile, const Emission &emission, StringRef what) {
    if (tile.masks.empty() && tile.slices == Slices::Whole && !emission.name.empty())
      return success();
    return call.emitError() << "unit " << unit.name << ": operands in registers \"" << tile.name << "\" need "
                            << (tile.masks.empty() ? "an emission that moves a whole register"
                                                   : "an assignment of numbers")
                            << " to " << what << "; emit-units handles unnumbered registers moved whole";
  }

  /// The register that holds the elements of the vector `value`, through memory in the register's own order, which is
  /// the order of its layout.
  FailureOr<Value> fill(Value value, const UnitOperand &operand) {
    if (!operand.opaque)
      return value;
    const OpaqueRegister &tile = *operand.opaque;
    if (failed(checkRegister(tile, tile.fill, "fill them")))
      return failure();
    Type type = parseType("!llvm." + tile.valueType, call.getContext());
    if (!type)
      return call.emitError() << "record " << tile.name << " names the type \"" << tile.valueType
                              << "\", which LLVM does not have";
    Value pointer = slot(tile, value.getType());
    LLVM::StoreOp::create(builder, loc, value, pointer);
    return emit(tile.fill, type, [&](StringRef role) { return registerRole(role, tile, pointer, {}); });
  }

  FailureOr<Value> read(Value value, Type type, const OpaqueRegister &tile) {
    if (failed(checkRegister(tile, tile.store, "store them")))
      return failure();
    Value pointer = slot(tile, type);
    if (failed(emit(tile.store, {}, [&](StringRef role) { return registerRole(role, tile, pointer, value); })))
      return failure();
    return LLVM::LoadOp::create(builder, loc, type, pointer).getResult();
  }

  LLVM::CallOp call;
  const MatrixUnit &unit;
  OpBuilder builder;
  Location loc;
};
} // namespace

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
        FailureOr<Value> result = UnitEmitter(call, *unit).emit();
        if (failed(result))
          return signalPassFailure();
        call.getResult().replaceAllUsesWith(*result);
        call.erase();
      }
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (function.getName().starts_with(prefix) && function.isExternal())
        function.erase();
  }
};
} // namespace
