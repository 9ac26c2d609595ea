//===- DriverProgram.h - A program's launches on a real device ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program whose kernels are launched, on a device of this machine: the module
/// becomes an artifact in memory, which the C runtime loads through the driver of
/// its target.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_DRIVERPROGRAM_H
#define TILEWRIGHT_CORE_PIPELINES_DRIVERPROGRAM_H

#include "core/Pipelines/PlacedProgram.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/tilewright_driver.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace tilewright {

/// The form of tw_device_open.
using DeviceOpener = tw_status (*)(const char *target, int ordinal, tw_device **device, tw_error *error);

class DriverProgram : public PlacedProgram {
public:
  /// `module`: after stage 5 (consumed), for a chip whose programs are launches. `open`: opens the device, as
  /// tw_device_open does in programs that link drivers. An error says what is missing: launches, a driver, the right
  /// chip.
  static llvm::Expected<std::unique_ptr<DriverProgram>> compile(mlir::ModuleOp module, DeviceOpener open);

  llvm::Error call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) override;
  /// On the device's own clock, with arrays that stay there.
  llvm::Expected<double> seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, int64_t calls) override;
  std::string describe() const override { return tw_device_name(device.get()); }

private:
  template <auto function> struct Free {
    template <typename T> void operator()(T *object) const { function(object); }
  };
  template <typename T, auto function> using Owned = std::unique_ptr<T, Free<function>>;

  const tw_program *program() const { return tw_artifact_at(artifact.get(), 0); }
  llvm::Error placeArrays(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays);

  struct Memory {
    void *pointer = nullptr;
    int64_t bytes = 0;
  };
  struct Arrays : std::vector<Memory> {
    ~Arrays() {
      for (Memory &each : *this)
        tw_device_release(device, each.pointer);
    }
    tw_device *device = nullptr;
  };

  // Destroyed from the last to the first.
  Owned<tw_artifact, tw_artifact_close> artifact;
  Owned<tw_device, tw_device_close> device;
  Owned<tw_module, tw_module_unload> kernels;
  Arrays memory;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_DRIVERPROGRAM_H
