//===- Device.cpp - Code that NVIDIA's driver loads ------------------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PTX out of LLVM, which the driver compiles, and a cubin where `ptxas` is
/// installed.
///
//===----------------------------------------------------------------------===//

#include "targets/nvidia/Chips.h"
#include "tilewright/Compiler.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Target/TargetMachine.h"

using namespace tilewright;

/// The assembler of a toolkit: on the path, or where the usual variables point to.
static std::string findAssembler() {
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (auto root = llvm::sys::Process::GetEnv(variable)) {
      llvm::SmallString<128> path(*root);
      llvm::sys::path::append(path, "bin", "ptxas");
      if (llvm::sys::fs::can_execute(path))
        return path.str().str();
    }
  return "";
}

static llvm::Expected<std::string> assemble(llvm::StringRef ptx, llvm::StringRef architecture) {
  std::string program = findAssembler();
  if (program.empty())
    return llvm::createStringError(
        "a cubin needs 'ptxas', which is neither on the path nor under CUDA_ROOT, CUDA_HOME or "
        "CUDA_PATH; write .ptx, which the driver compiles");
  llvm::SmallString<128> input, output, messages;
  for (auto [suffix, file] :
       {std::pair<const char *, llvm::SmallString<128> *>("ptx", &input), {"cubin", &output}, {"txt", &messages}})
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("tilewright", suffix, *file))
      return llvm::createStringError(error, "cannot create a temporary file: %s", error.message().c_str());
  auto cleanUp = llvm::make_scope_exit([&] {
    for (auto *file : {&input, &output, &messages})
      (void)llvm::sys::fs::remove(*file);
  });
  if (llvm::Error error = writeFile(input, ptx))
    return error;
  std::string chip = "-arch=" + architecture.str();
  llvm::StringRef arguments[] = {program, chip, "-O3", input, "-o", output};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, messages.str(), messages.str()};
  std::string reason;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0, 0, &reason);
  auto text = llvm::MemoryBuffer::getFile(messages);
  if (status != 0)
    return llvm::createStringError("'" + program + "' failed: " + reason + (text ? (*text)->getBuffer().trim() : ""));
  auto code = llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!code)
    return llvm::createStringError(code.getError(), "cannot read what ptxas wrote: %s",
                                   code.getError().message().c_str());
  return (*code)->getBuffer().str();
}

llvm::Expected<std::string> nvidia::image(llvm::StringRef kind, llvm::Module &module, CodeGenerator &generator) {
  auto ptx = generator.assembly(module);
  if (!ptx || kind == "ptx")
    return ptx;
  return assemble(*ptx, generator.machine().getTargetCPU());
}
