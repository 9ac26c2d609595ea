//===- EmulatedProgram.cpp - A program's launches on the emulator ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels and manifest of a module after stage 5.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/EmulatedProgram.h"
#include "core/Machine/ModuleTarget.h"
#include "tilewright/LaneOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;

//===-- Counts beside launches --------------------------------------------===//

/// Ops that are walked for one launch at most; the emulator executes each once for every lane.
static constexpr int64_t walkBudget = 4'000'000;

CountingEmulator::CountingEmulator(std::shared_ptr<EmulatedKernels> kernels)
    : Emulator(kernels), chip(kernels->chip()) {}
CountingEmulator::~CountingEmulator() = default;

llvm::Error CountingEmulator::countFrom(mlir::ModuleOp given) {
  tiles = launchesOf(given);
  return tiles ? llvm::Error::success() : llvm::createStringError("the tile program cannot be counted");
}

const LaunchCounts &CountingEmulator::countsOf(mlir::func::FuncOp function, const Launch &launch) {
  Numbers numbers = launchNumbers(function, [&](size_t argument) {
    int64_t value = 0;
    if (argument < launch.arguments.size() && launch.arguments[argument].size() == sizeof(value))
      std::memcpy(&value, launch.arguments[argument].data(), sizeof(value));
    return value;
  });
  auto [entry, isNew] = known.try_emplace({launch.kernel, launch.grid, numbers});
  if (isNew)
    entry->second = countLaunch(function, chip, launch.grid, numbers, walkBudget);
  return entry->second;
}

bool CountingEmulator::launch(const Launch &launch, std::string &error) {
  if (auto function = tiles && counting ? tiles->lookupSymbol<mlir::func::FuncOp>(launch.kernel) : nullptr) {
    const LaunchCounts &own = countsOf(function, launch);
    if (auto [sum, isNew] = counts.try_emplace(launch.kernel, own); !isNew)
      sum->second.add(own);
  }
  return Emulator::launch(launch, error);
}

llvm::json::Object EmulatedProgram::predicted(llvm::StringRef kernel) const {
  auto found = device.counts.find(kernel);
  return found == device.counts.end() ? llvm::json::Object() : toJson(found->second, kernels->chip());
}

//===-- Programs ----------------------------------------------------------===//

llvm::Expected<std::unique_ptr<EmulatedProgram>> EmulatedProgram::compile(mlir::ModuleOp module, mlir::ModuleOp tiles) {
  auto found = moduleTargetOf(module);
  if (!found)
    return found.takeError();
  llvm::StringRef manifest = manifestOf(module);
  if (manifest.empty())
    return llvm::createStringError(
        llvm::formatv("'{0}:{1}' runs programs on the host: the emulator executes kernels of chips whose "
                      "programs are launches",
                      found->target->name(), found->chip->chip()));
  auto program = LaunchProgram::read(manifest);
  if (!program)
    return program.takeError();
  EmulationTable table;
  found->target->emulate(table);
  auto kernels = EmulatedKernels::compile(module, found->chip, table);
  if (!kernels)
    return kernels.takeError();
  std::unique_ptr<EmulatedProgram> result(new EmulatedProgram(std::move(*program), std::move(*kernels)));
  if (tiles)
    if (llvm::Error error = result->device.countFrom(tiles))
      return error;
  return result;
}

llvm::Error EmulatedProgram::call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) {
  return program.call(device, sizes, arrays);
}
