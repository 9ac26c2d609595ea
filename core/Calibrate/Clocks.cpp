//===- Clocks.cpp - Where kernels are timed -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emulator by its engines' clocks, a process by the seconds that it answers.
///
//===----------------------------------------------------------------------===//

#include "core/Calibrate/Calibration.h"
#include "core/Pipelines/ExecDevice.h"
#include "core/include/tilewright/Pipeline.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "tilewright/Emulator.h"
#include "tilewright/Target.h"
#include "llvm/ADT/STLExtras.h"

using namespace tilewright;
using namespace tilewright::calibrate;

Clocks::~Clocks() = default;

/// One launch of each kernel on one core, with an array; `clocks` is asked after each.
static llvm::Expected<std::vector<double>> launchAll(Device &device, llvm::ArrayRef<std::string> kernels,
                                                     llvm::function_ref<double()> clocks) {
  std::string error;
  void *array = device.allocate(KernelWriter::arrayBytes, error);
  std::vector<char> zeros(KernelWriter::arrayBytes);
  std::vector<double> result;
  bool works = array && device.copyIn(array, zeros.data(), zeros.size(), error) && device.wait(error);
  for (const std::string &kernel : kernels) {
    Launch launch;
    launch.kernel = kernel;
    launch.pointer(array);
    works = works && device.launch(launch, error) && device.wait(error);
    if (!works)
      break;
    result.push_back(clocks());
  }
  if (array)
    device.release(array);
  if (!works)
    return llvm::createStringError("kernels of the calibration: " + error);
  return result;
}

namespace {
class EmulatedClocks : public Clocks {
public:
  EmulatedClocks(std::shared_ptr<const TargetDescription> chip, const Target &target)
      : chip(std::move(chip)), context(programDialects(), mlir::MLIRContext::Threading::DISABLED) {
    target.emulate(table);
  }
  std::string describe() const override { return "the emulator"; }
  llvm::Expected<std::vector<double>> run(const std::string &module, llvm::ArrayRef<std::string> kernels) override {
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(module, &context);
    if (!parsed)
      return llvm::createStringError("the emulator does not read the kernels of the calibration");
    auto compiled = EmulatedKernels::compile(*parsed, chip, table);
    if (!compiled)
      return compiled.takeError();
    Emulator device(std::move(*compiled));
    device.checks = device.counting = false; // what the kernels read nobody has written
    return launchAll(device, kernels, [&] {
      const auto [begin, end] = device.launchClocks();
      return end - begin;
    });
  }

private:
  std::shared_ptr<const TargetDescription> chip;
  mlir::MLIRContext context;
  EmulationTable table;
};

class ProcessClocks : public Clocks {
public:
  ProcessClocks(std::unique_ptr<ExecDevice> device, double clockMHz) : device(std::move(device)), clockMHz(clockMHz) {}
  std::string describe() const override { return device->describe(); }
  llvm::Expected<std::vector<double>> run(const std::string &module, llvm::ArrayRef<std::string> kernels) override {
    std::string error;
    if (!device->load("mlir", module, error))
      return llvm::createStringError("the device does not load the kernels of the calibration: " + error);
    return launchAll(*device, kernels, [&] { return device->seconds() * clockMHz * 1e6; });
  }

private:
  std::unique_ptr<ExecDevice> device;
  double clockMHz;
};
} // namespace

llvm::Expected<std::unique_ptr<Clocks>> calibrate::emulatedClocks(llvm::StringRef name) {
  auto chip = TargetRegistry::get().describe(name);
  if (!chip)
    return chip.takeError();
  auto target = TargetRegistry::get().targetOf(name);
  if (!target)
    return target.takeError();
  return std::make_unique<EmulatedClocks>(*chip, **target);
}

llvm::Expected<std::unique_ptr<Clocks>> calibrate::processClocks(llvm::StringRef command, llvm::StringRef name,
                                                                 double timeout) {
  auto chip = TargetRegistry::get().describe(name);
  if (!chip)
    return chip.takeError();
  auto device = ExecDevice::open(command, name, timeout);
  if (!device)
    return device.takeError();
  if (!(*device)->isTimed())
    return llvm::createStringError("'" + command + "' does not say how long launches take (\"timed\": true of hello)");
  if (!llvm::is_contained((*device)->kinds(), "mlir"))
    return llvm::createStringError("'" + command +
                                   "' does not load kernels of kind \"mlir\", in which they are written");
  return std::make_unique<ProcessClocks>(std::move(*device), (*chip)->clockMHz());
}
