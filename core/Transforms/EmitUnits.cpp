//===- EmitUnits.cpp - Calls of matrix units become instructions ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replaces each call of `@tilewright.unit.<record>`, and those that move
/// fragments in tile registers or enter states (UnitRegisters.h), by the emission
/// of its record: an op, an LLVM intrinsic, inline assembly, or an external
/// function.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "core/Transforms/UnitRegisters.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Target/LLVMIR/TypeFromLLVM.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EMITUNITS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

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

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (!type || value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(builder, loc, type, value);
}

namespace {
/// Emits one record in place of a call.
class Emitter {
public:
  using Roles = function_ref<Value(StringRef role, Type wanted)>;
  Emitter(LLVM::CallOp call, StringRef record) : call(call), record(record), builder(call), loc(call.getLoc()) {}

  /// Emits `emission`; `resultType` is null where it gives nothing. `roles` gives the operand of a role, of the type
  /// `wanted` if that is not null; null if it does not know the role.
  FailureOr<Value> emit(const Emission &emission, Type resultType, Roles roles);

  /// What `role` names: one of `roles`, a constant "i32:7", or data.
  Value operandOf(StringRef role, Type wanted, Roles roles);
  Value constant(Type type, int64_t value) {
    if (auto vector = dyn_cast<VectorType>(type)) {
      auto element = builder.getIntegerAttr(vector.getElementType(), value);
      return LLVM::ConstantOp::create(builder, loc, type, SplatElementsAttr::get(vector, element));
    }
    return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  }
  Value constant(unsigned width, int64_t value) { return constant(builder.getIntegerType(width), value); }

  /// Bits of an LLVM scalar or vector type; 0 if unknown.
  static int64_t bitsOf(Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.getNumElements() * bitsOf(vector.getElementType());
    return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  }

  LLVM::CallOp call;
  StringRef record;
  OpBuilder builder;
  Location loc;

private:
  void appendPieces(Value value, ArrayRef<Type> parameters, SmallVectorImpl<Value> &operands);
  Value joinPieces(Value result, Type type);
  Value data(StringRef digits);
};
} // namespace

Value Emitter::operandOf(StringRef role, Type wanted, Roles roles) {
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
Value Emitter::data(StringRef digits) {
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
void Emitter::appendPieces(Value value, ArrayRef<Type> parameters, SmallVectorImpl<Value> &operands) {
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
Value Emitter::joinPieces(Value result, Type type) {
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

FailureOr<Value> Emitter::emit(const Emission &emission, Type resultType, Roles roles) {
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

//===-- Scalable vectors --------------------------------------------------===//

/// How many times the smallest length the scalable vectors are in a function of these states; 1 without such a state.
static int64_t scaleOf(ArrayRef<State> states) {
  for (const State &state : states)
    for (StringRef attribute : state.attributes) {
      int64_t scale;
      if (attribute.consume_front("vscale_range=") && !attribute.split(',').first.getAsInteger(10, scale) && scale > 0)
        return scale;
    }
  return 1;
}

static VectorType scalableType(VectorType fixed, int64_t scale) {
  return VectorType::get({fixed.getNumElements() / scale}, fixed.getElementType(), {true});
}

/// A vector of fixed length as a scalable one of the same bits, carried as `storage` where that is not null.
static Value toScalable(Emitter &emitter, Value value, int64_t scale, Type storage) {
  auto fixed = cast<VectorType>(value.getType());
  OpBuilder &b = emitter.builder;
  Type element = fixed.getElementType();
  if (storage) {
    fixed = VectorType::get(fixed.getShape(), storage);
    value = castTo(b, emitter.loc, value, fixed);
  }
  VectorType scalable = scalableType(fixed, scale);
  Value result = LLVM::PoisonOp::create(b, emitter.loc, scalable);
  result = LLVM::vector_insert::create(b, emitter.loc, scalable, result, value, 0);
  return storage ? castTo(b, emitter.loc, result, VectorType::get(scalable.getShape(), element, {true})) : result;
}

//===-- Units -------------------------------------------------------------===//

static FailureOr<Value> emitUnit(Emitter &emitter, const MatrixUnit &unit) {
  const UnitOperand *operands[] = {&unit.a, &unit.b, &unit.c};
  LLVM::CallOp call = emitter.call;
  int64_t scale = scaleOf(unit.states);
  auto roles = [&](StringRef role, Type wanted) -> Value {
    if (role == "A" || role == "B" || role == "C") {
      const UnitOperand &operand = *operands[role[0] - 'A'];
      Value value = call.getArgOperands()[role[0] - 'A'];
      Type storage = operand.storage.empty() ? Type() : parseType(operand.storage, call.getContext());
      if (operand.scalable)
        return toScalable(emitter, value, scale, storage);
      // The type that its record carries it in, where the emission does not say one.
      if (!storage || wanted || operand.residence != Residence::LaneRegisters)
        return value;
      int64_t count = Emitter::bitsOf(value.getType()) / Emitter::bitsOf(storage);
      return castTo(emitter.builder, emitter.loc, value, VectorType::get(count, storage));
    }
    APInt number;
    if (role.size() == 5 && role.starts_with("Tile") && role[4] >= 'A' && role[4] <= 'C' &&
        matchPattern(call.getArgOperands()[role[4] - 'A'], m_ConstantInt(&number)))
      return emitter.constant(wanted ? wanted : emitter.builder.getI32Type(), number.getSExtValue());
    // Fragments come whole, padded with zeros: all that a unit could leave out counts as valid.
    bool valid = role == "ValidM" || role == "ValidN" || role == "ValidK" || role == "AllTrue";
    if (valid && wanted)
      return emitter.constant(wanted, 1);
    if (valid && (unit.a.scalable || unit.b.scalable)) {
      const UnitOperand &operand = role == "ValidN" ? unit.b : unit.a;
      return emitter.constant(
          VectorType::get({operand.layout.numElements() / scale}, emitter.builder.getI1Type(), {true}), 1);
    }
    return {};
  };
  Type result = call.getNumResults() ? call.getResult().getType() : Type();
  return emitter.emit(unit.emit, result, roles);
}

//===-- Tile registers ----------------------------------------------------===//

/// Emits one of zero, fill.<element>, store.<element> of a register class.
static FailureOr<Value> emitRegister(Emitter &emitter, const OpaqueRegister &registers, StringRef what, int64_t scale) {
  LLVM::CallOp call = emitter.call;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc;
  auto [action, elementName] = what.split('.');
  SmallVector<Value> operands(call.getArgOperands());
  APInt number;
  Value tile; // of an unnumbered register
  bool numbered = !registers.masks.empty();
  if (numbered && (operands.empty() || !matchPattern(operands.front(), m_ConstantInt(&number)) ||
                   number.getZExtValue() >= registers.masks.size()))
    return call.emitError() << "needs the number of one of " << registers.masks.size() << " registers \""
                            << registers.name << "\"";
  if (numbered || action == "store") {
    tile = numbered ? Value() : operands.front();
    operands.erase(operands.begin());
  }
  Type element = elementName.empty() ? Type() : parseType(elementName, call.getContext());
  Type resultType = call.getNumResults() ? call.getResult().getType() : Type();
  Value base = operands.empty() ? Value() : operands[0], stride = operands.size() < 2 ? Value() : operands[1];

  // The address of a slice and, for emissions that take or give vectors, its elements.
  Value pointer = base;
  int64_t slice = 0;
  auto vectorType = [&] { return VectorType::get({registers.rowBytes * 8 / Emitter::bitsOf(element)}, element); };
  auto roles = [&](StringRef role, Type wanted) -> Value {
    auto integer = [&](unsigned width, int64_t value) {
      return emitter.constant(wanted ? wanted : Type(b.getIntegerType(width)), value);
    };
    if (role == "Tile" && tile)
      return tile;
    if (role == "Tile" && numbered)
      return integer(32, number.getZExtValue());
    if (role == "MaskUnion" && numbered)
      return integer(32, registers.masks[number.getZExtValue()]);
    if (role == "Rows")
      return integer(16, registers.rows);
    if (role == "RowBytes")
      return integer(16, registers.rowBytes);
    if (role == "Slice")
      return integer(32, slice);
    if (role == "Stride")
      return stride;
    if (role == "Ptr")
      return pointer;
    if (role == "AllTrue" || role == "ValidRow")
      return wanted || !element
                 ? integer(1, 1)
                 : emitter.constant(scalableType(VectorType::get(vectorType().getShape(), b.getI1Type()), scale), 1);
    if (role == "Zero" && element)
      return LLVM::ZeroOp::create(b, loc, scalableType(vectorType(), scale));
    if (role == "Vec" && element) {
      Value row = LLVM::LoadOp::create(b, loc, vectorType(), pointer, /*alignment=*/1);
      return scale > 1 ? toScalable(emitter, row, scale, {}) : row;
    }
    return {};
  };
  if (action == "zero")
    return emitter.emit(registers.zero, resultType, roles);
  bool fills = action == "fill", reads = !fills && registers.store.name.empty();
  const Emission &emission = fills ? registers.fill : reads ? registers.read : registers.store;
  if (emission.name.empty())
    return call.emitError() << "registers \"" << registers.name << "\" have no emission to "
                            << (fills ? "fill" : "store") << " them";
  if (registers.slices == Slices::Column)
    return call.emitError() << "registers \"" << registers.name
                            << "\" move by columns; only rows and whole ones do here";
  Value result;
  for (slice = 0; slice < (registers.slices == Slices::Whole ? 1 : registers.rows); ++slice) {
    if (slice > 0)
      pointer = LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{stride});
    FailureOr<Value> emitted =
        emitter.emit(emission, reads ? Type(scalableType(vectorType(), scale)) : resultType, roles);
    if (failed(emitted))
      return failure();
    result = *emitted;
    if (reads) {
      Value row = LLVM::vector_extract::create(b, loc, vectorType(), result, 0);
      LLVM::StoreOp::create(b, loc, row, pointer, /*alignment=*/1);
    }
  }
  return result;
}

//===-- Pass --------------------------------------------------------------===//

/// Gives the function around a unit what its states set.
static void setAttributes(LLVM::LLVMFuncOp function, ArrayRef<State> states) {
  Builder builder(function.getContext());
  for (const State &state : states)
    for (StringRef text : state.attributes) {
      auto [name, value] = text.split('=');
      if (name == "vscale_range") {
        auto [least, most] = value.split(',');
        int32_t from = 1, to = 1;
        least.getAsInteger(10, from);
        if (most.getAsInteger(10, to))
          to = from;
        function.setVscaleRangeAttr(LLVM::VScaleRangeAttr::get(function.getContext(), builder.getI32IntegerAttr(from),
                                                               builder.getI32IntegerAttr(to)));
        continue;
      }
      if (value.empty() && llvm::is_contained(LLVM::LLVMFuncOp::getAttributeNames(), name)) {
        function->setAttr(name, builder.getUnitAttr());
        continue;
      }
      SmallVector<Attribute> all;
      if (auto known = function.getPassthroughAttr())
        llvm::append_range(all, known);
      Attribute one = builder.getStringAttr(name);
      if (!value.empty())
        one = builder.getStrArrayAttr({name, value});
      if (!llvm::is_contained(all, one))
        all.push_back(one);
      function.setPassthroughAttr(builder.getArrayAttr(all));
    }
}

/// A unit on described matrices (descriptor and whether lines run along k, for A and B, then C): the target's own op.
static FailureOr<Value> emitDescribed(LLVM::CallOp call, const MatrixUnit &unit) {
  auto ops = laneOpsOf(call);
  if (!ops)
    return LogicalResult(call.emitError() << llvm::toString(ops.takeError()));
  auto isOne = [&](unsigned i) { return matchPattern(call.getArgOperands()[i], m_One()); };
  OpBuilder builder(call);
  auto operands = call.getArgOperands();
  Value result;
  if (operands.size() == 5)
    result = (*ops)->emitUnit(builder, call.getLoc(), unit, operands[0], isOne(1), operands[2], isOne(3), operands[4]);
  if (!result)
    return call.emitError() << "unit " << unit.name << " cannot be emitted: expected descriptors of A and B, each with "
                            << "its order, C, and an operation of the target for it";
  return result;
}

namespace {
struct EmitUnits : tilewright::impl::EmitUnitsBase<EmitUnits> {
  /// Some units are ops of the targets' dialects.
  void getDependentDialects(DialectRegistry &registry) const override {
    EmitUnitsBase::getDependentDialects(registry);
    for (const Target *target : TargetRegistry::get().targets())
      target->registerDialects(registry);
  }

  /// Emits the record that `call` names.
  FailureOr<Value> emit(LLVM::CallOp call, const TargetDescription &target) {
    StringRef name = *call.getCallee();
    std::string chip = (target.target() + ":" + target.chip()).str();
    if (name.consume_front(unitPrefix)) {
      const MatrixUnit *unit = target.unit(name);
      if (!unit)
        return call.emitError() << "chip " << chip << " has no unit \"" << name << "\"";
      setAttributes(call->getParentOfType<LLVM::LLVMFuncOp>(), unit->states);
      if (unit->a.residence == Residence::Scratchpad)
        return emitDescribed(call, *unit);
      Emitter emitter(call, name);
      return emitUnit(emitter, *unit);
    }
    if (name.consume_front(registerPrefix)) {
      auto [registerName, action] = name.split('.');
      const OpaqueRegister *registers = findRegisterClass(target, registerName);
      if (!registers)
        return call.emitError() << "chip " << chip << " has no unit with registers \"" << registerName << "\"";
      std::vector<State> states;
      for (const State *state : statesOfRegisters(target, registerName))
        states.push_back(*state);
      Emitter emitter(call, registerName);
      return emitRegister(emitter, *registers, action, scaleOf(states));
    }
    name.consume_front(statePrefix);
    auto [stateName, action] = name.rsplit('.');
    const State *state = findState(target, stateName);
    if (!state)
      return call.emitError() << "chip " << chip << " has no unit with the state \"" << stateName << "\"";
    const Emission &emission = action == "check" ? state->check : action == "enter" ? state->enter : state->leave;
    Emitter emitter(call, stateName);
    return emitter.emit(emission, call.getNumResults() ? call.getResult().getType() : Type(),
                        [](StringRef, Type) { return Value(); });
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto isOurs = [](StringRef name) {
      return name.starts_with(unitPrefix) || name.starts_with(registerPrefix) || name.starts_with(statePrefix);
    };
    SmallVector<LLVM::CallOp> calls;
    module.walk([&](LLVM::CallOp call) {
      if (call.getCallee() && isOurs(*call.getCallee()))
        calls.push_back(call);
    });
    if (!calls.empty()) {
      auto target = targetOf(module);
      if (!target) {
        module.emitError() << llvm::toString(target.takeError());
        return signalPassFailure();
      }
      for (LLVM::CallOp call : calls) {
        FailureOr<Value> result = emit(call, **target);
        if (failed(result))
          return signalPassFailure();
        if (call.getNumResults())
          call.getResult().replaceAllUsesWith(*result);
        call.erase();
      }
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (isOurs(function.getName()) && function.isExternal())
        function.erase();
  }
};
} // namespace
