//===- EmulatedProgram.h - A program's launches on the emulator ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program whose kernels are launched, with the emulator as its device: orders
/// of events, findings and counters. What the host does is LaunchProgram's.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_EMULATEDPROGRAM_H
#define TILEWRIGHT_CORE_PIPELINES_EMULATEDPROGRAM_H

#include "core/Pipelines/LaunchProgram.h"
#include "core/Pipelines/PlacedProgram.h"
#include "core/Transforms/Host/StaticCounts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/Emulator.h"

#include <map>

namespace tilewright {

/// The emulator, which counts beside each launch what its tile program says.
class CountingEmulator : public Emulator {
public:
  explicit CountingEmulator(std::shared_ptr<EmulatedKernels> kernels);
  ~CountingEmulator() override;
  /// `tiles`: the program after stage 4, of which a copy is kept.
  llvm::Error countFrom(mlir::ModuleOp tiles);
  bool launch(const Launch &launch, std::string &error) override;

  llvm::StringMap<LaunchCounts> counts; // of all counted launches of a kernel since they were cleared

private:
  using Numbers = llvm::SmallVector<llvm::SmallVector<int64_t>>;
  /// Counts of one launch; those of an equal one are asked for once, as launches in every order of events are.
  const LaunchCounts &countsOf(mlir::func::FuncOp function, const Launch &launch);

  const TargetDescription &chip;
  mlir::OwningOpRef<mlir::ModuleOp> tiles;
  std::map<std::tuple<std::string, std::array<uint32_t, 3>, Numbers>, LaunchCounts> known; // by kernel, grid, numbers
};

class EmulatedProgram : public PlacedProgram {
public:
  /// `module`: after stage 5, for a chip whose programs are launches; `tiles`: after stage 4, null where nobody asks
  /// for its counts. An error says what is missing.
  static llvm::Expected<std::unique_ptr<EmulatedProgram>> compile(mlir::ModuleOp module, mlir::ModuleOp tiles = {});

  llvm::Error call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) override;
  std::string describe() const override { return device.describe(); }

  /// The order of events of the next calls.
  void setMode(const EmulatorMode &mode) { device.mode = mode; }
  /// Whether the next calls are counted.
  void setCounting(bool counting) { device.counting = counting; }
  /// Every order of the lanes and of the engines that the kernels use.
  std::vector<EmulatorMode> modes() const { return allModes(kernels->engines()); }
  /// Of all calls so far; counters of those since `resetCounters`.
  const std::vector<Finding> &findings() const { return device.findings(); }
  std::vector<KernelCounters> counters() const { return device.counters(); }
  /// Barriers of whole blocks that a kernel passed.
  uint64_t barriers(llvm::StringRef kernel) const { return device.barriers(kernel); }
  /// What the tile program of a kernel says of its launches since `resetCounters`, by the names of the counters; empty
  /// where nobody asked for it.
  llvm::json::Object predicted(llvm::StringRef kernel) const;
  /// Counters are those of the next calls.
  void resetCounters() {
    device.resetCounters();
    device.counts.clear();
  }
  /// Keeps what engines do from now on, for `trace`.
  void startTrace() { device.tracing = true; }
  const std::vector<TraceEvent> &trace() const { return device.trace(); }
  /// Emulator::launchClocks, in seconds of the chip.
  std::pair<double, double> launchSeconds() const {
    const double rate = kernels->chip().clockMHz() * 1e6;
    const auto [begin, end] = device.launchClocks();
    return {begin / rate, end / rate};
  }

private:
  EmulatedProgram(LaunchProgram program, std::shared_ptr<EmulatedKernels> kernels)
      : program(std::move(program)), kernels(kernels), device(std::move(kernels)) {}

  LaunchProgram program;
  std::shared_ptr<EmulatedKernels> kernels;
  CountingEmulator device;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_EMULATEDPROGRAM_H
