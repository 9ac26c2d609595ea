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
  auto text = generator.assembly(module);
  if (!text || kind == "s")
    return text;
  auto object = generator.assemble(*text);
  if (!object)
    return object.takeError();
  return linkDeviceObject((*object)->getBuffer());
}
