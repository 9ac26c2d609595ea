//===- PassModel.cpp - Seconds of a pass over arrays ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/PassModel.h"
#include "core/CostModel/Time/Overlap.h"
#include "tilewright/MachineGraph.h"

using namespace tilewright;

PassModel::PassModel(const TargetDescription &chip) : memory(chip), clock(chip.clockMHz() * 1e6) {
  const MachineGraph &graph = chip.graph();
  if (graph.threadMemory() && graph.backing())
    cores = CoreHierarchy::of(chip);
  if (!graph.hasBlocks())
    return;
  blocks = LaneHierarchy::of(graph);
  const Memory *global = graph.backing(), *shared = graph.blockMemory();
  bandwidth = global && global->bytesPerClock > 0 ? global->bytesPerClock : 1;
  issue = chip.number(Number::Issue).value_or(1);
  launch = chip.number(Number::Launch).value_or(0);
  // The first cache answers over the ports of the scratchpad, as wide as these.
  port = shared && shared->bytesPerClock > 0 ? shared->bytesPerClock : 4.0 * double(blocks->lanes);
}

double PassModel::seconds(const PassWork &work) const {
  if (blocks) {
    double all = double(blocks->blocks);
    double issuing = (work.arithmetic + (1 + addressInstructions) * work.accesses) / (all * issue);
    double requesting = work.accesses * 4 * double(blocks->lanes) / port / all;
    return (launch + std::max({(work.read + work.written) / bandwidth, issuing, requesting})) / clock;
  }
  return secondsOfMember(work) / double(cores ? cores->cores : 1);
}

double PassModel::coreSeconds(const PassWork &work) const {
  return overlapped({memory.issueSeconds(0, work.accesses) + memory.crossingSeconds(work.crossing),
                     memory.issueSeconds(work.arithmetic, 0),
                     memory.issueSeconds(0, work.shuffles * memory.shuffleLoads()),
                     memory.divideSeconds(work.divisions)});
}

double PassModel::secondsOnCaches(const PassWork &work) const {
  const MemoryModel::MoveTime moves = memory.moveTime(work.read, work.written, work.read + work.written - work.again);
  return std::max({moves.near, moves.beyond, work.core + coreSeconds(work)});
}

double PassModel::secondsOfMember(const PassWork &work) const {
  if (!cores)
    return secondsOnCaches(work);
  // A core issues one instruction after the other; its engines work beside it.
  auto clocksOf = [](double bytes, const CopyEngine *engine) {
    return engine && engine->bytesPerClock > 0 ? bytes / engine->bytesPerClock : bytes;
  };
  return std::max(
             {work.arithmetic + work.accesses, clocksOf(work.read, cores->in), clocksOf(work.written, cores->out)}) /
         clock;
}
