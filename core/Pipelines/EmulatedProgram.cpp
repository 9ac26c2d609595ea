//===- EmulatedProgram.cpp - A program's launches on the emulator ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels from the module, steps from its manifest.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/EmulatedProgram.h"
#include "core/CostModel/LanePrediction.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::createStringError;
using llvm::formatv;

llvm::Expected<std::unique_ptr<EmulatedProgram>> EmulatedProgram::compile(mlir::ModuleOp module) {
  auto chip = targetOf(module);
  if (!chip)
    return chip.takeError();
  auto target = TargetRegistry::get().target((*chip)->target());
  if (!target)
    return target.takeError();
  auto manifests = module->getAttrOfType<mlir::ArrayAttr>(manifestsAttr);
  auto text = manifests && manifests.size() == 1 ? mlir::dyn_cast<mlir::StringAttr>(manifests[0]) : mlir::StringAttr();
  if (!text)
    return createStringError(
        formatv("'{0}:{1}' runs programs on the host: the emulator executes kernels of chips whose "
                "programs are launches",
                (*chip)->target(), (*chip)->chip()));
  auto read = LaunchProgram::read(text.getValue());
  if (!read)
    return read.takeError();
  EmulationTable table;
  (*target)->emulate(table);
  auto kernels = EmulatedKernels::compile(module, *chip, table);
  if (!kernels)
    return kernels.takeError();
  std::unique_ptr<EmulatedProgram> program(new EmulatedProgram(std::move(*read)));
  for (mlir::Operation &op : *module.getBody())
    if (auto predicted = op.getAttrOfType<mlir::DictionaryAttr>(predictedAttr))
      program->predictions[mlir::cast<mlir::SymbolOpInterface>(op).getName()] = predictionToJson(predicted);
  program->kernels = *kernels;
  program->device = std::make_unique<Emulator>(std::move(*kernels));
  return program;
}

llvm::Error EmulatedProgram::call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<std::pair<void *, int64_t>> arguments) {
  std::vector<void *> arrays;
  auto releaseAll = llvm::make_scope_exit([&] {
    for (void *memory : arrays)
      device->release(memory);
  });
  std::string error;
  for (auto [memory, bytes] : arguments) {
    void *copy = device->allocate(std::max<int64_t>(1, bytes), error);
    if (!copy)
      return createStringError(error);
    arrays.push_back(copy);
    if (bytes && !device->copyIn(copy, memory, bytes, error))
      return createStringError(error);
  }
  if (!program.run(*device, sizes, arrays, error))
    return createStringError(error);
  for (auto [argument, copy] : llvm::zip(arguments, arrays))
    if (argument.second && !device->copyOut(argument.first, copy, argument.second, error))
      return createStringError(error);
  return llvm::Error::success();
}
