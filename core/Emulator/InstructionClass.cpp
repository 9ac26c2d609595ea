//===- InstructionClass.cpp - What an op costs a lane ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Classes of the LLVM dialect's ops by their kind, of other ops by what they
/// take and give.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/InstructionClass.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

namespace {
/// In the order of instructionClasses.
enum Class { Integer, Float, Convert, Access, Control, Special, Synchronise, Nothing };
} // namespace

static Class classOf(Operation *op) {
  if (isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp>(op))
    return Access;
  if (isa<LLVM::BrOp, LLVM::CondBrOp, LLVM::SwitchOp, LLVM::ReturnOp>(op))
    return Control;
  if (isa<LLVM::FAddOp, LLVM::FSubOp, LLVM::FMulOp, LLVM::FDivOp, LLVM::FNegOp, LLVM::FCmpOp, LLVM::FMAOp,
          LLVM::FMulAddOp, LLVM::MaxNumOp, LLVM::MinNumOp, LLVM::MaximumOp, LLVM::MinimumOp, LLVM::FAbsOp>(op))
    return Float;
  if (isa<LLVM::FPExtOp, LLVM::FPTruncOp, LLVM::FPToSIOp, LLVM::FPToUIOp, LLVM::SIToFPOp, LLVM::UIToFPOp, LLVM::TruncOp,
          LLVM::SExtOp, LLVM::ZExtOp>(op))
    return Convert;
  if (isa<LLVM::AddOp, LLVM::SubOp, LLVM::MulOp, LLVM::SDivOp, LLVM::UDivOp, LLVM::SRemOp, LLVM::URemOp, LLVM::AndOp,
          LLVM::OrOp, LLVM::XOrOp, LLVM::ShlOp, LLVM::LShrOp, LLVM::AShrOp, LLVM::ICmpOp, LLVM::SelectOp,
          LLVM::ShuffleVectorOp, LLVM::SMaxOp, LLVM::SMinOp, LLVM::UMaxOp, LLVM::UMinOp>(op))
    return Integer;
  if (auto call = dyn_cast<LLVM::CallOp>(op)) {
    if (call.getCallee() && call.getCallee()->starts_with("tilewright.unit."))
      return Nothing;
    if (call.getNumResults())
      return Special;
    bool touches = llvm::any_of(call.getArgOperands(), [](Value v) { return isa<LLVM::LLVMPointerType>(v.getType()); });
    return touches ? Access : Synchronise;
  }
  if (op->getName().getStringRef().starts_with("llvm.intr."))
    return op->getNumResults() ? Special : Nothing;
  if (isa<LLVM::LLVMDialect>(op->getDialect()))
    return Nothing;
  // An op of a target.
  if (op->getNumOperands() == 0 && op->getNumResults() == 1)
    return Integer;
  bool touches = llvm::any_of(op->getOperands(), [](Value v) { return isa<LLVM::LLVMPointerType>(v.getType()); });
  return touches ? Access : op->getNumResults() ? Special : Synchronise;
}

/// Bits of the widest value that the op makes or takes.
static int64_t bitsOf(Operation *op) {
  int64_t most = 32;
  auto add = [&](Type type) {
    int64_t elements = 1;
    if (auto vector = dyn_cast<VectorType>(type)) {
      elements = vector.getNumElements();
      type = vector.getElementType();
    }
    if (type.isIntOrFloat())
      most = std::max<int64_t>(most, elements * type.getIntOrFloatBitWidth());
  };
  for (Type type : op->getResultTypes())
    add(type);
  for (Type type : op->getOperandTypes())
    add(type);
  return most;
}

/// The part of a struct that the op takes out of it, if it was put in.
static Value partOf(LLVM::ExtractValueOp op) {
  Value whole = op.getContainer();
  while (auto insert = whole.getDefiningOp<LLVM::InsertValueOp>()) {
    if (insert.getPosition() == op.getPosition())
      return insert.getValue();
    whole = insert.getContainer();
  }
  return {};
}

/// Whether addresses lie in a global of the scratchpad: seen through the struct that stands for an array of several
/// dimensions.
static bool pointsToScratchpad(Value pointers, const EmulatedKernels::Impl &kernels) {
  while (Operation *op = pointers.getDefiningOp()) {
    if (isa<LLVM::AddressOfOp>(op)) {
      const unsigned space = cast<LLVM::LLVMPointerType>(pointers.getType()).getAddressSpace();
      return kernels.table.meaning(space) == Space::Scratchpad;
    }
    if (auto part = dyn_cast<LLVM::ExtractValueOp>(op))
      pointers = partOf(part);
    else if (isa<LLVM::GEPOp, LLVM::BitcastOp, LLVM::AddrSpaceCastOp>(op))
      pointers = op->getOperand(0);
    else
      return false;
    if (!pointers)
      return false;
  }
  return false;
}

/// Clocks of a gather or scatter on a core, by its elements; nullopt: it is no such op, or one access.
static std::optional<double> gatherClocks(Operation *op, const EmulatedKernels::Impl &kernels) {
  auto gather = dyn_cast<LLVM::masked_gather>(op);
  auto scatter = dyn_cast<LLVM::masked_scatter>(op);
  if (!kernels.timed || (!gather && !scatter))
    return std::nullopt;
  auto vector = cast<VectorType>(gather ? gather.getType() : scatter.getValue().getType());
  const int64_t bytes = llvm::divideCeil(vector.getElementTypeBitWidth(), 8), elements = vector.getNumElements();
  auto single = kernels.coreAccess.elementClocks(bytes);
  if (pointsToScratchpad(gather ? gather.getPtrs() : scatter.getPtrs(), kernels))
    return single ? std::optional(elements * *single) : std::nullopt;
  return elements * kernels.coreAccess.globalClocks(bytes, bool(gather));
}

void tilewright::addInstruction(BlockCost &cost, Operation *op, int64_t vectorBytes,
                                const EmulatedKernels::Impl &kernels) {
  if (auto clocks = gatherClocks(op, kernels)) {
    cost.instructions[Access] += 1;
    cost.cycles += *clocks;
    return;
  }
  Class kind = classOf(op);
  if (kind == Nothing)
    return;
  int64_t registers = 1;
  if (kind == Integer || kind == Float || kind == Convert || kind == Special || vectorBytes)
    registers = llvm::divideCeil(bitsOf(op), vectorBytes ? vectorBytes * 8 : 32);
  // A double or a 64-bit integer is one instruction of a lane.
  if (!vectorBytes && llvm::none_of(op->getResultTypes(), [](Type type) { return isa<VectorType>(type); }))
    registers = 1;
  cost.instructions[kind] += registers;
  cost.cycles += registers;
}
