//===- Plugin.cpp - The NVIDIA target -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// NVIDIA's GPUs: their chips are the records of Chips.td.
///
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "targets/nvidia/Chips.h"
#include "tilewright/TableTarget.h"

#include "Chips.inc" // the tables of Chips.td, in terms of the header above

using namespace tilewright;

namespace {
class NvidiaTarget : public TableTarget {
public:
  NvidiaTarget() : TableTarget("nvidia", "GPUs of NVIDIA", nvidia::recordedChips()) {}
  std::unique_ptr<LaneOps> laneOps(const TargetDescription &chip) const override { return nvidia::laneOps(chip); }
  void emulate(EmulationTable &table) const override { nvidia::emulate(table); }
  std::vector<std::string> imageKinds() const override { return {"ptx", "cubin"}; }
  llvm::Expected<std::string> image(llvm::StringRef kind, llvm::Module &module,
                                    CodeGenerator &generator) const override {
    return nvidia::image(kind, module, generator);
  }
  void registerDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<mlir::NVVM::NVVMDialect>();
    mlir::registerNVVMDialectTranslation(registry);
    mlir::registerConvertNVVMToLLVMInterface(registry);
  }
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(nvidia, "1.0", NvidiaTarget)
