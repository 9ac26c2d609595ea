//===- Jit.cpp - Code in this process -------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads an object file through ORC, that of a module among them. The C library's and libm's functions come
/// from this process, the OpenMP library is loaded when the code needs it.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/LoadedCode.h"
#include "core/Pipelines/OpenMP.h"
#include "core/Pipelines/PlacedProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace tilewright;

struct Jit::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<std::string> missing; // functions that the code calls and this process does not have
};

Jit::Jit(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Jit::~Jit() = default;

llvm::Expected<std::unique_ptr<Jit>> Jit::load(std::unique_ptr<llvm::MemoryBuffer> object, bool needsThreads) {
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*machine))
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return jit.takeError();
  if (needsThreads) {
    auto path = openMPLibrary();
    if (!path)
      return path.takeError();
    auto symbols =
        llvm::orc::DynamicLibrarySearchGenerator::Load(path->c_str(), (*jit)->getDataLayout().getGlobalPrefix());
    if (!symbols)
      return symbols.takeError();
    (*jit)->getMainJITDylib().addGenerator(std::move(*symbols));
  }
  if (llvm::Error error = (*jit)->addObjectFile(std::move(object)))
    return error;
  auto impl = std::make_unique<Impl>();
  impl->jit = std::move(*jit);
  impl->jit->getExecutionSession().setErrorReporter([missing = &impl->missing](llvm::Error error) {
    llvm::handleAllErrors(
        std::move(error),
        [&](const llvm::orc::SymbolsNotFound &each) {
          for (const llvm::orc::SymbolStringPtr &symbol : each.getSymbols())
            missing->push_back((*symbol).str());
        },
        [](const llvm::ErrorInfoBase &) {}); // what a lookup fails with says the rest
  });
  return std::unique_ptr<Jit>(new Jit(std::move(impl)));
}

llvm::Expected<void *> Jit::lookup(llvm::StringRef symbol) {
  auto address = impl->jit->lookup(symbol);
  if (address)
    return address->toPtr<void *>();
  if (impl->missing.empty())
    return address.takeError();
  llvm::consumeError(address.takeError());
  return llvm::createStringError(
      "the code calls '" + llvm::join(impl->missing, "', '") +
      "', which this machine does not have; functions that records name in an ExternalCall are on their chip: run the "
      "program by the records (--device model), or on a device of yours (--device exec:PROG)");
}

llvm::Expected<LoadedCode> tilewright::loadCode(mlir::ModuleOp module) {
  const double begin = secondsNow();
  auto generator = CodeGenerator::create(module);
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext context;
  auto code = (*generator)->translate(module, context);
  if (!code)
    return code.takeError();
  auto object = (*generator)->object(**code);
  if (!object)
    return object.takeError();
  const double generated = secondsNow();
  auto jit = Jit::load(std::move(*object), needsThreads(module));
  if (!jit)
    return jit.takeError();
  return LoadedCode{std::move(*jit), generated - begin, secondsNow() - generated};
}
