//===- Emulation.cpp - NVVM ops as primitives of the emulator ---------------- ===//
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
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "targets/nvidia/Chips.h"

using namespace mlir;
using namespace tilewright;

/// mbarriers, tensor copies, wgmma.
static void emulateRings(EmulationTable &table) {
  table.on(NVVM::MBarrierArriveExpectTxOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto arrive = cast<NVVM::MBarrierArriveExpectTxOp>(op);
    b.phaseExpect(arrive.getAddr(), arrive.getTxcount());
    b.phaseArrive(arrive.getAddr());
    return success();
  });
  table.on(NVVM::MBarrierArriveOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto arrive = cast<NVVM::MBarrierArriveOp>(op);
    if (op->getNumResults() && !op->getResult(0).use_empty())
      return b.refuse("the state that an arrival gives is not known");
    b.phaseArrive(arrive.getAddr(), arrive.getCount());
    if (op->getNumResults())
      b.replace(b.constant(64, 0));
    return success();
  });
  table.on(NVVM::MBarrierTryWaitParityOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto wait = cast<NVVM::MBarrierTryWaitParityOp>(op);
    b.phaseWait(wait.getAddr(), wait.getPhase());
    return success();
  });
  table.on(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto copy = cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op);
    if (copy.getMode() != NVVM::TMALoadMode::TILE || copy.getPredicate())
      return b.refuse("only tiles without a predicate are known");
    b.copyTensor(copy.getDstMem(), copy.getTmaDescriptor(), copy.getCoordinates(), copy.getMbar(),
                 copy.getMulticastMask());
    return success();
  });
  table.on(NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto store = cast<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(op);
    if (store.getMode() != NVVM::TMAStoreMode::TILE || store.getPredicate())
      return b.refuse("only tiles without a predicate are known");
    b.storeTensor(store.getTmaDescriptor(), store.getSrcMem(), store.getCoordinates());
    return success();
  });
  table.on(NVVM::BarrierOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto barrier = cast<NVVM::BarrierOp>(op);
    if (!barrier.getBarrierId() || !barrier.getNumberOfThreads() || barrier.getReductionOp())
      return b.refuse("only barriers with a number and lanes, without a reduction, are known");
    b.barrier(barrier.getBarrierId(), barrier.getNumberOfThreads());
    return success();
  });
  table.on(NVVM::MapaOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto map = cast<NVVM::MapaOp>(op);
    b.replace(b.mapToBlock(map.getA(), map.getB(), map.getRes().getType()));
    return success();
  });
  table.fencedEngines = true;
  table.on(NVVM::FenceProxyOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto kind = cast<NVVM::FenceProxyOp>(op).getKind();
    if (kind == NVVM::ProxyKind::async_shared || kind == NVVM::ProxyKind::async)
      b.fenceEngines();
    return success();
  });
  table.fencedRegisters = true;
  table.on("asm:wgmma.wait_group.sync.aligned ", [](Operation *op, EmulationBuilder &b) {
    auto assembly = cast<LLVM::InlineAsmOp>(op);
    int64_t pending = 0;
    StringRef text = assembly.getAsmString();
    text.consume_front("wgmma.wait_group.sync.aligned ");
    if (text.consumeInteger(10, pending) || text != ";")
      return b.refuse("the number of groups cannot be read");
    SmallVector<Value> values = b.waitUnits(b.constant(32, pending), assembly.getOperands());
    if (op->getNumResults() == 0)
      return success();
    Value result = LLVM::PoisonOp::create(b.ir(), b.loc(), op->getResult(0).getType());
    for (auto [i, value] : llvm::enumerate(values))
      result = LLVM::InsertValueOp::create(b.ir(), b.loc(), result, value, int64_t(i));
    b.replace(result);
    return success();
  });
  table.tiledMatrix = [](uint64_t descriptor) {
    auto field = [&](unsigned bit) { return uint32_t((descriptor >> bit) & 0x3fff) << 4; };
    static constexpr uint32_t lines[] = {16, 128, 64, 32};
    return TiledMatrix{field(0), lines[descriptor >> 62], field(32), field(16)};
  };
}

/// tcgen05: allocation, commit, fences and reads; units are known by their records.
static void emulateTensorMemory(EmulationTable &table) {
  auto addressOf = [](EmulationBuilder &b, Value pointer) -> Value {
    return LLVM::PtrToIntOp::create(b.ir(), b.loc(), b.ir().getI32Type(), pointer);
  };
  table.on(NVVM::Tcgen05AllocOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto alloc = cast<NVVM::Tcgen05AllocOp>(op);
    b.takeAccumulators(alloc.getAddr(), alloc.getNCols());
    return success();
  });
  table.ignore(NVVM::Tcgen05RelinquishAllocPermitOp::getOperationName());
  table.on(NVVM::Tcgen05DeallocOp::getOperationName(), [=](Operation *op, EmulationBuilder &b) {
    auto dealloc = cast<NVVM::Tcgen05DeallocOp>(op);
    b.freeAccumulators(addressOf(b, dealloc.getTaddr()), dealloc.getNCols());
    return success();
  });
  table.on(NVVM::Tcgen05CpOp::getOperationName(), [=](Operation *op, EmulationBuilder &b) {
    auto copy = cast<NVVM::Tcgen05CpOp>(op);
    const bool toAllWarps = copy.getShape() == NVVM::Tcgen05CpShape::SHAPE_32x128b &&
                            copy.getMulticast() == NVVM::Tcgen05CpMulticast::WARPX4;
    const bool toAllRows = copy.getShape() == NVVM::Tcgen05CpShape::SHAPE_128x128b &&
                           copy.getMulticast() == NVVM::Tcgen05CpMulticast::NONE;
    if ((!toAllWarps && !toAllRows) || copy.getGroup() != NVVM::CTAGroupKind::CTA_1 || copy.getSrcFormat())
      return b.refuse("only copies of lines of 16 bytes, of 32 to the rows of all warps or of 128, are known");
    b.copyToAccumulators(addressOf(b, copy.getTaddr()), copy.getSmemDesc(), toAllWarps ? 32 : 128, 16);
    return success();
  });
  table.on(NVVM::Tcgen05CommitOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto commit = cast<NVVM::Tcgen05CommitOp>(op);
    if (commit.getMulticastMask() || commit.getGroup() != NVVM::CTAGroupKind::CTA_1)
      return b.refuse("only commits to barrier objects of the own block are known");
    b.commitUnits(commit.getAddr());
    return success();
  });
  table.on(NVVM::Tcgen05FenceOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    b.fenceAccumulators(cast<NVVM::Tcgen05FenceOp>(op).getKind() == NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
    return success();
  });
  table.on(NVVM::Tcgen05LdOp::getOperationName(), [=](Operation *op, EmulationBuilder &b) {
    auto load = cast<NVVM::Tcgen05LdOp>(op);
    if (load.getShape() != NVVM::Tcgen05LdStShape::SHAPE_32X32B || load.getPack())
      return b.refuse("only rows of 32 lanes, a register for each column, are known");
    auto vector = dyn_cast<VectorType>(load.getRes().getType());
    SmallVector<Value> words =
        b.readAccumulators(addressOf(b, load.getTmemAddr()), vector ? vector.getNumElements() : 1);
    if (!vector) {
      b.replace(words);
      return success();
    }
    Value all = LLVM::PoisonOp::create(b.ir(), b.loc(), vector);
    for (auto [i, word] : llvm::enumerate(words))
      all = LLVM::InsertElementOp::create(b.ir(), b.loc(), all, word, b.constant(32, int64_t(i)));
    b.replace(all);
    return success();
  });
  table.on("asm:tcgen05.wait::ld.sync.aligned;", [](Operation *op, EmulationBuilder &b) {
    Value result = LLVM::PoisonOp::create(b.ir(), b.loc(), op->getResult(0).getType());
    for (auto [i, word] : llvm::enumerate(b.awaitReads(op->getOperands())))
      result = LLVM::InsertValueOp::create(b.ir(), b.loc(), result, word, int64_t(i));
    b.replace(result);
    return success();
  });
}

void nvidia::emulate(EmulationTable &table) {
  table.space(globalSpace, Space::Global);
  table.space(scratchpadSpace, Space::Scratchpad);
  table.space(7, Space::Cluster);
  table.on(NVVM::CpAsyncOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto copy = cast<NVVM::CpAsyncOp>(op);
    b.copyAsync(Engine::Copy, copy.getDst(), copy.getSrc(), copy.getSize(), copy.getCpSize());
    return success();
  });
  table.on(NVVM::LdMatrixOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto load = cast<NVVM::LdMatrixOp>(op);
    SmallVector<Value> words = b.loadMatrices(load.getPtr(), load.getNum(), load.getLayout() == NVVM::MMALayout::col);
    if (words.size() == 1) {
      b.replace(words);
      return success();
    }
    Value result = LLVM::UndefOp::create(b.ir(), b.loc(), load.getRes().getType());
    for (auto [i, word] : llvm::enumerate(words))
      result = LLVM::InsertValueOp::create(b.ir(), b.loc(), result, word, int64_t(i));
    b.replace(result);
    return success();
  });
  table.on(NVVM::PermuteOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto permute = cast<NVVM::PermuteOp>(op);
    auto selector = permute.getSelector().getDefiningOp<LLVM::ConstantOp>();
    if (!selector || permute.getMode() != NVVM::PermuteMode::DEFAULT)
      return b.refuse("only constant selectors of bytes are known");
    uint32_t bytes = cast<IntegerAttr>(selector.getValue()).getValue().getZExtValue();
    SmallVector<int32_t> order;
    for (unsigned i = 0; i < 4; ++i)
      order.push_back(bytes >> (4 * i) & 0x7);
    if (bytes & 0x8888)
      return b.refuse("signs of bytes are not known");
    auto type = VectorType::get(4, b.ir().getI8Type());
    Value low = LLVM::BitcastOp::create(b.ir(), b.loc(), type, permute.getLo());
    Value high = permute.getHi() ? LLVM::BitcastOp::create(b.ir(), b.loc(), type, permute.getHi()).getResult() : low;
    Value permuted = LLVM::ShuffleVectorOp::create(b.ir(), b.loc(), low, high, order);
    b.replace(LLVM::BitcastOp::create(b.ir(), b.loc(), permute.getType(), permuted).getResult());
    return success();
  });
  table.on(NVVM::ShflOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto shuffle = cast<NVVM::ShflOp>(op);
    if (shuffle.getKind() != NVVM::ShflKind::idx || shuffle.getReturnValueAndIsValid())
      return b.refuse("only shuffles by index are known");
    b.replace(b.shuffle(Shuffle::Index, shuffle.getVal(), shuffle.getOffset()));
    return success();
  });
  emulateRings(table);
  emulateTensorMemory(table);
}
