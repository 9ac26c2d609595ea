//===- Barriers.cpp - Barriers of all kinds -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arrivals, waits, and the clocks that they pass on.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Barriers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

void tilewright::release(Lane &lane, std::vector<uint32_t> &clocks, Clocks *lastKnown) {
  if (!lane.machine->checks)
    return;
  clocks.resize(lane.cluster->agents.count());
  lane.cluster->agents.raise(clocks, lane.order, lastKnown ? lastKnown->get() : nullptr);
  if (lastKnown)
    *lastKnown = lane.order.known;
  ++lane.order.clock;
}

void tilewright::acquire(Lane &lane, const Clocks &clocks) {
  if (!lane.machine->checks || !clocks || clocks == lane.order.known)
    return;
  auto joined = std::make_shared<std::vector<uint32_t>>(*lane.order.known);
  for (size_t i = 0, end = clocks->size(); i < end; ++i)
    (*joined)[i] = std::max((*joined)[i], (*clocks)[i]);
  lane.order.known = std::move(joined);
}

/// Like `release` for what is complete alone: the lane's other accesses may still be under way when it goes on.
static void releaseComplete(Lane &lane, Barrier &barrier) {
  if (!lane.machine->checks)
    return;
  const Agents &agents = lane.cluster->agents;
  barrier.clocks.resize(agents.count());
  barrier.arrivals.resize(agents.lanes);
  Order published = lane.order;
  published.clock = lane.fences.complete;
  agents.raise(barrier.clocks, published, barrier.lastKnown.get());
  barrier.lastKnown = lane.order.known;
  if (lane.fences.joined) // its lanes have passed it, though this one has not acquired
    for (auto [clock, joined] : llvm::zip_equal(barrier.clocks, *lane.fences.joined))
      clock = std::max(clock, joined);
  barrier.arrivals[lane.number] = lane.order.clock++;
}

void tilewright::orderAccesses(Lane &lane, AccessStep step) {
  AccessFences &fences = lane.fences;
  switch (step) {
  case AccessStep::Hold:
    fences.held = lane.order.clock++; // what comes later is not held
    return;
  case AccessStep::Complete:
    fences.complete = fences.held;
    return;
  case AccessStep::Acquire:
    if (fences.joined && lane.order.known == fences.before)
      lane.order.known = fences.joined; // shared by all lanes
    else
      acquire(lane, fences.joined);
    fences.before = fences.joined = nullptr;
    return;
  }
}

/// Everybody has come: those who wait go on and know what all knew; from a bare barrier once they acquire.
static void open(Barrier &barrier, Cluster &cluster, Lane *last, bool bare = false) {
  Clocks joined, arrivals;
  if (cluster.machine->checks)
    joined = std::make_shared<std::vector<uint32_t>>(std::move(barrier.clocks));
  if (joined && bare)
    arrivals = std::make_shared<std::vector<uint32_t>>(std::move(barrier.arrivals));
  auto tell = [&](Lane &lane) {
    if (!bare) {
      lane.order.known = joined;
      return;
    }
    lane.fences.before = lane.order.known;
    lane.fences.joined = joined;
    lane.fences.arrivals = arrivals;
  };
  barrier.clocks.clear();
  barrier.arrivals.clear();
  barrier.lastKnown.reset();
  barrier.arrived = 0;
  ++barrier.generation;
  // The joined vector holds all that each of those who arrived knew.
  for (Lane *waiting : barrier.waiting) {
    if (joined)
      tell(*waiting);
    cluster.makeReady(*waiting);
  }
  if (last && joined)
    tell(*last);
  barrier.joined = std::move(joined);
  barrier.waiting.clear();
}

void tilewright::barrier(Lane &lane, uint32_t site, int64_t id, uint32_t lanes, BarrierStep step) {
  Machine &machine = *lane.machine;
  Block &block = *lane.block;
  Barrier &barrier = block.barriers[id];
  bool whole = id == Block::blockBarrier || id == Block::splitBarrier;
  if (whole)
    lanes = block.lanes.size();
  if (step == BarrierStep::Wait) { // the second half
    if (lane.waitPhase == barrier.generation) {
      barrier.waiting.push_back(&lane);
      lane.cluster->suspend(lane, Waiting::Split, site, id);
    }
    acquire(lane, barrier.joined);
    return;
  }
  if (id == Block::blockBarrier) {
    Subgroup &subgroup = *lane.subgroup;
    if (subgroup.barrierGeneration != barrier.generation) {
      subgroup.barrierGeneration = barrier.generation;
      subgroup.barrierSite = site;
    } else if (subgroup.barrierSite != site) {
      machine.report(FindingKind::DivergentBarrier, site, subgroup.barrierSite, [&] {
        return formatv("{0} comes to this barrier while a lane of its subgroup waits at another one ({1})",
                       machine.name(lane), machine.kernels->sites[subgroup.barrierSite].location)
            .str();
      });
      lane.cluster->stop(lane);
      return;
    }
  }
  if (barrier.arrived == 0) {
    barrier.expected = lanes;
  } else if (barrier.expected != lanes) {
    machine.report(FindingKind::Misuse, site, site, [&] {
      return formatv("barrier {0} is used for {1} lanes here and for {2} lanes by those who have arrived", id, lanes,
                     barrier.expected)
          .str();
    });
    lane.cluster->stop(lane);
    return;
  }
  if (!whole && (lanes == 0 || lanes > block.lanes.size() || lanes % machine.kernels->subgroupSize)) {
    machine.report(FindingKind::Misuse, site, site, [&] {
      return formatv("barrier {0} is for {1} lanes; expected a multiple of {2} up to the block's {3}", id, lanes,
                     machine.kernels->subgroupSize, block.lanes.size())
          .str();
    });
    lane.cluster->stop(lane);
    return;
  }
  bool bare = step == BarrierStep::Bare, waits = bare || step == BarrierStep::ArriveAndWait;
  if (bare)
    releaseComplete(lane, barrier);
  else
    release(lane, barrier.clocks, &barrier.lastKnown);
  lane.waitPhase = barrier.generation;
  if (++barrier.arrived < lanes) {
    if (waits) {
      barrier.waiting.push_back(&lane);
      lane.cluster->suspend(lane, Waiting::Barrier, site, id);
    }
    return;
  }
  for (Subgroup &subgroup : block.subgroups)
    machine.flush(subgroup);
  if (whole)
    ++machine.barriersPassed;
  open(barrier, *lane.cluster, waits ? &lane : nullptr, bare);
}

void tilewright::subgroupBarrier(Lane &lane, uint32_t site) {
  collective(lane, site, nullptr, [](Subgroup &subgroup) {
    if (!subgroup.lanes.front()->machine->checks)
      return;
    std::vector<uint32_t> clocks;
    Clocks lastKnown;
    for (Lane *lane : subgroup.lanes)
      release(*lane, clocks, &lastKnown);
    auto joined = std::make_shared<std::vector<uint32_t>>(std::move(clocks));
    for (Lane *lane : subgroup.lanes)
      lane->order.known = joined;
  });
}

void tilewright::clusterBarrier(Lane &lane, uint32_t site, BarrierStep step) {
  Cluster &cluster = *lane.cluster;
  Barrier &barrier = cluster.barrier;
  if (step != BarrierStep::Wait) {
    release(lane, barrier.clocks, &barrier.lastKnown);
    lane.waitPhase = barrier.generation;
    if (++barrier.arrived == cluster.lanes.size())
      open(barrier, cluster, nullptr);
  }
  if (step != BarrierStep::Arrive && lane.waitPhase == barrier.generation) {
    barrier.waiting.push_back(&lane);
    cluster.suspend(lane, Waiting::Cluster, site);
  }
  if (step != BarrierStep::Arrive)
    acquire(lane, barrier.joined);
}

//===----------------------------------------------------------------------===//
// Barrier objects
//===----------------------------------------------------------------------===//

static void endPhaseIfComplete(Cluster &cluster, BarrierObject &object) {
  if (object.pending || object.bytes)
    return;
  ++object.phase;
  object.pending = object.count;
  if (cluster.machine->checks)
    object.completed = std::make_shared<std::vector<uint32_t>>(object.clocks);
  for (Lane *lane : object.waiting)
    cluster.makeReady(*lane);
  object.waiting.clear();
}

void tilewright::phaseReceive(Cluster &cluster, uint64_t address, int64_t bytes, uint32_t agent, uint32_t clock) {
  auto found = cluster.barrierObjects.find(address);
  if (found == cluster.barrierObjects.end())
    return; // reported when the transfer was issued
  BarrierObject &object = found->second;
  if (cluster.machine->checks) {
    object.clocks.resize(cluster.agents.count());
    object.clocks[agent] = std::max(object.clocks[agent], clock);
  }
  object.bytes -= bytes;
  endPhaseIfComplete(cluster, object);
}

void tilewright::phaseArriveFor(Cluster &cluster, uint64_t address, uint32_t agent, uint32_t clock,
                                const Clocks &known) {
  BarrierObject &object = cluster.barrierObjects[address];
  if (cluster.machine->checks) {
    object.clocks.resize(cluster.agents.count());
    for (size_t i = 0, end = known ? known->size() : 0; i < end; ++i)
      object.clocks[i] = std::max(object.clocks[i], (*known)[i]);
    object.clocks[agent] = std::max(object.clocks[agent], clock);
  }
  if (object.pending)
    --object.pending;
  endPhaseIfComplete(cluster, object);
}

/// Whether the block whose scratchpad holds `address` has no lane left: its scratchpad may be another block's by now.
static bool hasEnded(const Machine &machine, const Cluster &cluster, uint64_t address) {
  uint64_t rank = (address - reinterpret_cast<uint64_t>(machine.window)) / Machine::windowStride;
  return rank < cluster.blocks.size() &&
         llvm::all_of(cluster.blocks[rank].lanes, [](const Lane *lane) { return lane->finished; });
}

int32_t tilewright::phaseStep(Lane &lane, uint32_t site, PhaseStep step, void *address, int32_t operand) {
  Machine &machine = *lane.machine;
  Cluster &cluster = *lane.cluster;
  uint64_t key = reinterpret_cast<uint64_t>(address);
  auto misuse = [&](llvm::function_ref<std::string()> message) {
    machine.report(FindingKind::Misuse, site, site, message);
    cluster.stop(lane);
    return 0;
  };
  if (step == PhaseStep::Init) {
    MemoryPlace place = machine.locate(lane, address);
    if (place.kind != MemoryPlace::Scratchpad || place.room < 8 || key % 8)
      return misuse([&] {
        return formatv("{0} makes a barrier object at {1:x}; expected 8 aligned bytes of its scratchpad",
                       machine.name(lane), key)
            .str();
      });
    if (operand <= 0)
      return misuse([&] { return formatv("a barrier object for {0} arrivals; expected at least 1", operand).str(); });
    BarrierObject &object = cluster.barrierObjects[key];
    if (!object.waiting.empty())
      return misuse([&] { return "a barrier object is made anew while lanes wait at it"; });
    object = BarrierObject();
    object.count = object.pending = operand;
    object.maker = lane.number;
    object.made = lane.order.clock;
    object.madeSite = site;
    return 0;
  }
  auto found = cluster.barrierObjects.find(key);
  if (found == cluster.barrierObjects.end())
    return misuse([&] {
      return formatv("{0} uses a barrier object at {1:x} that nobody has made", machine.name(lane), key).str();
    });
  BarrierObject &object = found->second;
  switch (step) {
  case PhaseStep::Init:
    break;
  case PhaseStep::Arrive:
    if (hasEnded(machine, cluster, key))
      return misuse([&] {
        return formatv("{0} arrives at a barrier object of a block that has ended", machine.name(lane)).str();
      });
    if (operand <= 0 || static_cast<uint32_t>(operand) > object.pending)
      return misuse([&] {
        return formatv("{0} arrives {1} times at a phase that expects {2} of {3} arrivals", machine.name(lane), operand,
                       object.pending, object.count)
            .str();
      });
    release(lane, object.clocks);
    object.pending -= operand;
    endPhaseIfComplete(cluster, object);
    return 0;
  case PhaseStep::Expect:
    object.bytes += operand;
    return 0;
  case PhaseStep::Wait:
    while ((object.phase & 1) == static_cast<uint32_t>(operand & 1)) {
      object.waiting.push_back(&lane);
      cluster.suspend(lane, Waiting::Phase, site, key);
    }
    acquire(lane, object.completed);
    return 1;
  case PhaseStep::Test:
    if ((object.phase & 1) == static_cast<uint32_t>(operand & 1)) {
      cluster.yield(lane);
      if ((object.phase & 1) == static_cast<uint32_t>(operand & 1))
        return 0;
    }
    acquire(lane, object.completed);
    return 1;
  }
  return 0;
}
