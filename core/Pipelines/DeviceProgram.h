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
#include "core/Pipelines/LaunchProgram.h"
#include "core/Pipelines/PlacedProgram.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

class DeviceProgram : public PlacedProgram {
public:
  /// `module`: after stage 5. Loads its code; an error says what is missing.
  static llvm::Expected<std::unique_ptr<DeviceProgram>> compile(mlir::ModuleOp module, const Signature &signature,
                                                                ExecDevice &device);
  llvm::Error call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) override;
  /// What the device says that the launches took, if it tells; otherwise copies and requests count as well.
  llvm::Expected<double> seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, int64_t calls) override;
  std::string describe() const override { return device.describe(); }

private:
  DeviceProgram(const Signature &signature, ExecDevice &device) : signature(signature), device(device) {}

  Signature signature;
  ExecDevice &device;
  std::optional<LaunchProgram> launches; // none: one function
};

/// Writes the code of `module` (after stage 5, or of the LLVM dialect with units as calls by record) in the first kind
/// that `device` loads, and loads it.
llvm::Error loadOn(ExecDevice &device, mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_DEVICEPROGRAM_H
