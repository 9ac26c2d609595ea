//===- IntrinsicChecks.cpp - Emissions against LLVM's signatures ----------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A record that emits an LLVM intrinsic is compared with the signature that
/// LLVM itself has: number of arguments, and for those of fixed type the number
/// and width of the elements.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/RecordChecks.h"
#include "core/TableGen/RecordReader.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

/// Bits of operand `operand` as one thread gives it: a broadcast group fills the vector that `other` has, lanes have
/// their share.
static int64_t bitsOf(const UnitOperand &operand, const UnitOperand &other) {
  if (operand.residence == Residence::LaneRegisters)
    return operand.layout.numElements() * bitWidth(operand.element);
  const UnitOperand &shape = operand.residence == Residence::BroadcastScalar ? other : operand;
  return shape.rows * shape.cols * bitWidth(operand.element);
}

/// As a record writes it.
static std::string typeName(llvm::Type &type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

std::vector<std::string> tablegen::checkIntrinsic(const MatrixUnit &unit) {
  std::vector<std::string> messages;
  if (unit.emit.kind != EmissionKind::LlvmIntrinsic)
    return messages;
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(unit.emit.name);
  if (id == llvm::Intrinsic::not_intrinsic) {
    messages.push_back(formatv("field 'emit' names '{0}', which is no intrinsic of this LLVM", unit.emit.name));
    return messages;
  }
  if (llvm::Intrinsic::isOverloaded(id))
    return messages; // its types follow from the operands
  llvm::LLVMContext context;
  llvm::FunctionType *type = llvm::Intrinsic::getType(context, id);
  auto width = [&](unsigned parameter) -> int64_t {
    return type->getParamType(parameter)->getPrimitiveSizeInBits().getKnownMinValue();
  };
  unsigned next = 0; // parameter
  for (llvm::StringRef role : unit.emit.arguments) {
    if (role.starts_with("result:")) // says how the result lies, and is no argument
      continue;
    unsigned first = next++;
    if (first >= type->getNumParams())
      continue;
    bool isA = role == "A", isB = role == "B", isC = role == "C";
    if (!isA && !isB && !isC)
      continue;
    const UnitOperand &operand = isA ? unit.a : isB ? unit.b : unit.c;
    const char *field = isA ? "a" : isB ? "b" : "c";
    if (operand.residence == Residence::OpaqueRegister || operand.scalable)
      continue;
    // Several registers are given one by one: as many parameters as their bits fill.
    int64_t bits = bitsOf(operand, isA ? unit.b : unit.a), taken = width(first);
    while (operand.residence != Residence::BroadcastScalar && taken < bits && next < type->getNumParams() &&
           width(next) == width(first) && width(first))
      taken += width(next++);
    llvm::Type *scalar = type->getParamType(first)->getScalarType();
    if (width(first) && bits != taken)
      messages.push_back(formatv("field '{0}' has {1} bits, but the argument of '{2}' in field 'emit' has {3}", field,
                                 bits, unit.emit.name, taken));
    bool packed = operand.residence == Residence::LaneRegisters && scalar->isIntegerTy(); // registers are plain bits
    if (width(first) && isFloat(operand.element) != scalar->isFloatingPointTy() && operand.storage.empty() && !packed)
      messages.push_back(formatv("field '{0}' holds {1}, but the argument of '{2}' in field 'emit' holds {3}; if these "
                                 "are the same bits, say so by the operand's 'storage', such as \"{4}\"",
                                 field, elementName(operand.element), unit.emit.name,
                                 isFloat(operand.element) ? "integers" : "floats", typeName(*scalar)));
  }
  if (type->getNumParams() != next)
    messages.push_back(formatv("field 'emit' gives '{0}' {1} arguments, LLVM's intrinsic has {2}", unit.emit.name, next,
                               type->getNumParams()));
  return messages;
}

std::vector<std::string> tablegen::checkIntrinsic(const ChipTable &chip, const MatrixUnit &unit) {
  std::vector<std::string> messages;
  llvm::Intrinsic::ID id = unit.emit.kind == EmissionKind::LlvmIntrinsic
                               ? llvm::Intrinsic::lookupIntrinsicID(unit.emit.name)
                               : llvm::Intrinsic::ID(llvm::Intrinsic::not_intrinsic);
  const Memory *file = memoryOfRole(chip, MemoryRole::VectorRegisters);
  if (!file || file->entryBytes < 1 || id == llvm::Intrinsic::not_intrinsic || !llvm::Intrinsic::isOverloaded(id) ||
      !llvm::Intrinsic::isTargetIntrinsic(id))
    return messages;
  for (const auto &[field, operand] : {std::pair("a", &unit.a), std::pair("b", &unit.b), std::pair("c", &unit.c)})
    if (int64_t bits = bitsOf(*operand, *operand);
        operand->residence == Residence::VectorRegister && !operand->scalable && bits > 8 * file->entryBytes)
      messages.push_back(formatv("unit '{0}': field '{1}' has {2} bits, but '{3}' in field 'emit' is an instruction on "
                                 "registers, and those of '{4}' have {5} bits; make the unit's shape ({6} x {7} x {8}) "
                                 "that of one instruction",
                                 unit.name, field, bits, unit.emit.name, file->name, 8 * file->entryBytes, unit.m,
                                 unit.n, unit.k));
  return messages;
}

std::vector<std::string> tablegen::checkIntrinsic(const LaneInstruction &instruction) {
  const Emission &emit = instruction.emit;
  if (emit.kind != EmissionKind::LlvmIntrinsic)
    return {};
  auto message = [&](const std::string &what) {
    return std::vector<std::string>{formatv("field 'laneInstructions': '{0}' {1}", instruction.does, what)};
  };
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(emit.name);
  if (id == llvm::Intrinsic::not_intrinsic)
    return message(formatv("names '{0}', which is no intrinsic of this LLVM", emit.name));
  if (llvm::Intrinsic::isOverloaded(id))
    return {};
  llvm::LLVMContext context;
  unsigned parameters = llvm::Intrinsic::getType(context, id)->getNumParams();
  if (parameters == emit.arguments.size())
    return {};
  return message(
      formatv("gives '{0}' {1} arguments, LLVM's intrinsic has {2}", emit.name, emit.arguments.size(), parameters));
}
