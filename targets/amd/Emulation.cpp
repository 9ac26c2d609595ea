//===- Emulation.cpp - ROCDL ops as primitives of the emulator --------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What each op that Lowering.cpp makes means, and how LDS serves a wavefront.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Emulation.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "targets/amd/Chips.h"

using namespace mlir;
using namespace tilewright;

void amd::emulate(EmulationTable &table) {
  table.space(globalSpace, Space::Global);
  table.space(scratchpadSpace, Space::Scratchpad);
  table.space(5, Space::Private);
  table.fact(ROCDL::ThreadIdXOp::getOperationName(), LaneFact::LaneX);
  table.fact(ROCDL::BlockIdXOp::getOperationName(), LaneFact::BlockX);
  table.fact(ROCDL::BlockIdYOp::getOperationName(), LaneFact::BlockY);
  table.fact(ROCDL::BlockIdZOp::getOperationName(), LaneFact::BlockZ);
  table.on(ROCDL::SBarrierOp::getOperationName(), [](Operation *, EmulationBuilder &b) {
    b.barrier();
    return success();
  });
  table.ignore(LLVM::FenceOp::getOperationName());
  table.on(ROCDL::DsBpermuteOp::getOperationName(), [](Operation *op, EmulationBuilder &b) {
    auto permute = cast<ROCDL::DsBpermuteOp>(op);
    Value lane = LLVM::LShrOp::create(b.ir(), b.loc(), permute.getIndex(), b.constant(32, 2));
    b.replace(b.shuffle(Shuffle::Index, permute.getSrc(), lane));
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
