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

#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Lower/Units/UnitEmission.h"
#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EMITUNITS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace tilewright;

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
static Value toScalable(UnitEmitter &emitter, Value value, int64_t scale, Type storage) {
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

static FailureOr<Value> emitUnit(UnitEmitter &emitter, const MatrixUnit &unit) {
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
      int64_t count = UnitEmitter::bitsOf(value.getType()) / UnitEmitter::bitsOf(storage);
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
static FailureOr<Value> emitRegister(UnitEmitter &emitter, const OpaqueRegister &registers, StringRef what,
                                     int64_t scale) {
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
  auto vectorType = [&] { return VectorType::get({registers.rowBytes * 8 / UnitEmitter::bitsOf(element)}, element); };
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

/// A unit on described matrices (descriptor and whether lines run along k, for A and B, then C; registers for an A that
/// lies there): the target's own op.
static FailureOr<Value> emitDescribed(LLVM::CallOp call, const MatrixUnit &unit) {
  auto ops = laneOpsOf(call);
  if (!ops)
    return LogicalResult(call.emitError() << llvm::toString(ops.takeError()));
  auto isOne = [&](unsigned i) { return matchPattern(call.getArgOperands()[i], m_One()); };
  OpBuilder builder(call);
  auto operands = call.getArgOperands();
  const bool describesA = unit.a.residence == Residence::Scratchpad;
  const unsigned b = describesA ? 2 : 1;
  Value result;
  if (operands.size() == b + 3)
    result = (*ops)->emitUnit(builder, call.getLoc(), unit, operands[0], !describesA || isOne(1), operands[b],
                              isOne(b + 1), operands[b + 2]);
  if (!result)
    return call.emitError() << "unit " << unit.name << " cannot be emitted: expected "
                            << (describesA ? "descriptors of A and B, each with "
                                           : "registers of A, the descriptor of B with ")
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
      if (readsScratchpad(*unit))
        return emitDescribed(call, *unit);
      UnitEmitter emitter(call, name);
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
      UnitEmitter emitter(call, registerName);
      return emitRegister(emitter, *registers, action, scaleOf(states));
    }
    name.consume_front(statePrefix);
    auto [stateName, action] = name.rsplit('.');
    const State *state = findState(target, stateName);
    if (!state)
      return call.emitError() << "chip " << chip << " has no unit with the state \"" << stateName << "\"";
    const Emission &emission = action == "check" ? state->check : action == "enter" ? state->enter : state->leave;
    UnitEmitter emitter(call, stateName);
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
      auto target = requireTarget(module);
      if (failed(target))
        return signalPassFailure();
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
