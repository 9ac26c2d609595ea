//===- HalfConversions.cpp - f16 for chips without it ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two small functions in integer arithmetic, under the names that LLVM's code
/// generation calls. Hidden and merged by name, so that several programs link.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/HalfConversions.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/SourceMgr.h"

/// f16 to f32: exponent and fraction as an f32 that is 2^112 too small; the product is exact, subnormal numbers too.
/// f32 to f16: rounded to nearest even by adding half a unit in the last place; subnormal results by adding 0.5, whose
/// last place is theirs.
static constexpr const char *functions = R"(
define weak_odr hidden float @__extendhfsf2(half %x) {
  %h = bitcast half %x to i16
  %w = zext i16 %h to i32
  %s = and i32 %w, 32768
  %sign = shl i32 %s, 16
  %magnitude = and i32 %w, 32767
  %place = shl i32 %magnitude, 13
  %small = bitcast i32 %place to float
  %scaled = fmul float %small, 0x46F0000000000000
  %bits = bitcast float %scaled to i32
  %special = icmp ugt i32 %magnitude, 31743
  %all = or i32 %bits, 2139095040
  %value = select i1 %special, i32 %all, i32 %bits
  %signed = or i32 %value, %sign
  %result = bitcast i32 %signed to float
  ret float %result
}
define weak_odr hidden half @__truncsfhf2(float %x) {
  %w = bitcast float %x to i32
  %s = lshr i32 %w, 16
  %sign = and i32 %s, 32768
  %magnitude = and i32 %w, 2147483647
  %last = lshr i32 %magnitude, 13
  %odd = and i32 %last, 1
  %up = add i32 %magnitude, 4095
  %rounded = add i32 %up, %odd
  %rebased = sub i32 %rounded, 939524096
  %normal = lshr i32 %rebased, 13
  %wide = bitcast i32 %magnitude to float
  %shifted = fadd float %wide, 5.000000e-01
  %lowbits = bitcast float %shifted to i32
  %subnormal = sub i32 %lowbits, 1056964608
  %issmall = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %issmall, i32 %subnormal, i32 %normal
  %isinfinite = icmp uge i32 %magnitude, 1199570944
  %numeric = select i1 %isinfinite, i32 31744, i32 %finite
  %isnan = icmp ugt i32 %magnitude, 2139095040
  %payload = and i32 %last, 511
  %quiet = or i32 %payload, 32256
  %value = select i1 %isnan, i32 %quiet, i32 %numeric
  %signed = or i32 %value, %sign
  %narrow = trunc i32 %signed to i16
  %result = bitcast i16 %narrow to half
  ret half %result
}
)";

bool tilewright::usesHalf(llvm::Module &module) {
  auto isHalf = [](const llvm::Value *value) { return value->getType()->getScalarType()->isHalfTy(); };
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isHalf(&instruction) || llvm::any_of(instruction.operand_values(), isHalf))
        return true;
  return false;
}

bool tilewright::callsHalfConversions(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  return llvm::any_of((*file)->symbols(), [](const llvm::object::SymbolRef &symbol) {
    auto name = symbol.getName();
    auto flags = symbol.getFlags();
    bool found = name && flags && (*flags & llvm::object::SymbolRef::SF_Undefined) &&
                 (*name == "__extendhfsf2" || *name == "__truncsfhf2");
    llvm::consumeError(name.takeError());
    llvm::consumeError(flags.takeError());
    return found;
  });
}

llvm::Error tilewright::addHalfConversions(llvm::Module &module) {
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> library = llvm::parseAssemblyString(functions, problem, module.getContext());
  if (!library)
    return llvm::createStringError("the conversions of f16 cannot be read: " + problem.getMessage());
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  auto user = llvm::find_if(module, [](const llvm::Function &function) { return !function.isDeclaration(); });
  for (llvm::Function &function : *library)
    for (llvm::StringRef name : {"target-cpu", "target-features"})
      if (user != module.end() && user->hasFnAttribute(name))
        function.addFnAttr(user->getFnAttribute(name));
  if (llvm::Linker::linkModules(module, std::move(library)))
    return llvm::createStringError("the conversions of f16 cannot be linked");
  return llvm::Error::success();
}
