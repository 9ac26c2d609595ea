//===- CheckEngineFences.cpp - Lanes publish what engines read ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asks the static check of core/Emulator/FenceCheck.h on chips that have engines
/// or units which use the scratchpad beside the lanes.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Emulator/FenceCheck.h"
#include "core/Machine/ModuleTarget.h"
#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Passes.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

namespace tilewright {
#define GEN_PASS_DEF_CHECKENGINEFENCES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Whether something of the chip uses a memory that the lanes of a block write, by a way of its own.
static bool hasFencedEngines(const TargetDescription &chip) {
  auto isOfGroup = [](const MatrixUnit &unit) {
    return (unit.scopeCount > 1 || accumulatesInBlock(unit)) && readsScratchpad(unit);
  };
  return chip.graph().blockMemory() && (tileEngine(chip) || llvm::any_of(chip.units(), isOfGroup));
}

namespace {
struct CheckEngineFences : tilewright::impl::CheckEngineFencesBase<CheckEngineFences> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto found = moduleTargetOf(module);
    if (!found) {
      module.emitError() << llvm::toString(found.takeError());
      return signalPassFailure();
    }
    EmulationTable table;
    found->target->emulate(table);
    if (hasFencedEngines(*found->chip) && failed(checkEngineFences(module, found->chip, table)))
      signalPassFailure();
  }
};
} // namespace
