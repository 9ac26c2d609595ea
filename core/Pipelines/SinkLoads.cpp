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

using namespace llvm;

namespace {
class SinkLoads : public MachineFunctionPass {
public:
  static char ID;

  explicit SinkLoads(unsigned vectorBytes) : MachineFunctionPass(ID), vectorBits(8 * vectorBytes) {}

  StringRef getPassName() const override { return "Tilewright: loads next to what takes them"; }

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    registers = &function.getRegInfo();
    target = function.getSubtarget().getRegisterInfo();
    bool changed = false;
    for (MachineBasicBlock &block : function)
      changed |= sinkIn(block);
    return changed;
  }

private:
  unsigned bitsOf(Register reg) const {
    const TargetRegisterClass *ofReg = registers->getRegClassOrNull(reg);
    return ofReg ? target->getRegSizeInBits(*ofReg).getKnownMinValue() : 0;
  }

  /// The vector register that an instruction loads, if that is all it does; it may take addresses alone.
  Register loadedBy(const MachineInstr &instr) const {
    if (!instr.mayLoad() || instr.mayStore() || instr.isCall() || instr.hasUnmodeledSideEffects() ||
        instr.hasOrderedMemoryRef() || instr.getNumExplicitDefs() != 1)
      return {};
    const MachineFunction &function = *instr.getMF();
    const unsigned addressBits = function.getDataLayout().getPointerSizeInBits();
    for (const MachineOperand &operand : instr.operands()) {
      if (!operand.isReg() || !operand.getReg())
        continue;
      if (!operand.getReg().isVirtual()) {
        if (operand.isDef() || !registers->isConstantPhysReg(operand.getReg()))
          return {};
      } else if (operand.isUse() && bitsOf(operand.getReg()) > addressBits) {
        return {};
      }
    }
    const Register loaded = instr.getOperand(0).isReg() ? instr.getOperand(0).getReg() : Register();
    const unsigned bits = loaded.isVirtual() ? bitsOf(loaded) : 0;
    return bits > addressBits && bits <= vectorBits ? loaded : Register();
  }

  /// Goes through a block from its end, so that a load that moves finds what takes it in its last place.
  bool sinkIn(MachineBasicBlock &block) const {
    DenseMap<Register, MachineInstr *> firstUse;
    DenseMap<const MachineInstr *, unsigned> places; // from the end
    unsigned place = 0, lastChange = 0;              // of memory, and of what else may not be crossed
    bool changed = false;
    for (MachineInstr &instr : make_early_inc_range(reverse(block))) {
      if (instr.isPHI())
        break;
      if (instr.isDebugInstr())
        continue;
      places[&instr] = ++place;
      if (instr.mayStore() || instr.isCall() || instr.hasUnmodeledSideEffects() || instr.isPosition())
        lastChange = place;
      const Register loaded = loadedBy(instr);
      MachineInstr *use = loaded ? firstUse.lookup(loaded) : nullptr;
      if (use && places.lookup(use) > lastChange && std::next(instr.getIterator()) != use->getIterator()) {
        block.splice(use->getIterator(), &block, instr.getIterator());
        places[&instr] = places.lookup(use);
        changed = true;
      }
      for (const MachineOperand &operand : instr.uses()) {
        if (!operand.isReg() || !operand.getReg().isVirtual())
          continue;
        registers->clearKillFlags(operand.getReg());
        MachineInstr *&first = firstUse[operand.getReg()];
        if (!first || places.lookup(first) <= places.lookup(&instr))
          first = &instr;
      }
    }
    return changed;
  }

  const unsigned vectorBits;
  const MachineRegisterInfo *registers = nullptr;
  const TargetRegisterInfo *target = nullptr;
};
} // namespace

char SinkLoads::ID = 0;

Pass *tilewright::createSinkLoads(unsigned vectorBytes) { return new SinkLoads(vectorBytes); }
