//===- SinkLoads.cpp - Loads next to what takes them ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Pipelines/SinkLoads.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DataLayout.h"

namespace {
class SinkLoads : public llvm::MachineFunctionPass {
public:
  static char ID;

  explicit SinkLoads(unsigned vectorBytes) : llvm::MachineFunctionPass(ID), vectorBits(8 * vectorBytes) {}

  llvm::StringRef getPassName() const override { return "Tilewright: loads next to what takes them"; }

  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    llvm::MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    registers = &function.getRegInfo();
    target = function.getSubtarget().getRegisterInfo();
    bool changed = false;
    for (llvm::MachineBasicBlock &block : function)
      changed |= sinkIn(block);
    return changed;
  }

private:
  unsigned bitsOf(llvm::Register reg) const {
    const llvm::TargetRegisterClass *ofReg = registers->getRegClassOrNull(reg);
    return ofReg ? target->getRegSizeInBits(*ofReg).getKnownMinValue() : 0;
  }

  /// The vector register that an instruction loads, if that is all it does; it may take addresses alone.
  llvm::Register loadedBy(const llvm::MachineInstr &instr) const {
    if (!instr.mayLoad() || instr.mayStore() || instr.isCall() || instr.hasUnmodeledSideEffects() ||
        instr.hasOrderedMemoryRef() || instr.getNumExplicitDefs() != 1)
      return {};
    const llvm::MachineFunction &function = *instr.getMF();
    const unsigned addressBits = function.getDataLayout().getPointerSizeInBits();
    for (const llvm::MachineOperand &operand : instr.operands()) {
      if (!operand.isReg() || !operand.getReg())
        continue;
      if (!operand.getReg().isVirtual()) {
        if (operand.isDef() || !registers->isConstantPhysReg(operand.getReg()))
          return {};
      } else if (operand.isUse() && bitsOf(operand.getReg()) > addressBits) {
        return {};
      }
    }
    const llvm::Register loaded = instr.getOperand(0).isReg() ? instr.getOperand(0).getReg() : llvm::Register();
    const unsigned bits = loaded.isVirtual() ? bitsOf(loaded) : 0;
    return bits > addressBits && bits <= vectorBits ? loaded : llvm::Register();
  }

  /// Goes through a block from its end, so that a load that moves finds what takes it in its last place.
  bool sinkIn(llvm::MachineBasicBlock &block) const {
    llvm::DenseMap<llvm::Register, llvm::MachineInstr *> firstUse;
    llvm::DenseMap<const llvm::MachineInstr *, unsigned> places; // from the end
    unsigned place = 0, lastChange = 0;                          // of memory, and of what else may not be crossed
    bool changed = false;
    for (llvm::MachineInstr &instr : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (instr.isPHI())
        break;
      if (instr.isDebugInstr())
        continue;
      places[&instr] = ++place;
      if (instr.mayStore() || instr.isCall() || instr.hasUnmodeledSideEffects() || instr.isPosition())
        lastChange = place;
      const llvm::Register loaded = loadedBy(instr);
      llvm::MachineInstr *use = loaded ? firstUse.lookup(loaded) : nullptr;
      if (use && places.lookup(use) > lastChange && std::next(instr.getIterator()) != use->getIterator()) {
        block.splice(use->getIterator(), &block, instr.getIterator());
        for (const llvm::MachineOperand &operand : instr.uses())
          if (operand.isReg() && operand.getReg().isVirtual())
            registers->clearKillFlags(operand.getReg());
        places[&instr] = places.lookup(use);
        changed = true;
      }
      for (const llvm::MachineOperand &operand : instr.uses()) {
        if (!operand.isReg() || !operand.getReg().isVirtual())
          continue;
        llvm::MachineInstr *&first = firstUse[operand.getReg()];
        if (!first || places.lookup(first) <= places.lookup(&instr))
          first = &instr;
      }
    }
    return changed;
  }

  const unsigned vectorBits;
  const llvm::MachineRegisterInfo *registers = nullptr;
  const llvm::TargetRegisterInfo *target = nullptr;
};
} // namespace

char SinkLoads::ID = 0;

llvm::Pass *tilewright::createSinkLoads(unsigned vectorBytes) { return new SinkLoads(vectorBytes); }
