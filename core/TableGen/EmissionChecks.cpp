//===- EmissionChecks.cpp - Emissions tried before they are used ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes each emission of a unit, of the moves of its registers and of its
/// states once, by the code that the compiler writes them with, on the types that a
/// program has:
///
///   %a = any vector<4xf32>, %c = any vector<512xi1>
///   llvm.call @call(%a, %a, %c)                          in place of this, the emission
///
/// They are verified and translated to LLVM IR, so that what the compiler would
/// refuse later is an error of the record, at the field that it comes from.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/IrFunction.h"
#include "core/Machine/RecordTypes.h"
#include "core/TableGen/RecordReader.h"
#include "core/Transforms/Lower/Units/RecordEmission.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using llvm::formatv;

namespace {
/// The trials of one unit.
class Trial {
public:
  Trial(const MatrixUnit &unit) : unit(unit), context(registry(), MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadAllAvailableDialects();
  }
  std::vector<std::string> run();

private:
  using Emit = llvm::function_ref<FailureOr<Value>(UnitEmitter &)>;
  static DialectRegistry registry() {
    DialectRegistry registry;
    ShippedFunctions::registerDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    return registry;
  }
  Type vectorType(const UnitOperand &operand, int64_t count);
  Type typeOf(const UnitOperand &operand, const UnitOperand &other);
  bool isKnown(const Emission &emission);
  void attempt(const std::string &field, const Emission &emission, ArrayRef<Type> operands, Type result, Emit emit);
  void tryRegister(const std::string &field, const UnitOperand &operand);
  void tryStates();

  const MatrixUnit &unit;
  MLIRContext context;
  OpBuilder builder;
  ShippedFunctions functions;
  std::vector<std::string> messages;
};
} // namespace

/// `count` elements of `operand` as stage 5 has them: floats of fewer than 16 bits as integers.
Type Trial::vectorType(const UnitOperand &operand, int64_t count) {
  unsigned width = bitWidth(operand.element);
  Type element = builder.getIntegerType(width);
  if (operand.element == ElementKind::BF16)
    element = builder.getBF16Type();
  else if (isFloat(operand.element) && width >= 16)
    element = width == 64 ? builder.getF64Type() : width == 32 ? Type(builder.getF32Type()) : builder.getF16Type();
  return VectorType::get({count}, element);
}

/// What a unit's call has for `operand`; null for one in a memory.
Type Trial::typeOf(const UnitOperand &operand, const UnitOperand &other) {
  switch (operand.residence) {
  case Residence::Scratchpad:
  case Residence::Accumulator:
    return {};
  case Residence::OpaqueRegister:
    return operand.opaque->masks.empty() ? parseRecordType(operand.opaque->valueType, context)
                                         : Type(builder.getI32Type());
  case Residence::BroadcastScalar:
    return vectorType(operand, std::max(operand.layout.numElements(), other.layout.numElements()));
  default:
    return vectorType(operand, operand.layout.numElements());
  }
}

/// Whether this program can write `emission`: ops of the target's own dialects are only in its plugin.
bool Trial::isKnown(const Emission &emission) {
  return !emission.name.empty() &&
         (emission.kind != EmissionKind::MlirOp || OperationName(emission.name, &context).getDialect());
}

/// Writes one emission on values of the types `operands`; numbers of registers, of i32, are constants.
void Trial::attempt(const std::string &field, const Emission &emission, ArrayRef<Type> operands, Type result,
                    Emit emit) {
  if (!isKnown(emission))
    return;
  std::string found;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && found.empty())
      found = diagnostic.str();
    return success();
  });
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&context), {});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, "f", type);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  bool hasRegisters = unit.a.opaque || unit.b.opaque || unit.c.opaque;
  SmallVector<Value> values;
  for (Type each : operands)
    if (each.isInteger(32) && hasRegisters)
      values.push_back(LLVM::ConstantOp::create(builder, loc, each, builder.getI32IntegerAttr(0)));
    else // some types of registers are none of parameters, or of constants
      values.push_back(LLVM::FreezeOp::create(builder, loc, LLVM::PoisonOp::create(builder, loc, each)));
  auto call = LLVM::CallOp::create(builder, loc, result ? TypeRange(result) : TypeRange(), "call", values);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  UnitEmitter emitter(call, unit.name, functions);
  FailureOr<Value> written = emit(emitter);
  bool sound = succeeded(written);
  if (sound) {
    call.erase();
    sound = succeeded(verify(*module));
  }
  llvm::LLVMContext llvmContext;
  std::string broken;
  llvm::raw_string_ostream os(broken);
  if (sound) {
    auto code = translateModuleToLLVMIR(*module, llvmContext, "record", /*disableVerification=*/true);
    sound = code && !llvm::verifyModule(*code, &os);
  }
  StringRef what = found.empty() ? StringRef(broken).trim() : StringRef(found);
  what.consume_front("record " + unit.name + " ");
  if (!sound)
    messages.push_back(formatv("field '{0}' {1}", field, what));
}

/// The moves of the register that `operand` lives in.
void Trial::tryRegister(const std::string &field, const UnitOperand &operand) {
  const OpaqueRegister &registers = *operand.opaque;
  if (registers.slices == Slices::Column)
    return;
  bool numbered = !registers.masks.empty();
  Type value = numbered ? Type(builder.getI32Type()) : typeOf(operand, operand), none;
  Type pointer = LLVM::LLVMPointerType::get(&context), stride = builder.getI64Type();
  std::string element;
  llvm::raw_string_ostream(element) << cast<VectorType>(vectorType(operand, 1)).getElementType();
  auto moves = [&](const std::string &what) {
    return [&registers, this, what](UnitEmitter &emitter) {
      return emitRegister(emitter, registers, what, scaleOf(unit.states));
    };
  };
  SmallVector<Type> number(numbered ? ArrayRef(value) : ArrayRef<Type>());
  SmallVector<Type> place = number, stored{value, pointer, stride};
  place.append({pointer, stride});
  auto fieldOf = [&](const char *move) -> std::string {
    return formatv("{0}' of the register '{1}' of field '{2}", move, registers.name, field);
  };
  attempt(fieldOf("zero"), registers.zero, number, numbered ? none : value, moves("zero"));
  attempt(fieldOf("fill"), registers.fill, place, numbered ? none : value, moves("fill." + element));
  bool reads = registers.store.name.empty();
  attempt(fieldOf(reads ? "read" : "store"), reads ? registers.read : registers.store, stored, none,
          moves("store." + element));
}

void Trial::tryStates() {
  auto plain = [](StringRef, Type) { return Value(); };
  for (const State &state : unit.states)
    for (auto [field, emission] :
         {std::pair("enter", &state.enter), std::pair("leave", &state.leave), std::pair("check", &state.check)}) {
      Type result = field == StringRef("check") ? Type(builder.getI64Type()) : Type();
      attempt(formatv("{0}' of the state '{1}", field, state.name), *emission, {}, result,
              [&](UnitEmitter &emitter) { return emitter.emit(*emission, result, plain); });
    }
}

std::vector<std::string> Trial::run() {
  SmallVector<Type> operands{typeOf(unit.a, unit.b), typeOf(unit.b, unit.a), typeOf(unit.c, unit.b)};
  for (const UnitOperand *beside : unit.besides())
    operands.push_back(typeOf(*beside, *beside));
  bool inPlace = unit.c.opaque && !unit.c.opaque->masks.empty();
  if (llvm::all_of(operands, [](Type type) { return type != nullptr; }))
    attempt("emit", unit.emit, operands, inPlace ? Type() : operands[2],
            [&](UnitEmitter &emitter) { return emitUnit(emitter, unit); });
  for (auto [field, operand] : {std::pair("a", &unit.a), std::pair("b", &unit.b), std::pair("c", &unit.c)})
    if (operand->opaque)
      tryRegister(field, *operand);
  tryStates();
  return std::move(messages);
}

std::vector<std::string> tablegen::checkEmissions(const MatrixUnit &unit) { return Trial(unit).run(); }
