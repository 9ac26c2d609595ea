//===- LaunchProgram.h - A manifest run on a device -----------------*- C++ -*- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the launches of one program on any device, as its manifest says (see
/// core/Transforms/Host/LaunchManifest.h). The manifest is evaluated by the C runtime,
/// so that what the emulator executes is what a loader without compiler does:
///
///   auto program = LaunchProgram::read(manifestText);
///   program->run(device, {m, n, k}, {a, b, c}, error);   // device pointers
///   program->call(device, {m, n, k}, {x, y, z}, error);  // arrays of the host
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_LAUNCHPROGRAM_H
#define TILEWRIGHT_CORE_PIPELINES_LAUNCHPROGRAM_H

#include "mlir/IR/Operation.h"
#include "tilewright/Device.h"
#include "tilewright/tilewright_driver.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>

namespace tilewright {

class LaunchProgram {
public:
  /// An error says what of the manifest cannot be read.
  static llvm::Expected<LaunchProgram> read(llvm::StringRef manifest);

  std::string entry() const;
  size_t numArguments() const;
  size_t numSizes() const;

  /// Starts all launches in order and waits. Temporaries live on the device as long as the call, each an allocation of
  /// its own. False with `error`; where results have another size than `sizes` says, `learned` (unless it is null)
  /// becomes the sizes with what the program makes.
  bool run(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, std::string &error,
           std::vector<int64_t> *learned = nullptr) const;
  /// The same with arrays of the host, which are copied to the device and, where they are written, back.
  bool call(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, std::string &error,
            std::vector<int64_t> *learned = nullptr) const;
  /// `call` as an error, which may be OtherSizes.
  llvm::Error call(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) const;
  /// Seconds of what was launched last by the device's own clock, for profilers that measure; empty: it has none.
  std::function<double()> clock;

private:
  struct Free {
    void operator()(tw_program *program) const { tw_program_free(program); }
  };
  bool takes(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, std::string &error) const;

  std::unique_ptr<tw_program, Free> program;
};

/// An array of the host that a program on a device takes.
struct HostArray {
  void *data = nullptr;
  int64_t bytes = 0;
  bool isWritten = false;
};

/// `device.launch`, told to the profilers of the runtime. `clock`: as in LaunchProgram; where a profiler measures, it
/// waits for the launch. False with `error`.
bool launchProfiled(Device &device, const Launch &launch, tw_activity activity, const std::function<double()> &clock,
                    std::string &error);

/// Calls `run` with copies of `arrays` on `device`, then copies back those that are written. False with `error`.
bool withCopies(Device &device, llvm::ArrayRef<HostArray> arrays, std::string &error,
                llvm::function_ref<bool(llvm::ArrayRef<void *> copies)> run);

/// The manifest of a module after stage 5 that has one program; empty if it has none or several.
llvm::StringRef manifestOf(mlir::Operation *module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_LAUNCHPROGRAM_H
