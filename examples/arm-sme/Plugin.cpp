//===- Plugin.cpp - The target `sme` --------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The chips of Chips.td, and the one routine that their code calls.
///
//===----------------------------------------------------------------------===//

#include "tilewright/TableTarget.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include "Chips.inc"

namespace {

/// `__arm_tpidr2_save` of the procedure call standard: a function with a ZA of its own saves that of a caller first,
/// into the block at TPIDR2 (address, number of slices, zeros). Weak: a library that has the routine may give it.
constexpr llvm::StringLiteral saveRoutine = R"(
  .arch_extension sme
  .text
  .p2align 2
  .weak __arm_tpidr2_save
  .hidden __arm_tpidr2_save
  .type __arm_tpidr2_save, %function
__arm_tpidr2_save:
  mrs x16, tpidr2_el0
  cbz x16, 2f
  ldrh w14, [x16, #10]
  ldr w15, [x16, #12]
  orr w14, w14, w15
  cbnz w14, 3f
  ldrh w14, [x16, #8]
  ldr x16, [x16]
  cbz x16, 2f
  mov w15, wzr
1:
  cmp w15, w14
  b.hs 2f
  str za[w15, 0], [x16]
  addsvl x16, x16, #1
  add w15, w15, #1
  b 1b
2:
  ret
3:
  brk #1
  .size __arm_tpidr2_save, . - __arm_tpidr2_save
)";

struct AddSaveRoutine : mlir::PassWrapper<AddSaveRoutine, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddSaveRoutine)
  llvm::StringRef getArgument() const final { return "sme-add-save-routine"; }
  llvm::StringRef getDescription() const final { return "Give the program the routine that saves a caller's ZA"; }
  void runOnOperation() final {
    mlir::Builder builder(&getContext());
    getOperation()->setAttr(mlir::LLVM::LLVMDialect::getModuleLevelAsmAttrName(),
                            builder.getStrArrayAttr({saveRoutine}));
  }
};

class SmeTarget : public tilewright::TableTarget {
public:
  SmeTarget() : TableTarget("sme", "Arm cores with the Scalable Matrix Extension", sme::recordedChips()) {
    mlir::PassRegistration<AddSaveRoutine>();
  }
  void extendPipeline(tilewright::PipelineSlot slot, mlir::OpPassManager &pm,
                      const tilewright::TargetDescription &) const override {
    if (slot == tilewright::PipelineSlot::AfterMap)
      pm.addPass(std::make_unique<AddSaveRoutine>());
  }
};

} // namespace

TILEWRIGHT_TARGET_PLUGIN(sme, "1.0", SmeTarget)
