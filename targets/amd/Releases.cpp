//===- Releases.cpp - Releases before barriers that publish nothing -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each barrier is made with a fence that releases, and where copies pass the
/// registers with a wait for the lane's accesses to LDS. Some have nothing to do:
///
///   copies past the registers, their wait          the lane itself has not touched LDS
///   fence release, wait, s_barrier, fence acquire
///   reads
///   wait for the next copies
///   fence release, wait, s_barrier, fence acquire  reads alone, and nothing is written any more
///   reads
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "targets/amd/Chips.h"
#include "llvm/ADT/DenseMap.h"
#include <utility>

using namespace mlir;
using namespace tilewright;

namespace {
/// What an op does to LDS.
enum Touch : uint8_t { None = 0, Read = 1, Write = 2, Copy = 4 };
} // namespace

static uint8_t touchOf(Operation &op) {
  if (isa<LLVM::GEPOp, LLVM::InlineAsmOp, BranchOpInterface>(op))
    return None;
  if (isa<ROCDL::RawPtrBufferLoadLdsOp>(op))
    return Copy; // which has a wait of its own
  auto mayPoint = [](Type type) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    return pointer && (pointer.getAddressSpace() == scratchpadSpace || pointer.getAddressSpace() == 0);
  };
  if (llvm::none_of(op.getOperandTypes(), mayPoint))
    return None;
  return isa<LLVM::LoadOp, ROCDL::ds_read_tr8_b64, ROCDL::ds_read_tr16_b64>(op) ? Read : Write;
}

static bool isRelease(Operation &op) {
  auto fence = dyn_cast<LLVM::FenceOp>(op);
  return fence && fence.getOrdering() == LLVM::AtomicOrdering::release;
}

void amd::dropIdleReleases(LLVM::LLVMFuncOp function, uint32_t scratchpadWait) {
  // Before each block: what paths to it have touched since their last release, and what paths from it touch.
  llvm::DenseMap<Block *, uint8_t> since, ahead;
  auto add = [](uint8_t &known, uint8_t more) { return std::exchange(known, known | more) != (known | more); };
  for (bool changed = true; std::exchange(changed, false);) {
    for (Block &block : function.getBody()) {
      uint8_t open = since[&block], later = 0;
      for (Operation &op : block) {
        open = isRelease(op) ? uint8_t(None) : uint8_t(open | touchOf(op));
        later |= touchOf(op);
      }
      for (Block *next : block.getSuccessors()) {
        changed |= add(since[next], open);
        later |= ahead[next];
      }
      changed |= add(ahead[&block], later);
    }
  }
  SmallVector<Operation *> idle;
  for (Block &block : function.getBody()) {
    uint8_t open = since[&block];
    for (Operation &op : block) {
      if (!isRelease(op)) {
        open |= touchOf(op);
        continue;
      }
      uint8_t later = 0;
      for (Operation *behind = op.getNextNode(); behind; behind = behind->getNextNode())
        later |= touchOf(*behind);
      for (Block *next : block.getSuccessors())
        later |= ahead[next];
      // Reads matter to what overwrites, writes to all.
      if (!(open & Write) && !((open & Read) && (later & (Write | Copy))))
        idle.push_back(&op);
      open = None;
    }
  }
  for (Operation *release : idle) {
    auto wait = dyn_cast_if_present<ROCDL::SWaitcntOp>(release->getNextNode());
    if (wait && wait.getBitfield() == scratchpadWait)
      wait.erase();
    release->erase();
  }
}
