//===- DeviceProgram.cpp - A program on a device behind a pipe ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chooses a kind of code, copies arrays, starts.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/DeviceProgram.h"
#include "core/Analysis/ElementType.h"
#include "core/Machine/ModuleTarget.h"
#include "core/Pipelines/LaunchCode.h"
#include "core/Runtime/C/Profiler.h"
#include "tilewright/LaneOps.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;

/// Links in a process of its own: lld resets the command-line options of the process that it runs in, and a command
/// that goes on with a device still needs its own.
static llvm::Error linkApart(llvm::StringRef object, llvm::StringRef path, llvm::TargetMachine &machine, bool threads) {
  int ends[2];
  if (pipe(ends) != 0)
    return llvm::createStringError("cannot make a pipe: %s", std::strerror(errno));
  pid_t process = fork();
  if (process < 0)
    return llvm::createStringError("cannot start a process: %s", std::strerror(errno));
  if (process == 0) {
    auto library = linkSharedLibrary(object, "libtilewright-program.so", machine, threads);
    llvm::Error error = library ? writeFile(path, *library) : library.takeError();
    bool failed = static_cast<bool>(error);
    std::string message = llvm::toString(std::move(error));
    (void)!write(ends[1], message.data(), message.size());
    _exit(failed);
  }
  close(ends[1]);
  std::string message;
  char buffer[1024];
  for (ssize_t bytes; (bytes = read(ends[0], buffer, sizeof(buffer))) > 0;)
    message.append(buffer, static_cast<size_t>(bytes));
  close(ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return llvm::Error::success();
  return llvm::createStringError(message.empty() ? "the linker crashed" : message);
}

/// A shared library as bytes.
static llvm::Expected<std::string> sharedLibrary(LaunchCode &code, bool threads) {
  auto llvmModule = code.translate();
  if (!llvmModule)
    return llvmModule.takeError();
  auto object = code.generator().object(**llvmModule);
  if (!object)
    return object.takeError();
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("tilewright", "so", path))
    return llvm::createStringError(error, "cannot create a temporary file: %s", error.message().c_str());
  auto cleanUp = llvm::make_scope_exit([&] { (void)llvm::sys::fs::remove(path); });
  if (llvm::Error error = linkApart((*object)->getBuffer(), path, code.generator().machine(), threads))
    return error;
  auto bytes = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return llvm::createStringError(bytes.getError(), "cannot read '%s'", path.c_str());
  return (*bytes)->getBuffer().str();
}

llvm::Error tilewright::loadOn(ExecDevice &device, mlir::ModuleOp module) {
  auto found = moduleTargetOf(module);
  if (!found)
    return found.takeError();
  // What can be written for this chip.
  std::vector<std::string> possible = found->target->imageKinds();
  if (possible.empty())
    possible.push_back("so");
  possible.push_back("mlir");
  auto chosen =
      llvm::find_if(device.kinds(), [&](const std::string &kind) { return llvm::is_contained(possible, kind); });
  if (chosen == device.kinds().end())
    return llvm::createStringError("the device loads " +
                                   (device.kinds().empty() ? "no kind of code" : llvm::join(device.kinds(), ", ")) +
                                   "; for " + found->name() + " there is " + llvm::join(possible, ", "));
  std::string code, error;
  if (*chosen == "mlir") {
    llvm::raw_string_ostream os(code);
    module.print(os, mlir::OpPrintingFlags().enableDebugInfo());
  } else {
    bool threads = needsThreads(module);
    auto launchCode = LaunchCode::create(module);
    if (!launchCode)
      return launchCode.takeError();
    auto bytes = *chosen == "so" ? sharedLibrary(**launchCode, threads) : (*launchCode)->image(*chosen);
    if (!bytes)
      return bytes.takeError();
    code = std::move(*bytes);
  }
  return device.load(*chosen, code, error) ? llvm::Error::success() : llvm::createStringError(error);
}

llvm::Expected<std::unique_ptr<DeviceProgram>> DeviceProgram::compile(mlir::ModuleOp module, const Signature &signature,
                                                                      ExecDevice &device) {
  std::unique_ptr<DeviceProgram> program(new DeviceProgram(signature, device));
  if (llvm::StringRef manifest = manifestOf(module); !manifest.empty()) {
    auto launches = LaunchProgram::read(manifest);
    if (!launches)
      return launches.takeError();
    program->launches = std::move(*launches);
    if (device.isTimed())
      program->launches->clock = [&device] { return device.seconds(); };
  }
  if (llvm::Error error = loadOn(device, module))
    return error;
  return program;
}

llvm::Error DeviceProgram::call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) {
  std::string error;
  auto done = [&](bool succeeded) { return succeeded ? llvm::Error::success() : llvm::createStringError(error); };
  if (launches)
    return launches->call(device, sizes, arrays);
  std::vector<HostArray> copied;
  for (auto [argument, array] : llvm::zip_equal(signature.arguments, arrays)) {
    int64_t bytes = elementBytes(argument.elementType);
    for (int64_t extent : Signature::evaluate(argument.shape, sizes))
      bytes *= extent;
    copied.push_back({array, bytes, argument.isWritten});
  }
  return done(withCopies(device, copied, error, [&](llvm::ArrayRef<void *> copies) {
    Launch launch;
    launch.kernel = signature.name;
    for (int64_t size : sizes)
      launch.value<int64_t>(size);
    for (void *copy : copies)
      launch.pointer(copy);
    if (!tw_is_profiled())
      return device.launch(launch, error) && device.wait(error);
    const std::string name = device.describe();
    std::function<double()> clock;
    if (device.isTimed())
      clock = [&] { return device.seconds(); };
    tw_activity activity = tw_activity_of(TW_ACTIVITY_KERNEL, signature.name.c_str(), name.c_str());
    std::copy(launch.grid.begin(), launch.grid.end(), activity.grid);
    activity.threads = 1;
    return launchProfiled(device, launch, activity, clock, error) && device.wait(error);
  }));
}

llvm::Expected<double> DeviceProgram::seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                                              int64_t calls) {
  double onDevice = 0;
  auto onHost = secondsOf(
      [&] {
        llvm::Error error = call(sizes, arrays);
        onDevice += device.seconds();
        return error;
      },
      calls);
  if (onHost && device.isTimed())
    return onDevice;
  return onHost;
}
