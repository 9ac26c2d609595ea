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
}
