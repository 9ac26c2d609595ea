//===- Jit.cpp - Code in this process -------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads an object file through ORC. The C library's and libm's functions come
/// from this process, the OpenMP library is loaded when the code needs it.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/OpenMP.h"
#include "tilewright/Compiler.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"

using namespace tilewright;

struct Jit::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
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
    auto symbols = llvm::orc::DynamicLibrarySearchGenerator::Load(
        path->c_str(), (*jit)->getDataLayout().getGlobalPrefix());
    if (!symbols)
      return symbols.takeError();
    (*jit)->getMainJITDylib().addGenerator(std::move(*symbols));
  }
  if (llvm::Error error = (*jit)->addObjectFile(std::move(object)))
    return error;
  auto impl = std::make_unique<Impl>();
  impl->jit = std::move(*jit);
  return std::unique_ptr<Jit>(new Jit(std::move(impl)));
}

llvm::Expected<void *> Jit::lookup(llvm::StringRef symbol) {
  auto address = impl->jit->lookup(symbol);
  if (!address)
    return address.takeError();
  return address->toPtr<void *>();
}
