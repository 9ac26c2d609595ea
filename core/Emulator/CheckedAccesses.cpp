//===- CheckedAccesses.cpp - Loads and stores that the runtime sees -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each access of a kernel to memory that others see asks the runtime first, which
/// checks and counts it and says where to go.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Rewriter.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;
using namespace tilewright;

/// Whether an address is that of an alloca or of a constant of the module.
static bool isPrivate(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (isa<LLVM::AllocaOp, LLVM::AddressOfOp>(op))
      return true;
    if (!isa<LLVM::GEPOp, LLVM::BitcastOp, LLVM::AddrSpaceCastOp>(op))
      return false;
    pointer = op->getOperand(0);
  }
  return false;
}

void KernelRewriter::checkMasked(OpOperand &address, Value mask, Type type, AccessKind kind, uint64_t align) {
  Space space = spaceOf(kernels.table, address.get());
  if (space == Space::Private || isPrivate(address.get()))
    return;
  Operation *op = address.getOwner();
  OpBuilder builder(op);
  Location loc = op->getLoc();
  DataLayout layout(module);
  auto vector = cast<VectorType>(type);
  uint64_t elementBytes = layout.getTypeSize(vector.getElementType());
  shared.narrow(space, elementBytes, align, elementBytes * vector.getNumElements());
  uint32_t site = shared.site(op, kind, space, 0, align);
  // The elements from the first to the last one that the mask has.
  int64_t lanes = vector.getNumElements();
  Type bits = builder.getIntegerType(lanes), i64 = builder.getI64Type();
  auto wide = [&](Value value) -> Value {
    if (lanes == 64)
      return value;
    return lanes > 64 ? LLVM::TruncOp::create(builder, loc, i64, value).getResult()
                      : LLVM::ZExtOp::create(builder, loc, i64, value).getResult();
  };
  auto number = [&](Type type, int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  };
  Value set = lanes == 1 ? LLVM::ExtractElementOp::create(builder, loc, mask, number(i64, 0)).getResult()
                         : LLVM::BitcastOp::create(builder, loc, bits, mask).getResult();
  Value first = wide(LLVM::CountTrailingZerosOp::create(builder, loc, bits, set, /*is_zero_poison=*/false));
  Value after = LLVM::SubOp::create(builder, loc, number(i64, lanes),
                                    wide(LLVM::CountLeadingZerosOp::create(builder, loc, bits, set, false)));
  auto plain = LLVM::LLVMPointerType::get(builder.getContext());
  Value checked = shared.call(
      builder, loc, "tw_emulator_masked", plain,
      {shared.lane(op), number(builder.getI32Type(), site), address.get(), first, after, number(i64, elementBytes)});
  if (address.get().getType() != plain)
    checked = LLVM::AddrSpaceCastOp::create(builder, loc, address.get().getType(), checked);
  address.set(checked);
}

LogicalResult KernelRewriter::checkAccess(Operation *op) {
  if (op->hasAttr(internalAccess)) {
    op->removeAttr(internalAccess);
    return success();
  }
  OpBuilder builder(op);
  DataLayout layout(module);
  auto check = [&](OpOperand &address, Type type, AccessKind kind, std::optional<uint64_t> alignment) {
    Space space = spaceOf(kernels.table, address.get());
    if (space == Space::Private || isPrivate(address.get()))
      return;
    uint64_t bytes = layout.getTypeSize(type);
    uint64_t align = alignment.value_or(0) ? *alignment : layout.getTypeABIAlignment(type);
    shared.narrow(space, bytes, align);
    uint32_t site = shared.site(op, kind, space, bytes, align);
    Location loc = op->getLoc();
    Type i32 = builder.getI32Type();
    Value number = LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(site));
    auto plain = LLVM::LLVMPointerType::get(builder.getContext());
    Value checked = shared.call(builder, loc, "tw_emulator_access", plain, {shared.lane(op), number, address.get()});
    if (address.get().getType() != plain)
      checked = LLVM::AddrSpaceCastOp::create(builder, loc, address.get().getType(), checked);
    address.set(checked);
  };
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    check(load.getAddrMutable(), load.getType(), AccessKind::Read, load.getAlignment());
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    check(store.getAddrMutable(), store.getValue().getType(), AccessKind::Write, store.getAlignment());
  } else if (auto update = dyn_cast<LLVM::AtomicRMWOp>(op)) {
    check(update.getPtrMutable(), update.getVal().getType(), AccessKind::Atomic, update.getAlignment());
  } else if (auto exchange = dyn_cast<LLVM::AtomicCmpXchgOp>(op)) {
    check(exchange.getPtrMutable(), exchange.getVal().getType(), AccessKind::Atomic, exchange.getAlignment());
  } else if (auto masked = dyn_cast<LLVM::MaskedLoadOp>(op)) {
    checkMasked(masked.getDataMutable(), masked.getMask(), masked.getType(), AccessKind::Read, masked.getAlignment());
  } else if (auto masked = dyn_cast<LLVM::MaskedStoreOp>(op)) {
    checkMasked(masked.getDataMutable(), masked.getMask(), masked.getValue().getType(), AccessKind::Write,
                masked.getAlignment());
  } else if (isa<LLVM::MemcpyOp, LLVM::MemsetOp, LLVM::MemmoveOp>(op)) {
    for (Value operand : op->getOperands()) {
      if (isa<LLVM::LLVMPointerType>(operand.getType()) && !isPrivate(operand))
        return op->emitError("the emulator checks this access only on a lane's own memory");
    }
  }
  return success();
}
