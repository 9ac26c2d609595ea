//===- DeviceProgram.h - A program on a device behind a pipe ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the device gets: code of a kind that both sides know, arrays, and starts.
///
///   programs that are launches   a kind of code of the target, or "mlir" (the module
///                                after stage 5, matrix units as calls by record);
///                                starts as the manifest says
///   programs of one function     "so": a shared library; one start of the function of
///                                the C interface: sizes, then addresses
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_DEVICEPROGRAM_H
#define TILEWRIGHT_CORE_PIPELINES_DEVICEPROGRAM_H

#include "core/Analysis/Signature.h"
#include "core/Pipelines/ExecDevice.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

class DeviceProgram {
public:
  /// `module`: after stage 5. Loads its code; an error says what is missing.
  static llvm::Expected<std::unique_ptr<DeviceProgram>> compile(mlir::ModuleOp module, const Signature &signature,
                                                                ExecDevice &device);
  /// Runs the program once: the sizes, then the address of each array on this machine.
  llvm::Error call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays);

private:
  DeviceProgram(const Signature &signature, ExecDevice &device) : signature(signature), device(device) {}

  Signature signature;
  ExecDevice &device;
  std::string manifest; // empty: one function
};

/// Writes the code of `module` (after stage 5, or of the LLVM dialect with units as calls by record) in the first kind
/// that `device` loads, and loads it.
llvm::Error loadOn(ExecDevice &device, mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_DEVICEPROGRAM_H
