//===- Scheduler.cpp - Which lane runs next -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lanes run until they wait. The next one is the one that has been ready for the
/// longest time (fifo) or the shortest (lifo); when none is ready, engines that
/// work late get their turn; when they have nothing either, the kernel is stuck.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/AsyncEngines.h"
#include "core/Emulator/Machine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;

static Lane *take(Cluster &cluster) {
  Lane *next;
  if (cluster.machine->mode.lifo) {
    next = cluster.ready.back();
    cluster.ready.pop_back();
  } else {
    next = cluster.ready.front();
    cluster.ready.pop_front();
  }
  return next;
}

void Cluster::enterNext(Lane &from) {
  if (ready.empty()) {
    tilewright_fiber_switch(&from.top, schedulerTop);
    return;
  }
  Lane *next = take(*this);
  if (next != &from)
    tilewright_fiber_switch(&from.top, next->top);
}

void Cluster::suspend(Lane &lane, Waiting why, uint32_t site, uint64_t object) {
  lane.waiting = why;
  lane.waitSite = site;
  lane.waitObject = object;
  enterNext(lane);
  lane.waiting = Waiting::No;
}

void Cluster::yield(Lane &lane) {
  polling.push_back(&lane);
  enterNext(lane);
}

void Cluster::makeReady(Lane &lane) {
  progressed = true;
  ready.push_back(&lane);
}

void Cluster::finish(Lane &lane) {
  lane.finished = true;
  --unfinished;
  progressed = true;
  enterNext(lane);
}

void Cluster::stop(Lane &lane) {
  stopped = true;
  tilewright_fiber_switch(&lane.top, schedulerTop);
}

void Cluster::execute() {
  while (unfinished && !stopped) {
    if (!ready.empty()) {
      tilewright_fiber_switch(&schedulerTop, take(*this)->top);
    } else if (!flying.empty()) {
      TensorTransfer next = flying.front();
      flying.pop_front();
      land(*this, next);
      progressed = true;
    } else if (runAccumulatorUnits(*this)) { // last of all: a copy into what they read too early has landed
      progressed = true;
    } else if (!polling.empty() && progressed) {
      progressed = false;
      ready.assign(polling.begin(), polling.end());
      polling.clear();
    } else {
      reportStuck();
      return;
    }
  }
}

/// "lanes 0-31, 40".
static std::string ranges(llvm::ArrayRef<uint32_t> numbers) {
  std::string text = numbers.size() == 1 ? "lane " : "lanes ";
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += (i ? ", " : "") + std::to_string(numbers[i]) + (last > i ? "-" + std::to_string(numbers[last]) : "");
    i = last + 1;
  }
  return text;
}

void Cluster::reportStuck() {
  // Lanes by where they wait; the finding stands at the place where a first lane waits.
  std::map<std::pair<Waiting, uint32_t>, std::vector<uint32_t>> groups;
  std::vector<uint32_t> finished;
  const Block *block = nullptr;
  for (Lane &lane : lanes) {
    if (lane.waiting != Waiting::No || !lane.finished)
      block = block ? block : lane.block;
  }
  Waiting kind = Waiting::No;
  uint32_t site = 0;
  for (Lane &lane : lanes) {
    uint32_t inBlock = lane.number - block->lanes.front()->number;
    if (lane.block != block)
      continue;
    if (lane.finished) {
      finished.push_back(inBlock);
      continue;
    }
    groups[{lane.waiting, lane.waitSite}].push_back(inBlock);
    // A lane that waits for a phase or group waits for others; those at a barrier or collective say more about the
    // cause.
    if (kind == Waiting::No || (kind == Waiting::Phase && lane.waiting != Waiting::Phase)) {
      kind = lane.waiting;
      site = lane.waitSite;
    }
  }
  FindingKind finding = kind == Waiting::Subgroup ? FindingKind::DivergentCollective
                        : kind == Waiting::Barrier || kind == Waiting::Cluster || kind == Waiting::Split
                            ? FindingKind::DivergentBarrier
                            : FindingKind::Deadlock;
  machine->report(finding, site, site, [&] {
    std::vector<std::string> parts;
    for (const auto &[where, numbers] : groups) {
      const Site &waits = machine->kernels->sites[where.second];
      parts.push_back(llvm::formatv("{0} wait at {1} ({2})", ranges(numbers), waits.op, waits.location));
    }
    if (!finished.empty())
      parts.push_back(ranges(finished) + " have ended");
    return llvm::formatv("in block ({0}, {1}, {2}) no lane can go on: {3}", block->coordinates[0],
                         block->coordinates[1], block->coordinates[2], llvm::join(parts, "; "))
        .str();
  });
}

void tilewright::collective(Lane &lane, uint32_t site, void *frame, llvm::function_ref<void(Subgroup &)> work) {
  Subgroup &subgroup = *lane.subgroup;
  Cluster &cluster = *lane.cluster;
  lane.frame = frame;
  if (subgroup.arrived == 0) {
    subgroup.site = site;
  } else if (subgroup.site != site) {
    Machine &machine = *lane.machine;
    machine.report(FindingKind::DivergentCollective, site, subgroup.site, [&] {
      const Site &other = machine.kernels->sites[subgroup.site];
      return llvm::formatv("{0} comes here while {1} lanes of its subgroup are at {2} ({3})", machine.name(lane),
                           subgroup.arrived, other.op, other.location)
          .str();
    });
    cluster.stop(lane);
    return;
  }
  if (++subgroup.arrived < subgroup.lanes.size()) {
    cluster.suspend(lane, Waiting::Subgroup, site);
    return;
  }
  subgroup.arrived = 0;
  lane.machine->flush(subgroup);
  work(subgroup);
  for (Lane *other : subgroup.lanes) {
    if (other != &lane)
      cluster.makeReady(*other);
  }
}
