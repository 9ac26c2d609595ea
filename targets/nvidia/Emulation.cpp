//===- Emulation.cpp - NVVM ops as primitives of the emulator ---------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What each op that Lowering.cpp makes means.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Emulation.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "targets/nvidia/Chips.h"

using namespace mlir;
using namespace tilewright;

void nvidia::emulate(EmulationTable &table) {
  table.space(globalSpace, Space::Global);
  table.space(scratchpadSpace, Space::Scratchpad);
  table.fact(NVVM::ThreadIdXOp::getOperationName(), LaneFact::LaneX);
  table.fact(NVVM::BlockIdXOp::getOperationName(), LaneFact::BlockX);
  table.fact(NVVM::BlockIdYOp::getOperationName(), LaneFact::BlockY);
  table.fact(NVVM::BlockIdZOp::getOperationName(), LaneFact::BlockZ);
  table.on(NVVM::Barrier0Op::getOperationName(), [](Operation *, EmulationBuilder &b) {
    b.barrier();
    return success();
  });
  table.on(NVVM::CpAsyncOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto copy = cast<NVVM::CpAsyncOp>(op);
    b.copyAsync(Engine::Copy, copy.getDst(), copy.getSrc(), copy.getSize(), copy.getCpSize());
    return success();
  });
  table.on(NVVM::CpAsyncCommitGroupOp::getOperationName(), [](Operation *, EmulationBuilder &b) {
    b.commit(Engine::Copy);
    return success();
  });
  table.on(NVVM::CpAsyncWaitGroupOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    b.wait(Engine::Copy, b.constant(32, cast<NVVM::CpAsyncWaitGroupOp>(op).getN()));
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
  table.on(NVVM::ShflOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto shuffle = cast<NVVM::ShflOp>(op);
    if (shuffle.getKind() != NVVM::ShflKind::idx || shuffle.getReturnValueAndIsValid())
      return b.refuse("only shuffles by index are known");
    b.replace(b.shuffle(Shuffle::Index, shuffle.getVal(), shuffle.getOffset()));
    return success();
  });
}
