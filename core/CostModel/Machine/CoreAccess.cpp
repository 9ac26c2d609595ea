//===- CoreAccess.cpp - What a core's own accesses cost -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the records, and counts.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/CoreAccess.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace tilewright;

CoreAccess::CoreAccess(const TargetDescription &chip) {
  vectorBytes = std::max<int64_t>(4, chip.vectorRegisters().second);
  const Memory *global = chip.graph().backing();
  auto isRegisterFile = [&](const std::string &name) {
    const Memory *memory = chip.memory(name);
    return memory && memory->kind == MemoryKind::RegisterFile;
  };
  bool storesHaveRecord = false;
  for (const CopyEngine &engine : chip.copies()) {
    if (!global || engine.asynchronous)
      continue;
    if (engine.from == global->name && isRegisterFile(engine.to))
      load = {engine.bytesPerClock, engine.latency, engine.queueDepth};
    if (engine.to == global->name && isRegisterFile(engine.from)) {
      store = {engine.bytesPerClock, engine.latency, engine.queueDepth};
      storesHaveRecord = true;
    }
  }
  if (!storesHaveRecord)
    store = {load.bytesPerClock, 0, 0};
  for (const VectorOp &op : chip.vectorOps()) {
    unsigned size = llvm::Log2_32_Ceil(llvm::divideCeil(bitWidth(op.from), 8));
    if (op.kind == "gather" && op.lanes > 0 && size < std::size(gather))
      gather[size] = op.issue / op.lanes;
  }
}

double CoreAccess::globalClocks(int64_t bytes, bool isLoad) const {
  const Way &way = isLoad ? load : store;
  double clocks = 0;
  for (int64_t at = 0; at < bytes; at += vectorBytes) {
    double transfer = 1;
    if (way.bytesPerClock > 0)
      transfer = std::max(1.0, std::ceil(std::min(vectorBytes, bytes - at) / way.bytesPerClock));
    clocks += way.underWay > 0 ? std::max(transfer, (way.latency + transfer) / way.underWay) : transfer;
  }
  return clocks;
}

std::optional<double> CoreAccess::elementClocks(int64_t elementBytes) const {
  unsigned size = llvm::Log2_64_Ceil(std::max<int64_t>(1, elementBytes));
  return size < std::size(gather) && gather[size] > 0 ? std::optional(gather[size]) : std::nullopt;
}
