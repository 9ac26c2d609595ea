//===- Plugin.cpp - The AMD target -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// AMD's GPUs: their chips are the records of Chips.td.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "targets/amd/Chips.h"
#include "tilewright/TableTarget.h"

#include "Chips.inc" // the tables of Chips.td, in terms of the header above

using namespace tilewright;

namespace {
class AmdTarget : public TableTarget {
public:
  AmdTarget() : TableTarget("amd", "GPUs of AMD", amd::recordedChips()) {}
  std::unique_ptr<LaneOps> laneOps(const TargetDescription &chip) const override { return amd::laneOps(chip); }
  void emulate(EmulationTable &table) const override { amd::emulate(table); }
  std::vector<std::string> imageKinds() const override { return {"hsaco", "s"}; }
  llvm::Expected<std::string> image(llvm::StringRef kind, llvm::Module &module,
                                    CodeGenerator &generator) const override {
    return amd::image(kind, module, generator);
  }
  void registerDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<mlir::ROCDL::ROCDLDialect>();
    mlir::registerROCDLDialectTranslation(registry);
  }
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(amd, "1.0", AmdTarget)
