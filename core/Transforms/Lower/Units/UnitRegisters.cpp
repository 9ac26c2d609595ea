//===- UnitRegisters.cpp - Register classes and states of units -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Look-ups, the calls that stage 5 makes, and the check of states.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Machine/NativeCode.h"
#include "core/Machine/RecordTypes.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

//===-- Look-ups ----------------------------------------------------------===//

/// Calls `visit` with all opaque operands of the chip's units.
static void forRegisterOperands(const TargetDescription &target,
                                function_ref<void(const MatrixUnit &, const OpaqueRegister &)> visit) {
  for (const MatrixUnit &unit : target.units())
    for (const UnitOperand *operand : {&unit.a, &unit.b, &unit.c})
      if (operand->opaque)
        visit(unit, *operand->opaque);
}

const OpaqueRegister *tilewright::findRegisterClass(const TargetDescription &target, StringRef name) {
  const OpaqueRegister *found = nullptr;
  forRegisterOperands(target, [&](const MatrixUnit &, const OpaqueRegister &each) {
    if (!found && each.name == name)
      found = &each;
  });
  return found;
}

const State *tilewright::findState(const TargetDescription &target, StringRef name) {
  for (const MatrixUnit &unit : target.units())
    for (const State &state : unit.states)
      if (state.name == name)
        return &state;
  return nullptr;
}

SmallVector<const State *> tilewright::statesOfRegisters(const TargetDescription &target, StringRef name) {
  SmallVector<const State *> states;
  forRegisterOperands(target, [&](const MatrixUnit &unit, const OpaqueRegister &each) {
    for (const State &state : unit.states)
      if (each.name == name && llvm::none_of(states, [&](const State *known) { return known->name == state.name; }))
        states.push_back(&state);
  });
  return states;
}

func::CallOp tilewright::callByName(OpBuilder &builder, Location loc, ModuleOp module, StringRef name,
                                    ValueRange operands, TypeRange results) {
  const StringAttr symbol = builder.getStringAttr(name);
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    func::FuncOp::create(builder, loc, name, builder.getFunctionType(operands.getTypes(), results)).setPrivate();
  }
  return func::CallOp::create(builder, loc, FlatSymbolRefAttr::get(symbol), results, operands);
}

//===-- Fragments ---------------------------------------------------------===//

Type tilewright::registerValueType(Location loc, tile::FragmentType type, const TargetDescription &target) {
  const OpaqueRegister *registers = findRegisterClass(target, type.getRegisters());
  if (!registers) {
    emitError(loc) << "chip " << target.target() << ":" << target.chip() << " has no unit with registers \""
                   << type.getRegisters() << "\"";
    return {};
  }
  if (!registers->masks.empty())
    return IntegerType::get(type.getContext(), 32);
  Type value = parseRecordType(registers->valueType, *type.getContext());
  if (!value)
    emitError(loc) << "registers \"" << registers->name << "\" are values of the type \"" << registers->valueType
                   << "\", which neither LLVM nor MLIR reads";
  return value;
}

namespace {
/// A call for a register of `fragment`'s class.
class RegisterCall {
public:
  RegisterCall(OpBuilder &builder, Operation *op, tile::FragmentType fragment, const TargetDescription &target,
               ModuleOp module)
      : builder(builder), op(op), fragment(fragment), module(module),
        registers(findRegisterClass(target, fragment.getRegisters())) {}

  /// Errors that leave nothing to call.
  LogicalResult check() {
    if (!registers)
      return op->emitOpError() << "the chip has no unit with registers \"" << fragment.getRegisters() << "\"";
    if (isNumbered() && fragment.getNumber() < 0)
      return op->emitOpError() << "register of \"" << fragment.getRegisters()
                               << "\" without a number; assign-tile-registers gives it one";
    return success();
  }
  bool isNumbered() const { return !registers->masks.empty(); }
  Value number() { return arith::ConstantIntOp::create(builder, op->getLoc(), fragment.getNumber(), 32); }
  /// Calls `what` with the number, if there is one, before `operands`; the fragment's value.
  Value call(StringRef what, SmallVector<Value> operands, Type valueType) {
    if (isNumbered())
      operands.insert(operands.begin(), number());
    std::string name = (registerPrefix + registers->name + "." + what).str();
    auto call = callByName(builder, op->getLoc(), module, name, operands,
                           isNumbered() || !valueType ? TypeRange() : TypeRange(valueType));
    return isNumbered() ? number() : call.getNumResults() ? call.getResult(0) : Value();
  }
  std::string withElement(StringRef what) {
    std::string text = what.str() + ".";
    llvm::raw_string_ostream(text) << fragment.getElementType();
    return text;
  }

  OpBuilder &builder;
  Operation *op;
  tile::FragmentType fragment;
  ModuleOp module;
  const OpaqueRegister *registers;
};

/// Where the rows of a register lie in memory.
struct RegisterRows {
  Value pointer, strideBytes;
};
} // namespace

/// The rows of the register in the memory of an access: each a run of consecutive addresses, all at one distance.
template <typename OpTy> static FailureOr<RegisterRows> rowsOf(RegisterCall &call, OpTy op) {
  OpBuilder &builder = call.builder;
  Location loc = op.getLoc();
  tile::FragmentType fragment = call.fragment;
  MemRefType memref = op.getMemRefType();
  auto refuse = [&](const Twine &why) {
    return op.emitOpError() << "registers \"" << fragment.getRegisters() << "\" move whole rows at one distance, but "
                            << why;
  };
  auto [validRows, validCols] = op.constantValid();
  if (!validRows || *validRows < fragment.getRows() || !validCols || *validCols < fragment.getCols())
    return refuse("`valid` leaves out a part");

  SmallVector<int64_t> strides;
  int64_t base;
  if (failed(memref.getStridesAndOffset(strides, base)))
    return refuse("the memref has no strides");
  int64_t bits = fragment.getElementType().getIntOrFloatBitWidth(), elements = fragment.getNumElements();
  int64_t perRow = std::min(call.registers->rowBytes * 8 / bits, elements);
  bool isStatic = llvm::none_of(strides, ShapedType::isDynamic);
  SmallVector<Position> positions = fragment.positions();
  auto difference = [&](int64_t from, int64_t to) {
    SmallVector<int64_t> offsets = op.offsetsOf(positions[to]);
    for (auto [offset, other] : llvm::zip(offsets, op.offsetsOf(positions[from])))
      offset -= other;
    if (!isStatic)
      return offsets;
    int64_t linear = 0;
    for (auto [offset, stride] : llvm::zip(offsets, strides))
      linear += offset * stride;
    offsets.assign(offsets.size(), 0);
    offsets.back() = linear;
    return offsets;
  };
  if (strides.empty() || strides.back() != 1)
    return refuse("the memref's last dimension is not contiguous");
  SmallVector<int64_t> next(strides.size(), 0), step(strides.size(), 0);
  next.back() = 1;
  if (elements > perRow)
    step = difference(0, perRow);
  for (int64_t element = 1; element < elements; ++element)
    if (element % perRow ? difference(element - 1, element) != next : difference(element - perRow, element) != step)
      return refuse("the elements of row " + Twine(element / perRow) + " lie elsewhere");

  // Address and distance in elements; strides that are not known come from the memref.
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> strideValues(strides.size());
  Value offset = zero;
  if (!isStatic || ShapedType::isDynamic(base)) {
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, op.getMemref());
    offset = metadata.getOffset();
    llvm::copy(metadata.getStrides(), strideValues.begin());
  }
  auto strideOf = [&](unsigned dim) -> Value {
    if (ShapedType::isDynamic(strides[dim]))
      return strideValues[dim];
    return arith::ConstantIndexOp::create(builder, loc, strides[dim]);
  };
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  auto add = [&](Value a, Value b) -> Value { return arith::AddIOp::create(builder, loc, a, b); };
  auto times = [&](Value a, Value b) -> Value { return arith::MulIOp::create(builder, loc, a, b); };
  if (!ShapedType::isDynamic(base))
    offset = constant(base);
  auto indices = affine::expandAffineMap(builder, loc, op.getMap(), op.getMapOperands());
  SmallVector<int64_t> first = op.offsetsOf(positions[0]);
  Value distance = zero;
  for (unsigned dim = 0; dim < strides.size(); ++dim) {
    offset = add(offset, times(add((*indices)[dim], constant(first[dim])), strideOf(dim)));
    if (step[dim])
      distance = add(distance, times(constant(step[dim]), isStatic ? constant(1) : strideOf(dim)));
  }
  Value bytes = constant(bits / 8);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, op.getMemref());
  address = add(address, times(offset, bytes));
  auto toInteger = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  };
  Value pointer =
      LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), toInteger(address));
  return RegisterRows{pointer, toInteger(times(distance, bytes))};
}

FailureOr<Value> tilewright::lowerRegisterZero(OpBuilder &builder, tile::ZeroOp op, const TargetDescription &target,
                                               ModuleOp module) {
  RegisterCall call(builder, op, op.getType(), target, module);
  if (failed(call.check()))
    return failure();
  return call.call("zero", {}, registerValueType(op.getLoc(), op.getType(), target));
}

FailureOr<Value> tilewright::lowerRegisterLoad(OpBuilder &builder, tile::LoadOp op, const TargetDescription &target,
                                               ModuleOp module) {
  RegisterCall call(builder, op, op.getType(), target, module);
  if (failed(call.check()))
    return failure();
  FailureOr<RegisterRows> rows = rowsOf(call, op);
  if (failed(rows))
    return failure();
  return call.call(call.withElement("fill"), {rows->pointer, rows->strideBytes},
                   registerValueType(op.getLoc(), op.getType(), target));
}

LogicalResult tilewright::lowerRegisterStore(OpBuilder &builder, tile::StoreOp op, Value value,
                                             const TargetDescription &target, ModuleOp module) {
  RegisterCall call(builder, op, op.getValue().getType(), target, module);
  if (failed(call.check()))
    return failure();
  FailureOr<RegisterRows> rows = rowsOf(call, op);
  if (failed(rows))
    return failure();
  SmallVector<Value> operands{rows->pointer, rows->strideBytes};
  if (!call.isNumbered())
    operands.insert(operands.begin(), value);
  call.call(call.withElement("store"), operands, {});
  return success();
}

//===-- States ------------------------------------------------------------===//

func::FuncOp tilewright::makeStateCheck(ModuleOp module, const TargetDescription &target) {
  SmallVector<const State *> states;
  if (module->hasAttr(nativeCodeAttr))
    return {};
  module.walk([&](tile::MmaOp op) {
    const MatrixUnit *unit = target.unit(op.getUnit());
    for (const State &state : unit ? ArrayRef(unit->states) : ArrayRef<State>())
      if (!state.check.name.empty() && llvm::none_of(states, [&](const State *s) { return s->name == state.name; }))
        states.push_back(&state);
  });
  if (states.empty())
    return {};
  MLIRContext *context = module.getContext();
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type i1 = builder.getI1Type(), i8 = builder.getI8Type(), i64 = builder.getI64Type();
  auto done = LLVM::GlobalOp::create(builder, loc, i8, /*isConstant=*/false, LLVM::Linkage::Internal,
                                     "tilewright.states_hold", builder.getI8IntegerAttr(0));
  auto function = func::FuncOp::create(builder, loc, "tilewright.check_states", builder.getFunctionType({}, {i1}));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value address = LLVM::AddressOfOp::create(builder, loc, LLVM::LLVMPointerType::get(context), done.getSymName());
  Value held = LLVM::LoadOp::create(builder, loc, i8, address);
  Value known = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, held,
                                      arith::ConstantIntOp::create(builder, loc, 0, 8));
  auto checked = scf::IfOp::create(builder, loc, TypeRange(i1), known, /*withElseRegion=*/true);
  func::ReturnOp::create(builder, loc, checked.getResult(0));
  builder.setInsertionPointToStart(checked.thenBlock());
  scf::YieldOp::create(builder, loc, known);
  builder.setInsertionPointToStart(checked.elseBlock());
  Value all = arith::ConstantIntOp::create(builder, loc, 1, 1);
  for (const State *state : states) {
    std::string name = (statePrefix + state->name + ".check").str();
    Value result = callByName(builder, loc, module, name, {}, i64).getResult(0);
    Value wanted = arith::ConstantIntOp::create(builder, loc, state->checkValue, 64);
    Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, result, wanted);
    all = arith::AndIOp::create(builder, loc, all, holds);
  }
  Value flag = arith::ExtUIOp::create(builder, loc, i8, all);
  LLVM::StoreOp::create(builder, loc, flag, address);
  scf::YieldOp::create(builder, loc, all);
  return function;
}
