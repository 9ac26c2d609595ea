//===- Machine.cpp - A launch, block after block --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks a launch against the chip, makes its blocks, and sums what they did.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Machine.h"
#include "core/Emulator/AsyncEngines.h"
#include "core/Emulator/PoisonedMemory.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>
#include <sys/mman.h>

using namespace tilewright;
using llvm::formatv;

static constexpr uint64_t windowBytes = Machine::windowStride * Machine::maxBlocksInCluster;
static constexpr size_t poisonBytes = 1 << 16;

/// A mapping whose addresses fit 32 bits, aligned to one scratchpad.
static char *mapWindow() {
  for (uint64_t hint = 0x10000000; hint < 0xf0000000; hint += 0x4000000) {
    void *memory = mmap(reinterpret_cast<void *>(hint), windowBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      continue;
    uint64_t address = reinterpret_cast<uint64_t>(memory);
    if (address + windowBytes <= (uint64_t(1) << 32) && address % Machine::windowStride == 0)
      return static_cast<char *>(memory);
    munmap(memory, windowBytes);
  }
  return nullptr;
}

Machine::Machine() : poison(poisonBytes, static_cast<char>(poisonByte)), trash(poisonBytes) { window = mapWindow(); }

Machine::~Machine() {
  if (window)
    munmap(window, windowBytes);
}

std::string Machine::name(const Lane &lane) const {
  const uint32_t *at = lane.block->coordinates;
  return formatv("lane {0} of block ({1}, {2}, {3})", lane.number - lane.block->lanes.front()->number, at[0], at[1],
                 at[2]);
}

void Machine::report(FindingKind kind, uint32_t site, uint32_t otherSite, llvm::function_ref<std::string()> message) {
  auto [entry, isNew] =
      findingIndex.try_emplace({static_cast<int>(kind), site, otherSite, kernel->name}, findings.size());
  if (!isNew) {
    ++findings[entry->second].times;
    return;
  }
  Finding finding;
  finding.kind = kind;
  finding.kernel = kernel->name;
  finding.op = kernels->sites[site].op;
  finding.location = kernels->sites[site].location;
  if (otherSite != site || kind == FindingKind::Race || kind == FindingKind::MissingWait) {
    finding.otherOp = kernels->sites[otherSite].op;
    finding.otherLocation = kernels->sites[otherSite].location;
  }
  finding.message = message();
  findings.push_back(std::move(finding));
}

static void laneMain(void *argument) {
  Lane &lane = *static_cast<Lane *>(argument);
  Machine &machine = *lane.machine;
  machine.code(&lane, machine.argumentPointers.data());
  advance(lane);
  countUnits(lane, ~0u);
  lane.cluster->finish(lane);
}

/// Whether `queue` is as it was made: most are, and a new one takes memory.
static bool isNew(const EngineQueue &queue) {
  return !queue.issued && queue.copies.empty() && queue.tensors.empty() && queue.units.empty() && !queue.held.address &&
         !queue.held.unit && queue.uncounted.empty() && queue.beats.empty() && queue.commits.empty() &&
         queue.freeAt == 0 && queue.commitEnds.empty() && queue.lastEnd == 0 && queue.ends.empty() && !queue.lastSite &&
         !queue.lastCopy;
}

void Machine::runCluster(Cluster &cluster) {
  size_t blockCount = kernels->blocks.size();
  for (Block &one : cluster.blocks) {
    std::memset(one.scratchpad, poisonByte, one.scratchpadBytes);
    one.barriers.clear();
    one.groups.clear();
    one.accumulators.clear();
    if (checks)
      one.shadow.reset(one.scratchpadBytes, kernels->scratchpadGranule,
                       std::max(kernels->scratchpadGranule, kernels->scratchpadLine), cluster.run);
    for (Subgroup &subgroup : one.subgroups) {
      subgroup.arrived = 0;
      subgroup.barrierGeneration = ~0u;
    }
  }
  Clocks none;
  if (checks)
    none = std::make_shared<std::vector<uint32_t>>(cluster.agents.count());
  cluster.ready.clear();
  cluster.polling.clear();
  cluster.barrierObjects.clear();
  cluster.flying.clear();
  cluster.acquired.clear();
  cluster.barrier = Barrier();
  cluster.unfinished = cluster.lanes.size();
  cluster.stopped = cluster.progressed = false;
  for (Lane &lane : cluster.lanes) {
    lane.finished = false;
    lane.waiting = Waiting::No;
    lane.order = Order();
    lane.order.known = none;
    lane.order.self = lane.number;
    lane.fenced = 0;
    lane.fences = AccessFences();
    for (EngineQueue &engine : lane.engines)
      if (!isNew(engine))
        engine = EngineQueue();
    lane.log.clear();
    lane.now = 0;
    lane.accessClocks = 0;
    lane.costed.clear();
    std::fill_n(lane.blockCounts, blockCount, 0);
    stacks.clear(lane.number);
    lane.top = tilewright_fiber_prepare(stacks.top(lane.number), laneMain, &lane);
    cluster.ready.push_back(&lane);
  }
  cluster.execute();
  finishCluster(cluster);
}

void Machine::finishCluster(Cluster &cluster) {
  double end = 0;
  for (Lane &lane : cluster.lanes) {
    if (!cluster.stopped && lane.finished)
      drain(lane);
    end = std::max(end, lane.now);
    for (const EngineQueue &engine : lane.engines)
      end = std::max(end, engine.freeAt);
  }
  if (!cluster.stopped && !cluster.unfinished) {
    for (const TensorTransfer &transfer : cluster.flying) {
      report(FindingKind::InFlight, transfer.site, transfer.site, [&] {
        return formatv("{0} has ended before its tile arrived", name(cluster.lanes[transfer.lane])).str();
      });
    }
  }
  finishAccumulators(cluster);
  cycles += timed ? end : 0;
  launchEnd = std::max(launchEnd, launchStart + end);
  for (Block &one : cluster.blocks) {
    for (Subgroup &subgroup : one.subgroups) {
      flush(subgroup);
      if (!counting)
        continue;
      for (size_t i = 0, count = kernels->blocks.size(); i < count; ++i) {
        uint32_t most = 0;
        for (Lane *lane : subgroup.lanes)
          most = std::max(most, lane->blockCounts[i]);
        blockExecutions[i] += most;
      }
    }
  }
}

/// Empty, or why this launch cannot be.
static std::string refuse(const Machine &machine, const EmulatedKernels::Impl &kernels, const KernelEntry *kernel,
                          const Launch &launch, uint64_t scratchpadBytes) {
  if (!machine.window)
    return "the system gives no memory below 4 GiB for scratchpads";
  if (!kernel) {
    std::string known;
    for (const KernelEntry &entry : kernels.kernels)
      known += (known.empty() ? "" : ", ") + entry.name;
    return formatv("no kernel '{0}' (known: {1})", launch.kernel, known.empty() ? "none" : known);
  }
  if (launch.arguments.size() != kernel->parameters.size())
    return formatv("kernel '{0}' takes {1} arguments, the launch gives {2}", kernel->name, kernel->parameters.size(),
                   launch.arguments.size());
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const KernelParameter &parameter = kernel->parameters[i];
    if (launch.arguments[i].size() != parameter.bytes && !parameter.inMemory)
      return formatv("argument {0} of kernel '{1}' has {2} bytes, the launch gives {3}", i, kernel->name,
                     parameter.bytes, launch.arguments[i].size());
  }
  for (unsigned d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.block[d] == 0)
      return "a grid or block without members; expected at least 1 in each dimension";
  }
  uint64_t lanes = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  const unsigned mostLanes = 1024;
  if (lanes > mostLanes)
    return formatv("{0} lanes a block; expected at most {1}", lanes, mostLanes);
  if (launch.cluster == 0 || launch.cluster > Machine::maxBlocksInCluster || launch.grid[0] % launch.cluster)
    return formatv("clusters of {0} blocks in a grid of {1} along x; expected a divisor up to {2}", launch.cluster,
                   launch.grid[0], Machine::maxBlocksInCluster);
  uint64_t most = kernels.scratchpadLimit;
  if (scratchpadBytes > most || scratchpadBytes > Machine::windowStride)
    return formatv("kernel '{0}' needs {1} bytes of scratchpad, {2} has {3}", kernel->name, scratchpadBytes,
                   kernels.chip->chip(), std::min<uint64_t>(most, Machine::windowStride));
  return "";
}

static void fillFacts(Lane &lane, const Launch &launch, uint32_t inBlock, uint32_t subgroupSize) {
  auto set = [&](LaneFact fact, uint32_t value) { lane.facts[static_cast<unsigned>(fact)] = value; };
  uint32_t x = launch.block[0], y = launch.block[1];
  set(LaneFact::LaneX, inBlock % x);
  set(LaneFact::LaneY, inBlock / x % y);
  set(LaneFact::LaneZ, inBlock / (x * y));
  for (unsigned d = 0; d < 3; ++d) {
    lane.facts[static_cast<unsigned>(LaneFact::LanesX) + d] = launch.block[d];
    lane.facts[static_cast<unsigned>(LaneFact::BlocksX) + d] = launch.grid[d];
  }
  set(LaneFact::LaneInSubgroup, inBlock % subgroupSize);
  set(LaneFact::SubgroupInBlock, inBlock / subgroupSize);
  set(LaneFact::SubgroupSize, subgroupSize);
  set(LaneFact::SubgroupsInBlock, llvm::divideCeil(x * y * launch.block[2], subgroupSize));
  set(LaneFact::BlocksInCluster, launch.cluster);
  set(LaneFact::ClustersX, launch.grid[0] / launch.cluster);
  set(LaneFact::DynamicScratchpadBytes, launch.dynamicScratchpadBytes);
}

bool Machine::launch(const Launch &launch, std::string &error) {
  kernel = nullptr;
  for (const KernelEntry &entry : kernels->kernels) {
    if (entry.name == launch.kernel)
      kernel = &entry;
  }
  scratchpadBytes = (kernel ? kernel->staticScratchpadBytes : 0) + launch.dynamicScratchpadBytes;
  error = refuse(*this, *kernels, kernel, launch, scratchpadBytes);
  if (!error.empty())
    return false;
  llvm::Expected<KernelCode::Entry> entry = kernels->code->entryOf(kernel->name);
  if (!entry) {
    error = formatv("kernel '{0}': {1}", kernel->name, llvm::toString(entry.takeError()));
    return false;
  }
  code = *entry;

  auto begin = std::chrono::steady_clock::now();
  uint32_t lanesInBlock = launch.block[0] * launch.block[1] * launch.block[2];
  uint32_t lanes = lanesInBlock * launch.cluster, size = kernels->subgroupSize;
  if (!stacks.reserve(lanes)) {
    error = formatv("no memory for the stacks of {0} lanes", lanes);
    return false;
  }
  grid = launch.grid;
  block = launch.block;
  timed = kernels->timed;
  launchStart = launchEnd;
  banks = Banks();
  if (kernels->scratchpad && kernels->scratchpad->banks)
    banks = {static_cast<unsigned>(kernels->scratchpad->banks), static_cast<unsigned>(kernels->scratchpad->bankBytes)};
  std::vector<std::vector<char>> arguments = launch.arguments;
  argumentPointers.clear();
  for (std::vector<char> &argument : arguments)
    argumentPointers.push_back(argument.data());
  if (checks) {
    if (runs > ~uint32_t(0) / 2) // numbers begin anew, and so do the shadows
      runs = 0;
    for (const std::unique_ptr<Buffer> &buffer : buffers)
      buffer->shadow.reset(buffer->bytes, kernels->globalGranule, std::max(kernels->globalGranule, kernels->globalLine),
                           runs + 1);
  }
  scratchpadCounts.assign(kernels->sites.size(), {});
  globalCounts.assign(kernels->sites.size(), {});
  unitIssues.assign(kernels->units.size(), 0);
  blockExecutions.assign(kernels->blocks.size(), 0);
  for (EngineCounters &engine : engineCounters)
    engine = EngineCounters();
  cycles = 0;
  barriersPassed = 0;
  atomicReleases.clear();
  atomicClocks.clear();

  Cluster cluster;
  cluster.machine = this;
  cluster.run = runs;
  cluster.lanes = std::vector<Lane>(lanes);
  cluster.blocks = std::vector<Block>(launch.cluster);
  cluster.agents = {lanes, size, kernels->table.inOrderSubgroups};
  std::vector<uint32_t> blockCounts(kernels->blocks.size() * lanes);
  for (uint32_t rank = 0; rank < launch.cluster; ++rank) {
    Block &one = cluster.blocks[rank];
    one.cluster = &cluster;
    one.scratchpad = window + rank * windowStride;
    one.scratchpadBytes = scratchpadBytes;
    one.subgroups = std::vector<Subgroup>(llvm::divideCeil(lanesInBlock, size));
    for (uint32_t i = 0; i < lanesInBlock; ++i) {
      Lane &lane = cluster.lanes[rank * lanesInBlock + i];
      lane.machine = this;
      lane.cluster = &cluster;
      lane.block = &one;
      lane.subgroup = &one.subgroups[i / size];
      lane.number = rank * lanesInBlock + i;
      lane.blockCounts = blockCounts.data() + lane.number * kernels->blocks.size();
      lane.scratchpad = one.scratchpad;
      lane.subgroup->block = &one;
      lane.subgroup->lanes.push_back(&lane);
      one.lanes.push_back(&lane);
      fillFacts(lane, launch, i, size);
      lane.facts[static_cast<unsigned>(LaneFact::BlockInCluster)] = rank;
    }
  }
  bool stopped = false;
  for (uint32_t z = 0; z < grid[2] && !stopped; ++z) {
    for (uint32_t y = 0; y < grid[1] && !stopped; ++y) {
      for (uint32_t x = 0; x < grid[0] && !stopped; x += launch.cluster) {
        for (uint32_t rank = 0; rank < launch.cluster; ++rank) {
          uint32_t at[3] = {x + rank, y, z};
          std::copy_n(at, 3, cluster.blocks[rank].coordinates);
          for (Lane *lane : cluster.blocks[rank].lanes) {
            for (unsigned d = 0; d < 3; ++d)
              lane->facts[static_cast<unsigned>(LaneFact::BlockX) + d] = at[d];
            lane->facts[static_cast<unsigned>(LaneFact::ClusterX)] = x / launch.cluster;
          }
        }
        runs = ++cluster.run;
        runCluster(cluster);
        stopped = cluster.stopped || cluster.unfinished;
      }
    }
  }
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  lastSeconds = elapsed.count();
  sumCounters(launch, lastSeconds);
  return true;
}
