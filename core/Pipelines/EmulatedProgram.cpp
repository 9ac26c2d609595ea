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

#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;

llvm::Expected<std::unique_ptr<EmulatedProgram>> EmulatedProgram::compile(mlir::ModuleOp module) {
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
  for (mlir::Operation &op : *module.getBody())
    if (auto predicted = op.getAttrOfType<mlir::DictionaryAttr>(predictedAttr))
      result->predictions[mlir::cast<mlir::SymbolOpInterface>(op).getName()] = predictionToJson(predicted);
  return result;
}

llvm::Error EmulatedProgram::call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) {
  return program.call(device, sizes, arrays);
}
