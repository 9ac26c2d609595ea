//===- RecordTypes.cpp - Types that records name --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads types in both spellings, and compares them with the operands.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/RecordTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/DebugStringHelper.h"
#include "mlir/Target/LLVMIR/TypeFromLLVM.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilewright;
using llvm::formatv;

Type tilewright::parseRecordType(StringRef text, MLIRContext &context) {
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); }); // each spelling is one try
  if (text.empty())
    return {};
  for (const std::string &spelling : {("!llvm." + text).str(), text.str()})
    if (Type type = parseType(spelling, &context); type && LLVM::isCompatibleType(type))
      return type;
  llvm::LLVMContext llvmContext;
  llvm::Module scope("record", llvmContext);
  llvm::SMDiagnostic problem;
  llvm::Type *type = llvm::parseType(text, problem, scope);
  if (!type || type->isFunctionTy() || type->isLabelTy() || type->isMetadataTy())
    return {};
  return LLVM::TypeFromLLVMIRTranslator(context).translateType(type);
}

int64_t tilewright::bitsOfType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.isScalable() ? 0 : vector.getNumElements() * bitsOfType(vector.getElementType());
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return array.getNumElements() * bitsOfType(array.getElementType());
  if (auto members = dyn_cast<LLVM::LLVMStructType>(type)) {
    int64_t bits = 0;
    for (Type member : members.getBody()) {
      if (bitsOfType(member) == 0)
        return 0;
      bits += bitsOfType(member);
    }
    return bits;
  }
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

/// The field `valueType` of a register without numbers.
static void checkValueType(const OpaqueRegister &opaque, StringRef field, MLIRContext &context,
                           std::vector<std::string> &messages) {
  Type type = parseRecordType(opaque.valueType, context);
  int64_t held = opaque.rows * opaque.rowBytes * 8;
  if (!type) {
    messages.push_back(formatv(
        "the register '{0}' of field '{1}' has the 'valueType' \"{2}\", which is no type; write one of {3} bits "
        "as LLVM IR does, such as \"<{3} x i1>\", or as MLIR does, such as \"vector<{3}xi1>\"",
        opaque.name, field, opaque.valueType, held));
  } else if (int64_t bits = bitsOfType(type); bits != 0 && bits != held) {
    messages.push_back(formatv("the register '{0}' of field '{1}' has the 'valueType' \"{2}\" of {3} bits, but its "
                               "'rows' x 'rowBytes' ({4} x {5} bytes) are {6}; change one of them",
                               opaque.name, field, opaque.valueType, bits, opaque.rows, opaque.rowBytes, held));
  }
}

/// The field `storage`: the type of one element of the vector that carries the operand; of scales and places that of
/// the register that holds all of a lane, `laneBits` bits.
static void checkStorage(const UnitOperand &operand, StringRef field, int64_t laneBits, MLIRContext &context,
                         std::vector<std::string> &messages) {
  int64_t width = bitWidth(operand.element), held = operand.layout.numElements() * width;
  Type type = parseRecordType(operand.storage, context);
  std::string what = formatv("field '{0}' has the 'storage' \"{1}\"", field, operand.storage);
  if (!type)
    messages.push_back(formatv("{0}, which is no type; write the type of one element of the register that carries it, "
                               "such as \"i{1}\"",
                               what, width));
  else if (auto vector = dyn_cast<VectorType>(type))
    messages.push_back(formatv("{0}, a whole register's type; it is that of one element: write \"{1}\"", what,
                               debugString(vector.getElementType())));
  else if (!type.isIntOrFloat())
    messages.push_back(
        formatv("{0}, which is neither an integer nor a float; write one such as \"i{1}\"", what, width));
  else if (laneBits > type.getIntOrFloatBitWidth())
    messages.push_back(formatv("{0} of {1} bits, but a lane has {2} of them; write a wider type such as \"i{3}\"", what,
                               type.getIntOrFloatBitWidth(), laneBits, llvm::PowerOf2Ceil(laneBits)));
  else if (!laneBits && held % type.getIntOrFloatBitWidth() != 0)
    messages.push_back(formatv("{0} of {1} bits, into which the {2} bits of the operand do not divide; write a "
                               "narrower type such as \"i{3}\"",
                               what, type.getIntOrFloatBitWidth(), held, width));
}

std::vector<std::string> tilewright::checkTypes(StringRef field, const UnitOperand &operand, int64_t laneBits) {
  std::vector<std::string> messages;
  bool valued = operand.opaque && operand.opaque->masks.empty() && !operand.opaque->valueType.empty();
  if (!valued && operand.storage.empty())
    return messages;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<LLVM::LLVMDialect>();
  if (valued)
    checkValueType(*operand.opaque, field, context, messages);
  // In memories the field says how elements lie, which the checks of the unit read.
  const bool inMemory = operand.residence == Residence::Scratchpad || operand.residence == Residence::Accumulator;
  if (!operand.storage.empty() && !inMemory)
    checkStorage(operand, field, laneBits, context, messages);
  return messages;
}
