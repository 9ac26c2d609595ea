//===- ShippedFunctions.cpp - Functions of records, read ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM IR is imported into the LLVM dialect, so that a function of either
/// language is one block of operations.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/ShippedFunctions.h"
#include "core/Machine/IrFunction.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMIRToLLVMTranslation.h"
#include "mlir/Target/LLVMIR/Import.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilewright;
using llvm::formatv;

void ShippedFunctions::registerDialects(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, DLTIDialect>();
  registerLLVMDialectImport(registry);
}

/// "sums.mlir:3:5", or nothing.
static std::string placeOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return formatv("{0}:{1}:{2}: ", place.getFilename().getValue(), place.getLine(), place.getColumn());
  return "";
}

/// The module of a file; an error says what stands in the way, and where.
static llvm::Expected<OwningOpRef<ModuleOp>> readModule(const IrText &shipped, MLIRContext &context) {
  std::string found;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && found.empty())
      found = placeOf(diagnostic.getLocation()) + StringRef(diagnostic.str()).trim().str();
    return success();
  });
  if (shipped.file.ends_with(".mlir")) {
    auto module = parseSourceString<ModuleOp>(shipped.text, &context, shipped.file);
    if (!module)
      return llvm::createStringError(found);
    return module;
  }
  llvm::LLVMContext llvmContext;
  llvm::SMDiagnostic problem;
  auto code = llvm::parseIR(llvm::MemoryBufferRef(shipped.text, shipped.file), problem, llvmContext);
  if (!code)
    return llvm::createStringError(formatv("{0}:{1}:{2}: {3}", shipped.file, problem.getLineNo(),
                                           problem.getColumnNo() + 1, problem.getMessage()));
  auto module = translateLLVMIRToModule(std::move(code), &context, /*emitExpensiveWarnings=*/false,
                                        /*dropDICompositeTypeElements=*/true, /*loadAllDialects=*/false,
                                        /*preferUnregisteredIntrinsics=*/false, /*importStructsAsLiterals=*/true);
  if (!module)
    return llvm::createStringError(formatv("{0}: {1}", shipped.file, found));
  return module;
}

/// Why `function` cannot stand in place of a call; empty: it can.
static std::string whyNotInlined(LLVM::LLVMFuncOp function) {
  if (function.isExternal())
    return "is only declared; define it there";
  if (function.isVarArg())
    return "takes a variable number of arguments; list them";
  if (!function.getBody().hasOneBlock())
    return formatv("has {0} blocks; write straight-line code, with 'select' in place of branches",
                   function.getBody().getBlocks().size());
  std::string why;
  function.walk([&](Operation *op) {
    FlatSymbolRefAttr symbol;
    if (auto call = dyn_cast<LLVM::CallOp>(op))
      symbol = call.getCalleeAttr();
    else if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
      symbol = address.getGlobalNameAttr();
    if (symbol && why.empty())
      why =
          formatv("uses '@{0}', which stands outside of it; only intrinsics of LLVM can be called", symbol.getValue());
    else if (isa<LLVM::AllocaOp>(op) && why.empty())
      why = "has an 'alloca'; a loop around its use would allocate again and again";
  });
  return why;
}

llvm::Expected<LLVM::LLVMFuncOp> ShippedFunctions::find(const Emission &emission, MLIRContext &context) {
  IrText shipped = *shippedText(emission);
  auto &module = modules[emission.arguments.front()];
  if (!module) {
    auto read = readModule(shipped, context);
    if (!read)
      return read.takeError();
    module = std::move(*read);
  }
  auto function = module->lookupSymbol<LLVM::LLVMFuncOp>(emission.name);
  if (!function) {
    std::string others;
    for (auto each : module->getOps<LLVM::LLVMFuncOp>())
      if (!each.isExternal())
        others += (others.empty() ? "'@" : ", '@") + each.getName().str() + "'";
    return llvm::createStringError(formatv("{0} has no function '@{1}' (it has {2})", shipped.file, emission.name,
                                           others.empty() ? "none" : others));
  }
  std::string why = whyNotInlined(function);
  if (!why.empty())
    return llvm::createStringError(formatv("{0}: function '@{1}' {2}", shipped.file, emission.name, why));
  return function;
}

Value ShippedFunctions::insert(LLVM::LLVMFuncOp function, ValueRange operands, OpBuilder &builder, Location loc) {
  IRMapping mapping;
  Block &body = function.getBody().front();
  mapping.map(body.getArguments(), operands);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping)->setLoc(loc);
  Operation *end = body.getTerminator();
  return end->getNumOperands() ? mapping.lookup(end->getOperand(0)) : Value();
}
