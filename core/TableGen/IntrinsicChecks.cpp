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

#include "core/TableGen/RecordReader.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

/// Bits of operand `operand` as the instruction takes it: a broadcast group fills the vector that `other` has.
static int64_t bitsOf(const UnitOperand &operand, const UnitOperand &other) {
  const UnitOperand &shape = operand.residence == Residence::BroadcastScalar ? other : operand;
  return shape.rows * shape.cols * bitWidth(operand.element);
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
  if (type->getNumParams() != unit.emit.arguments.size()) {
    messages.push_back(formatv("field 'emit' gives '{0}' {1} arguments, LLVM's intrinsic has {2}", unit.emit.name,
                               unit.emit.arguments.size(), type->getNumParams()));
    return messages;
  }
  for (auto [role, parameter] : llvm::zip(unit.emit.arguments, type->params())) {
    bool isA = role == "A", isB = role == "B", isC = role == "C";
    if (!isA && !isB && !isC)
      continue;
    const UnitOperand &operand = isA ? unit.a : isB ? unit.b : unit.c;
    if (operand.residence == Residence::OpaqueRegister || operand.scalable)
      continue;
    int64_t bits = bitsOf(operand, isA ? unit.b : unit.a);
    int64_t expected = parameter->getPrimitiveSizeInBits().getKnownMinValue();
    if (expected && bits != expected)
      messages.push_back(formatv("field '{0}' has {1} bits, but the argument of '{2}' in field 'emit' has {3}",
                                 isA   ? "a"
                                 : isB ? "b"
                                       : "c",
                                 bits, unit.emit.name, expected));
    if (expected && isFloat(operand.element) != parameter->getScalarType()->isFloatingPointTy() &&
        operand.storage.empty())
      messages.push_back(formatv("field '{0}' holds {1}, but the argument of '{2}' in field 'emit' holds {3}",
                                 isA   ? "a"
                                 : isB ? "b"
                                       : "c",
                                 elementName(operand.element), unit.emit.name,
                                 isFloat(operand.element) ? "integers" : "floats"));
  }
  return messages;
}
