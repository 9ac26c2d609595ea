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
#include "core/CostModel/Time/LaunchPrediction.h"
#include "core/Machine/ModuleTarget.h"
#include "tilewright/LaneOps.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;

//===-- Counts beside launches --------------------------------------------===//

/// Ops that are walked for one launch at most; the emulator executes each once for every lane.
static constexpr int64_t walkBudget = 4'000'000;

CountingEmulator::CountingEmulator(std::shared_ptr<EmulatedKernels> kernels)
    : Emulator(kernels), chip(kernels->chip()) {}
CountingEmulator::~CountingEmulator() = default;

llvm::Error CountingEmulator::countFrom(mlir::ModuleOp given) {
  tiles = given.clone();
  for (auto function : llvm::make_early_inc_range(tiles->getOps<mlir::func::FuncOp>()))
    if (!launchShapeOf(function))
      function.erase();
  mlir::PassManager passes(tiles->getContext());
  passes.addPass(mlir::createLowerAffinePass());
  return mlir::succeeded(passes.run(*tiles)) ? llvm::Error::success()
                                             : llvm::createStringError("the tile program cannot be counted");
}

/// What a kernel takes for each argument of its tile program: a number, or a pointer and the array's dynamic sizes.
static llvm::SmallVector<llvm::SmallVector<int64_t>> numbersOf(mlir::func::FuncOp function, const Launch &launch) {
  llvm::SmallVector<llvm::SmallVector<int64_t>> numbers;
  size_t next = 0;
  auto number = [&] {
    int64_t value = 0;
    if (next < launch.arguments.size() && launch.arguments[next].size() == sizeof(value))
      std::memcpy(&value, launch.arguments[next].data(), sizeof(value));
    ++next;
    return value;
  };
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto type = mlir::dyn_cast<mlir::MemRefType>(argument.getType());
    auto &list = numbers.emplace_back();
    if (!type) {
      list.push_back(number());
      continue;
    }
    ++next;
    for (int64_t i = 0, count = type.getNumDynamicDims(); i < count; ++i)
      list.push_back(number());
  }
  return numbers;
}

bool CountingEmulator::launch(const Launch &launch, std::string &error) {
  if (tiles)
    if (auto function = tiles->lookupSymbol<mlir::func::FuncOp>(launch.kernel))
      counts[launch.kernel].add(countLaunch(function, chip, launch.grid, numbersOf(function, launch), walkBudget));
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
  for (mlir::Operation &op : *module.getBody())
    if (auto predicted = op.getAttrOfType<mlir::DictionaryAttr>(predictedAttr))
      result->plans[mlir::cast<mlir::SymbolOpInterface>(op).getName()] = predictionToJson(predicted);
  return result;
}

llvm::Error EmulatedProgram::call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) {
  return program.call(device, sizes, arrays);
}
