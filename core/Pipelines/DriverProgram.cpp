//===- DriverProgram.cpp - A program's launches on a real device ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Artifact, device, and arrays of one program.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/DriverProgram.h"
#include "core/Pipelines/LaunchCode.h"
#include "core/Pipelines/LaunchProgram.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/ScopeExit.h"

using namespace tilewright;

static llvm::Error failed(const tw_error &error) { return llvm::createStringError(error.message); }

llvm::Expected<std::unique_ptr<DriverProgram>> DriverProgram::compile(mlir::ModuleOp module, DeviceOpener open) {
  auto chip = targetOf(module);
  if (!chip)
    return chip.takeError();
  std::string name = ((*chip)->target() + ":" + (*chip)->chip()).str();
  if (manifestOf(module).empty())
    return llvm::createStringError("'" + name +
                                   "' runs programs on the host; a device runs those of chips whose "
                                   "programs are launches");
  std::unique_ptr<DriverProgram> program(new DriverProgram());
  tw_error error;
  tw_device *device = nullptr;
  tw_artifact *artifact = nullptr;
  tw_module *kernels = nullptr;
  // The device first: where there is none, no time goes into code for it.
  if (open(name.c_str(), 0, &device, &error) != TW_OK)
    return failed(error);
  program->device.reset(device);
  program->memory.device = device;
  auto code = LaunchCode::create(module);
  if (!code)
    return code.takeError();
  auto bytes = (*code)->artifact();
  if (!bytes)
    return bytes.takeError();
  if (tw_artifact_parse(bytes->data(), bytes->size(), &artifact, &error) != TW_OK)
    return failed(error);
  program->artifact.reset(artifact);
  if (tw_module_load(device, artifact, &kernels, &error) != TW_OK)
    return failed(error);
  program->kernels.reset(kernels);
  return program;
}

/// Device memory of the right size with the contents of the host's arrays.
llvm::Error DriverProgram::placeArrays(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) {
  tw_error error;
  memory.resize(tw_program_arguments(program()));
  if (memory.size() != arrays.size() || tw_program_sizes(program()) != sizes.size())
    return llvm::createStringError("the program takes other sizes and arrays");
  for (auto [index, each] : llvm::enumerate(memory)) {
    int64_t bytes = 0;
    if (tw_program_bytes(program(), index, sizes.data(), &bytes, &error) != TW_OK)
      return failed(error);
    if (!each.pointer || each.bytes != bytes) {
      tw_device_release(device.get(), each.pointer);
      each = {};
      if (tw_device_allocate(device.get(), bytes, &each.pointer, &error) != TW_OK)
        return failed(error);
      each.bytes = bytes;
    }
    if (tw_device_copy_in(device.get(), each.pointer, arrays[index], bytes, &error) != TW_OK)
      return failed(error);
  }
  return llvm::Error::success();
}

llvm::Error DriverProgram::call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) {
  if (llvm::Error error = placeArrays(sizes, arrays))
    return error;
  std::vector<void *> pointers;
  for (const Memory &each : memory)
    pointers.push_back(each.pointer);
  tw_error error;
  if (tw_launch(kernels.get(), program(), sizes.data(), pointers.data(), nullptr, nullptr, &error) != TW_OK ||
      tw_device_wait(device.get(), nullptr, &error) != TW_OK)
    return failed(error);
  for (auto [index, each] : llvm::enumerate(memory)) {
    tw_argument argument;
    if (tw_program_argument(program(), index, &argument, &error) != TW_OK ||
        (argument.is_written &&
         tw_device_copy_out(device.get(), arrays[index], each.pointer, each.bytes, &error) != TW_OK))
      return failed(error);
  }
  return llvm::Error::success();
}

llvm::Expected<double> DriverProgram::seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                                              int64_t calls) {
  if (llvm::Error error = placeArrays(sizes, arrays))
    return error;
  tw_error error;
  tw_timer *timer = nullptr;
  std::vector<void *> pointers;
  for (const Memory &each : memory)
    pointers.push_back(each.pointer);
  if (tw_timer_create(device.get(), &timer, &error) != TW_OK)
    return failed(error);
  llvm::scope_exit cleanUp([&] { tw_timer_destroy(timer); });
  double result = 0;
  if (tw_timer_start(timer, nullptr, &error) != TW_OK)
    return failed(error);
  for (int64_t i = 0; i < calls; ++i)
    if (tw_launch(kernels.get(), program(), sizes.data(), pointers.data(), nullptr, nullptr, &error) != TW_OK)
      return failed(error);
  if (tw_timer_stop(timer, nullptr, &result, &error) != TW_OK)
    return failed(error);
  return result;
}
