//===- Runner.h - Cases on a device -----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles the program of a case, runs it on one device with every kind of values, and
/// judges what comes out. Arrays lie between guards: what is read outside is NaN, what
/// is written outside shows. The second kind of values lies at addresses that are
/// aligned to the element alone.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_RUNNER_H
#define TILEWRIGHT_CORE_CONFORMANCE_RUNNER_H

#include "core/Conformance/Case.h"
#include "core/Pipelines/Executable.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>

namespace tilewright::conformance {

struct UnitProblem; // Units.h

struct RunnerOptions {
  std::string target; // "target:chip"
  std::string device =
      "auto"; // "host", "emulator", "model", "gpu", "exec:PROG"; "auto": where the chip's programs run by themselves
  DeviceOpener opener = nullptr; // of "gpu"
  double timeout = 60;           // seconds that a request to exec:PROG may take
  std::string fp = "default";
  uint64_t seed = 0;
  std::string keep; // directory for the program and the arrays of each case; empty: none
};

class Runner {
public:
  /// Calls a unit's program with the fragments of a problem; `c` is read and written.
  using UnitCall = std::function<llvm::Error(UnitProblem &problem, std::vector<char> &c)>;

  /// Error: the chip or device is unknown, or the device cannot run the chip's code.
  static llvm::Expected<std::unique_ptr<Runner>> create(const RunnerOptions &options);

  Outcome run(const Case &one);
  const TargetDescription &chip() const { return *description; }
  /// "host", "emulator", "model", "gpu" or "exec:PROG".
  llvm::StringRef device() const { return options.device; }
  /// Whether calls take the time that they take on the chip.
  bool hasTime() const { return options.device == "host" || timed; }

private:
  explicit Runner(const RunnerOptions &options);
  Outcome runProgram(const Case &one);
  Outcome runUnit(const CaseUnit &one);
  Outcome runUnitCode(const MatrixUnit &unit);
  Outcome runUnitOnDevice(const MatrixUnit &unit);
  /// The program around a unit (`unitProgram`), compiled and loaded once where `options` say.
  llvm::Expected<UnitCall> loadUnit(mlir::ModuleOp module, const MatrixUnit &unit);
  bool isProcess() const { return llvm::StringRef(options.device).starts_with("exec:"); }
  bool isDriven() const { return options.device == "gpu"; }
  /// Keeps the device of "gpu" open from one case to the next, since opening takes longer than a case.
  llvm::Error holdDevice();
  /// The process of exec:PROG, started for the first case that needs it and again after it broke.
  llvm::Expected<ExecDevice *> openDevice();

  RunnerOptions options;
  std::shared_ptr<const TargetDescription> description;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<ExecDevice> process;
  std::unique_ptr<tw_device, void (*)(tw_device *)> held{nullptr, tw_device_close};
  bool timed = false;
};

/// Writes the program of a case into `directory`, as NAME.mlir with `_` for `/`; nothing where either is missing.
llvm::Error keepProgram(llvm::StringRef directory, const Case &one);

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_RUNNER_H
