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
///   fence release, wait, s_barrier, fence acquire  reads alone, and nothing is written before the next release,
///   reads                                          which publishes these reads, too
///   fence release, wait, s_barrier, fence acquire
///   writes
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "targets/amd/Chips.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
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

/// What is touched from `op` of `block` on before the next release.
static uint8_t touchedFrom(Block::iterator op, Block &block, llvm::DenseMap<Block *, uint8_t> &ahead) {
  uint8_t later = None;
  for (; op != block.end(); ++op) {
    if (isRelease(*op))
      return later;
    later |= touchOf(*op);
  }
  for (Block *next : block.getSuccessors())
    later |= ahead[next];
  return later;
}

void amd::dropIdleReleases(LLVM::LLVMFuncOp function, uint32_t scratchpadWait) {
  auto add = [](uint8_t &known, uint8_t more) { return std::exchange(known, known | more) != (known | more); };
  // What paths from each block touch before the next release.
  llvm::DenseMap<Block *, uint8_t> ahead;
  for (bool changed = true; std::exchange(changed, false);)
    for (Block &block : llvm::reverse(function.getBody())) {
      uint8_t touched = touchedFrom(block.begin(), block, ahead);
      changed |= add(ahead[&block], touched);
    }
  // Adds the releases that are needed where those of `needed` alone are there, or all others; whether any was missing.
  llvm::SetVector<Operation *> needed;
  auto addNeeded = [&](bool besideAll) {
    llvm::DenseMap<Block *, uint8_t> since; // what paths to each block have touched since a release
    auto walk = [&](Block &block, llvm::function_ref<void(Operation &, uint8_t)> meet) {
      uint8_t open = since[&block];
      for (Operation &op : block) {
        if (isRelease(op))
          meet(op, open);
        bool publishes = isRelease(op) && (besideAll || needed.contains(&op));
        open = publishes ? uint8_t(None) : uint8_t(open | touchOf(op));
      }
      return open;
    };
    for (bool changed = true; std::exchange(changed, false);)
      for (Block &block : function.getBody()) {
        uint8_t open = walk(block, [](Operation &, uint8_t) {});
        for (Block *next : block.getSuccessors())
          changed |= add(since[next], open);
      }
    SmallVector<Operation *> found;
    for (Block &block : function.getBody())
      walk(block, [&](Operation &release, uint8_t open) {
        uint8_t later = touchedFrom(std::next(release.getIterator()), block, ahead);
        // Reads matter to what overwrites, writes to all.
        if (((open & Write) && later) || ((open & Read) && (later & (Write | Copy))))
          found.push_back(&release);
      });
    size_t before = needed.size();
    needed.insert_range(found);
    return needed.size() > before;
  };
  // One that is not needed leaves what it would have published to the next one, which may be needed then.
  addNeeded(/*besideAll=*/true);
  while (addNeeded(/*besideAll=*/false))
    ;
  SmallVector<Operation *> idle;
  function.walk([&](Operation *op) {
    if (isRelease(*op) && !needed.contains(op))
      idle.push_back(op);
  });
  for (Operation *release : idle) {
    auto wait = dyn_cast_if_present<ROCDL::SWaitcntOp>(release->getNextNode());
    if (wait && wait.getBitfield() == scratchpadWait)
      wait.erase();
    release->erase();
  }
}
