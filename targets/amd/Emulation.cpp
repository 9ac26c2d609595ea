//===- Emulation.cpp - ROCDL ops as primitives of the emulator --------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What each op that Lowering.cpp makes means. The emulator knows what records of
/// Chips.td do.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Emulation.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "targets/amd/Chips.h"

using namespace mlir;
using namespace tilewright;

/// The sum of `offsets` (i32, without sign; the sum does not wrap) in bytes behind the start of a described range.
static Value addressOf(EmulationBuilder &b, Value resource, ValueRange offsets) {
  Value address = b.resourceBase(resource);
  for (Value offset : offsets) {
    Value wide = LLVM::ZExtOp::create(b.ir(), b.loc(), b.ir().getI64Type(), offset);
    address = LLVM::GEPOp::create(b.ir(), b.loc(), address.getType(), b.ir().getI8Type(), address,
                                  ArrayRef<LLVM::GEPArg>{wide});
  }
  return address;
}

static Value isInRange(EmulationBuilder &b, Value resource, Value offset) {
  offset = LLVM::ZExtOp::create(b.ir(), b.loc(), b.ir().getI64Type(), offset);
  return LLVM::ICmpOp::create(b.ir(), b.loc(), LLVM::ICmpPredicate::ult, offset, b.resourceBytes(resource));
}

/// Loads through descriptors: zeros where the lane's offset is not below the size. An address below it that is beyond
/// the array is a finding.
static void emulateBuffers(EmulationTable &table) {
  table.space(amd::resourceSpace, Space::Resource);
  table.on(ROCDL::MakeBufferRsrcOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto make = cast<ROCDL::MakeBufferRsrcOp>(op);
    b.replace(b.resource(make.getRes().getType(), make.getBase(), make.getNumRecords()));
    return success();
  });
  // Its own group each: the counter of the device counts instructions. Lanes write one behind the other.
  table.on(ROCDL::RawPtrBufferLoadLdsOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto copy = cast<ROCDL::RawPtrBufferLoadLdsOp>(op);
    auto size = copy.getSize().getDefiningOp<LLVM::ConstantOp>();
    if (!size)
      return b.refuse("only copies of a constant size are known");
    int64_t bytes = cast<IntegerAttr>(size.getValue()).getInt();
    Value inRange = isInRange(b, copy.getRsrc(), copy.getVoffset());
    Value zero = b.constant(32, 0);
    Value offset = LLVM::SelectOp::create(b.ir(), b.loc(), inRange, copy.getVoffset(), zero);
    Value valid = LLVM::SelectOp::create(b.ir(), b.loc(), inRange, b.constant(32, bytes), zero);
    Value place = LLVM::MulOp::create(b.ir(), b.loc(), b.fact(LaneFact::LaneInSubgroup), b.constant(32, bytes));
    place = LLVM::AddOp::create(b.ir(), b.loc(), place, copy.getOffset());
    Value to = LLVM::GEPOp::create(b.ir(), b.loc(), copy.getLdsPtr().getType(), b.ir().getI8Type(), copy.getLdsPtr(),
                                   ArrayRef<LLVM::GEPArg>{place});
    Value from = addressOf(b, copy.getRsrc(), {offset, copy.getSoffset(), copy.getOffset()});
    b.copyAsync(Engine::Copy, to, from, bytes, valid);
    b.commit(Engine::Copy);
    return success();
  });
  table.on(ROCDL::SWaitcntOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    // As chips before RDNA count; kernels for RDNA have none.
    uint32_t field = cast<ROCDL::SWaitcntOp>(op).getBitfield();
    b.wait(Engine::Copy, b.constant(32, (field & 0xf) | (field >> 10 & 0x30)));
    if (uint32_t lgkmcnt = field >> 8 & 0xf; lgkmcnt == 0)
      b.completeAccesses();
    return success();
  });
  table.on(ROCDL::RawPtrBufferLoadOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto load = cast<ROCDL::RawPtrBufferLoadOp>(op);
    Value address = addressOf(b, load.getRsrc(), {load.getOffset(), load.getSoffset()});
    constexpr unsigned anywhere = 1; // the hardware in its unaligned mode; the chips' field load_alignment relies on it
    b.replace(b.load(load.getRes().getType(), address, anywhere, isInRange(b, load.getRsrc(), load.getOffset())));
    return success();
  });
}

/// Loads of LDS that transpose.
template <typename Op> static void emulateColumns(EmulationTable &table, unsigned elementBytes) {
  table.on(Op::getOperationName(), [elementBytes](Operation *op, EmulationBuilder &b) {
    SmallVector<Value> words = b.loadColumns(op->getOperand(0), elementBytes);
    Type type = VectorType::get(2, b.ir().getI32Type());
    Value joined = LLVM::PoisonOp::create(b.ir(), b.loc(), type);
    for (auto [i, word] : llvm::enumerate(words))
      joined = LLVM::InsertElementOp::create(b.ir(), b.loc(), joined, word, b.constant(32, i));
    b.replace(LLVM::BitcastOp::create(b.ir(), b.loc(), op->getResult(0).getType(), joined).getResult());
    return success();
  });
}

/// Whether a fence orders accesses to LDS: all do but those with tags for other memory alone.
static bool ordersScratchpad(LLVM::FenceOp fence) {
  SmallVector<LLVM::MMRATagAttr> tags;
  Attribute attr = fence->getDiscardableAttr(LLVM::LLVMDialect::getMmraAttrName());
  if (auto tag = dyn_cast_if_present<LLVM::MMRATagAttr>(attr))
    tags.push_back(tag);
  if (auto list = dyn_cast_if_present<ArrayAttr>(attr))
    llvm::append_range(tags, list.getAsRange<LLVM::MMRATagAttr>());
  llvm::erase_if(tags, [](LLVM::MMRATagAttr tag) { return tag.getPrefix() != "amdgpu-synchronize-as"; });
  return tags.empty() || llvm::any_of(tags, [](LLVM::MMRATagAttr tag) { return tag.getSuffix() == "local"; });
}

/// s_barrier holds waves, and neither their accesses to LDS that are under way nor LLVM, which may move accesses across
/// it (AMDGPUUsage, "Memory Model": a release is a wait for lgkmcnt(0), dscnt on newer chips, in front of the barrier).
/// A fence of a workgroup makes LLVM do both; one of a wavefront keeps LLVM's order alone, and the kernel waits itself.
static void emulateBarriers(EmulationTable &table) {
  table.on(ROCDL::SBarrierOp::getOperationName(), [](Operation *, EmulationBuilder &b) {
    b.bareBarrier();
    return success();
  });
  table.on(LLVM::FenceOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto fence = cast<LLVM::FenceOp>(op);
    StringRef scope = fence.getSyncscope().value_or("");
    if (!ordersScratchpad(fence) || scope.starts_with("singlethread"))
      return success();
    LLVM::AtomicOrdering ordering = fence.getOrdering();
    if (ordering != LLVM::AtomicOrdering::acquire) {
      b.holdAccesses();
      if (!scope.starts_with("wavefront"))
        b.completeAccesses();
    }
    if (ordering != LLVM::AtomicOrdering::release)
      b.acquireAccesses();
    return success();
  });
  table.on(ROCDL::WaitDscntOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    if (cast<ROCDL::WaitDscntOp>(op).getCount() == 0)
      b.completeAccesses();
    return success();
  });
}

void amd::emulate(EmulationTable &table) {
  table.space(globalSpace, Space::Global);
  table.space(scratchpadSpace, Space::Scratchpad);
  table.space(5, Space::Private);
  emulateBarriers(table);
  table.endAwaitsCopies = true; // s_endpgm waits until all counters are 0
  table.on(ROCDL::DsBpermuteOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto permute = cast<ROCDL::DsBpermuteOp>(op);
    Value lane = LLVM::LShrOp::create(b.ir(), b.loc(), permute.getIndex(), b.constant(32, 2));
    b.replace(b.shuffle(Shuffle::Index, permute.getSrc(), lane));
    return success();
  });
  emulateBuffers(table);
  emulateColumns<ROCDL::ds_read_tr8_b64>(table, 1);
  emulateColumns<ROCDL::ds_read_tr16_b64>(table, 2);
  table.on(("asm:" + amd::heldBase).str(), [](Operation *op, EmulationBuilder &b) {
    b.replace(op->getOperand(0));
    return success();
  });
  table.on("llvm.amdgcn.perm", [](Operation *op, EmulationBuilder &b) {
    auto selector = op->getOperand(2).getDefiningOp<LLVM::ConstantOp>();
    if (!selector)
      return b.refuse("only constant selectors are known");
    uint32_t bytes = cast<IntegerAttr>(selector.getValue()).getValue().getZExtValue();
    SmallVector<int32_t> order;
    for (unsigned i = 0; i < 4; ++i)
      order.push_back(bytes >> (8 * i) & 0xff);
    if (llvm::any_of(order, [](int32_t byte) { return byte > 7; }))
      return b.refuse("only bytes of the operands are known");
    auto type = VectorType::get(4, b.ir().getI8Type());
    Value low = LLVM::BitcastOp::create(b.ir(), b.loc(), type, op->getOperand(1));
    Value high = LLVM::BitcastOp::create(b.ir(), b.loc(), type, op->getOperand(0));
    Value permuted = LLVM::ShuffleVectorOp::create(b.ir(), b.loc(), low, high, order);
    b.replace(LLVM::BitcastOp::create(b.ir(), b.loc(), op->getResult(0).getType(), permuted).getResult());
    return success();
  });
}
