//===- Device.cpp - Code that AMD's driver loads --------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Assembly, and a code object linked in this process.
///
//===----------------------------------------------------------------------===//

#include "targets/amd/Chips.h"
#include "tilewright/Compiler.h"

using namespace tilewright;

llvm::Expected<std::string> amd::image(llvm::StringRef kind, llvm::Module &module, CodeGenerator &generator) {
  if (kind == "s")
    return generator.assembly(module);
  auto object = generator.object(module);
  if (!object)
    return object.takeError();
  return linkDeviceObject((*object)->getBuffer());
}
