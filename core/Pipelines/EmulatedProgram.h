//===- EmulatedProgram.h - A program's launches on the emulator ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a host does for a program whose kernels run on a device, done with the
/// emulator: arrays and temporaries are allocated, the launches of the manifest
/// run in order, results are copied back.
///
///   {"entry": "mlp", "arguments": [...], "temporaries": [{"bytes": E}],
///    "launches": [{"kernel": "mlp_0", "threads": 128, "shared": 65536, "grid": [E, E, E],
///                  "arguments": [{"array": 0}, {"temporary": 0}, {"value": E}]}]}
///
/// An expression E is a number, {"size": i}, or [op, E, E] with one of + - * floordiv ceildiv mod max min.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_EMULATEDPROGRAM_H
#define TILEWRIGHT_CORE_PIPELINES_EMULATEDPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "tilewright/Emulator.h"

namespace tilewright {

class EmulatedProgram {
public:
  /// `module`: after stage 5, for a chip whose programs are launches. An error says what is missing.
  static llvm::Expected<std::unique_ptr<EmulatedProgram>> compile(mlir::ModuleOp module);

  /// Runs the program once: the sizes, then address and bytes of each argument.
  llvm::Error call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<std::pair<void *, int64_t>> arguments);

  /// The order of events of the next calls.
  void setMode(const EmulatorMode &mode) { device->mode = mode; }
  /// Every order of the lanes and of the engines that the kernels use.
  std::vector<EmulatorMode> modes() const { return allModes(kernels->engines()); }
  /// Of all calls so far.
  const std::vector<Finding> &findings() const { return device->findings(); }
  std::vector<KernelCounters> counters() const { return device->counters(); }

private:
  llvm::Error launch(const llvm::json::Object &launch, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<void *> arrays, llvm::ArrayRef<void *> temporaries);

  std::shared_ptr<EmulatedKernels> kernels;
  std::unique_ptr<Emulator> device;
  llvm::json::Value manifest = nullptr;
};

/// The value of an expression of a manifest.
llvm::Expected<int64_t> evaluate(const llvm::json::Value &expression, llvm::ArrayRef<int64_t> sizes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_EMULATEDPROGRAM_H
