//===- KernelCode.cpp - Code of emulated kernels --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cuts the module of all kernels into one for each, which LLVM's JIT optimises and compiles when somebody asks for a
/// symbol of it.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/KernelCode.h"
#include "core/Emulator/Rewriter.h"
#include "core/Emulator/Symbols.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tilewright/Compiler.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

using namespace tilewright;

static llvm::Error addSymbols(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  for (auto [name, address] : runtimeSymbols())
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  return jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)));
}

/// What is linear in a kernel's size: values out of memory, the arithmetic of addresses, blocks that are one. Kernels
/// run for milliseconds, most of them in the runtime.
static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

/// Adds `value`, and what it and the bodies of its functions name.
static void reach(llvm::Value *value, llvm::SetVector<llvm::GlobalValue *> &reached,
                  llvm::SmallPtrSetImpl<llvm::Value *> &seen) {
  if (!llvm::isa<llvm::Constant>(value) || !seen.insert(value).second)
    return;
  if (auto *global = llvm::dyn_cast<llvm::GlobalValue>(value))
    reached.insert(global);
  for (llvm::Value *operand : llvm::cast<llvm::Constant>(value)->operands())
    reach(operand, reached, seen);
  if (auto *function = llvm::dyn_cast<llvm::Function>(value))
    for (llvm::Instruction &instruction : llvm::instructions(function))
      for (llvm::Value *operand : instruction.operands())
        reach(operand, reached, seen);
}

static bool isVariable(const llvm::GlobalValue &value) {
  auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
  return variable && !variable->isConstant();
}

/// The module of `entry`: it has copies of the functions and constants that it names. Variables are those of `whole`.
static std::unique_ptr<llvm::Module> partOf(llvm::Module &whole, llvm::Function &entry) {
  llvm::SetVector<llvm::GlobalValue *> reached;
  llvm::SmallPtrSet<llvm::Value *, 32> seen;
  reach(&entry, reached, seen);
  llvm::ValueToValueMapTy copies;
  std::unique_ptr<llvm::Module> part = llvm::CloneModule(whole, copies, [&](const llvm::GlobalValue *value) {
    return reached.contains(const_cast<llvm::GlobalValue *>(value)) && !isVariable(*value);
  });
  for (llvm::GlobalValue &value : llvm::make_early_inc_range(part->global_values())) {
    if (value.isDeclaration() && value.use_empty())
      value.eraseFromParent();
    else if (!value.isDeclaration() && value.getName() != entry.getName())
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return part;
}

/// Adds a module for each entry of `code`, and what is left, its variables, as one.
static llvm::Error addKernels(llvm::orc::LLJIT &jit, std::unique_ptr<llvm::Module> code,
                              llvm::orc::ThreadSafeContext context) {
  for (llvm::GlobalVariable &variable : code->globals())
    if (isVariable(variable) && !variable.isDeclaration())
      variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
  llvm::SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : *code)
    functions.push_back(&function);
  for (llvm::Function *function : functions)
    if (function->getName().ends_with(kernelEntrySuffix))
      if (llvm::Error error = jit.addIRModule(llvm::orc::ThreadSafeModule(partOf(*code, *function), context)))
        return error;
  for (llvm::Function *function : functions)
    function->deleteBody();
  return jit.addIRModule(llvm::orc::ThreadSafeModule(std::move(code), context));
}

KernelCode::KernelCode(std::unique_ptr<llvm::orc::LLJIT> jit) : jit(std::move(jit)) {}
KernelCode::~KernelCode() = default;

llvm::Expected<std::unique_ptr<KernelCode>> KernelCode::of(mlir::ModuleOp rewritten) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  // Time spent on better code is not won back; but less would spill each value, and stacks of lanes are small.
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  auto machine = host->createTargetMachine();
  if (!machine)
    return machine.takeError();
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*host))
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = addSymbols(**jit))
    return error;
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  rewritten.getContext()->appendDialectRegistry(registry);
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(rewritten, *context, "emulated");
  if (!code)
    return llvm::make_error<Reported>();
  code->setDataLayout((*machine)->createDataLayout());
  code->setTargetTriple((*machine)->getTargetTriple());
  (*jit)->getIRTransformLayer().setTransform(
      [machine = std::shared_ptr<llvm::TargetMachine>(std::move(*machine))](
          llvm::orc::ThreadSafeModule part, llvm::orc::MaterializationResponsibility &) {
        part.withModuleDo([&](llvm::Module &module) { optimise(module, *machine); });
        return llvm::Expected<llvm::orc::ThreadSafeModule>(std::move(part));
      });
  if (llvm::Error error = addKernels(**jit, std::move(code), llvm::orc::ThreadSafeContext(std::move(context))))
    return error;
  return std::unique_ptr<KernelCode>(new KernelCode(std::move(*jit)));
}

llvm::Expected<KernelCode::Entry> KernelCode::entryOf(llvm::StringRef kernel) const {
  auto address = jit->lookup((kernel + kernelEntrySuffix).str());
  if (!address)
    return address.takeError();
  return address->toPtr<Entry>();
}
