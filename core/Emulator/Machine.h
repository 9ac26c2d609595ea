//===- Machine.h - Lanes, blocks and engines of a running kernel ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The state of an emulated launch. A cluster of blocks runs at a time; its lanes
/// are fibers on one host thread:
///
///   Machine   what all blocks share: kernels' sites, counters, findings, buffers
///   Cluster   blocks that run together; the queue of lanes that are ready
///   Block     a scratchpad, barriers
///   Subgroup  lanes that execute collective ops together
///   Lane      a fiber, what it knows (Order), what it logged
///
/// Compiled kernels know two members of Lane by their offsets and call the
/// functions of Symbols.h for everything else.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_MACHINE_H
#define TILEWRIGHT_CORE_EMULATOR_MACHINE_H

#include "core/CostModel/Machine/BankTraffic.h"
#include "core/Emulator/AccumulatorMemory.h"
#include "core/Emulator/CoalescingCounters.h"
#include "core/Emulator/Fiber.h"
#include "core/Emulator/Kernels.h"
#include "core/Emulator/Shadow.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>
#include <map>

namespace tilewright {

struct Machine;
struct Cluster;
struct Block;
struct Subgroup;

/// A part of an asynchronous copy or tensor transfer that has been issued.
struct Transfer {
  char *to = nullptr;
  const char *from = nullptr;
  int64_t toPitch = 0, fromPitch = 0;
  uint32_t rows = 1, rowBytes = 0;
  uint32_t valid = ~0u;      // bytes of a row that are read, the rest are zeros
  uint32_t elementBytes = 0; // not 0: element c of row r goes to row c, place r
  uint32_t stamp = 0;        // clock of its agent
  uint32_t site = 0;
};
/// A tile between an array and a scratchpad, with its descriptor decoded.
struct TensorTransfer {
  const TensorDescriptor *descriptor = nullptr;
  int32_t origin[5] = {};
  char *scratchpad = nullptr; // of the block that receives or gives it
  bool store = false;
  uint64_t phase = 0; // address of the barrier object, 0: by groups
  uint32_t stamp = 0, site = 0, lane = 0;
};
/// A unit's instruction on memory, issued and not executed yet.
struct UnitIssue {
  const UnitRunner *runner = nullptr;
  uint32_t stamp = 0;
  bool useC = true;
  MemoryOperand operands[3];
  char *at(int operand, int64_t row, int64_t col) const;
  void run() const;
};

/// A matrix that a descriptor gives to a unit of a group.
struct DescribedMatrix {
  TiledMatrix matrix;
  char *scratchpad = nullptr;
  bool kInner = true;
  /// Element `inner` of line `outer`.
  char *at(int64_t outer, int64_t inner, int64_t elementBytes) const;
};
struct Accumulator;
/// An instruction of a unit of a group.
struct GroupIssue {
  const UnitRunner *runner = nullptr;
  uint32_t stamp = 0; // the same in all lanes of the group
  DescribedMatrix operands[2];
  std::vector<char> registers; // of all operands, lane after lane; empty: only C lies there
  void run(Accumulator &sums) const;
};
/// Registers of a group of lanes that units under way write.
struct Accumulator {
  std::vector<char> registers; // lane after lane
  std::vector<GroupIssue> queued;
  uint32_t stamp = 0; // of the last instruction
  uint32_t firstLane = 0, lanes = 1;
  uint32_t givenTo = 0; // lanes
  int64_t laneWords() const { return registers.size() / lanes / 4; }
};
/// An instruction of a unit that adds up in a memory of the block, or a copy into that memory.
struct AccumulatorIssue {
  const UnitRunner *runner = nullptr; // null: a copy
  Block *block = nullptr;
  uint32_t stamp = 0, site = 0, entry = 0;
  bool useC = true;
  uint32_t rows = 0, bytes = 0; // of a copy's lines, which the first of `operands` describes
  Clocks known;                 // by the lane that issued it
  DescribedMatrix operands[2];
  struct Scales {
    uint32_t entry = 0, first = 0; // the first entry; the first scale of a word that the instruction takes, or entry
  } scales[2];                     // in the order of the record's
  void run() const;

private:
  void copy() const;
};
/// Those for whose end a barrier object gets an arrival; of early engines none is left.
struct CommittedUnits {
  uint64_t phase = 0; // address
  uint32_t agent = 0, stamp = 0;
  Clocks known; // when the last one was issued; null: nothing was since the last commit
  std::vector<AccumulatorIssue> issues;
};
/// Lanes of a group that have come to one collective instruction.
struct GroupBarrier {
  uint32_t arrived = 0, site = 0;
};

/// Clocks in which a copy engine moves a tile, whose rows lie in the scratchpad.
struct EngineBeats {
  double begin = 0, end = 0; // clocks of the core
  RowStream rows;
  double bytesPerClock = 0;
  int64_t alignBytes = 1;
};
/// An instruction of a unit whose clocks are counted when somebody asks for them: engines that want the same banks may
/// be commanded after it.
struct UnitClocks {
  uint32_t stamp = 0;
  double ready = 0;               // clocks of the core when it was issued
  double clocks = 0, latency = 0; // that it is busy; from then on until its results are there
  UnitTraffic traffic;
};
/// The operand that a unit holds, by its place.
struct HeldOperand {
  uint64_t address = 0;
  int64_t pitch = 0, rows = 0;
  const UnitRunner *unit = nullptr;
};

/// What one engine does for one lane.
struct EngineQueue {
  uint32_t issued = 0;          // clock of the last command
  std::vector<Transfer> copies; // not landed yet, oldest first
  std::vector<TensorTransfer> tensors;
  std::vector<UnitIssue> units;
  HeldOperand held;
  std::deque<UnitClocks> uncounted; // oldest first
  std::deque<EngineBeats> beats;    // that a unit may meet, oldest first
  std::vector<uint32_t> commits;    // clock at the end of each group that is not known to be finished
  double freeAt = 0;                // clocks of the core: when it has finished all commands
  std::vector<double> commitEnds;
  double lastEnd = 0;
  std::vector<double> ends; // of the commands that may be in the queue, oldest first
  uint32_t lastSite = 0;
  uint32_t lastCopy = 0; // clock of the last command that a group awaits: tiles complete at a barrier object
};

/// How far a lane's accesses are in order at bare barriers.
struct AccessFences {
  uint32_t held = 0, complete = 0; // clocks of its last access that stays before it, and that the lane has waited for
  Clocks before, joined;           // what it knew at the last barrier, and what all its lanes knew; null: acquired
  Clocks arrivals;                 // the clock of each lane when it came to that barrier
};

enum class Waiting : uint8_t { No, Subgroup, Barrier, Phase, Cluster, Split };

struct Lane {
  // Read by compiled code.
  int32_t facts[24] = {};
  uint32_t *blockCounts = nullptr; // executions of each basic block by this lane
  char *scratchpad = nullptr;      // of its block

  Machine *machine = nullptr;
  Cluster *cluster = nullptr;
  Block *block = nullptr;
  Subgroup *subgroup = nullptr;
  uint32_t number = 0; // in the cluster
  void *top = nullptr; // of the stack, while it does not run
  bool finished = false;
  Waiting waiting = Waiting::No;
  uint32_t waitSite = 0;
  uint64_t waitObject = 0; // number or address of what it waits for
  uint32_t waitPhase = 0;
  void *frame = nullptr; // operands of a collective op
  Order order;
  uint32_t fenced = 0; // clock of the last fence before engines
  AccessFences fences;
  EngineQueue engines[numEngines];
  std::vector<AccumulatorIssue> accumulating; // issued and not committed
  AccumulatorReads reads;
  struct Logged {
    uint64_t address;
    uint32_t site;
  };
  std::vector<Logged> log;
  unsigned lastBuffer = 0;
  double now = 0;               // clocks of the core, where engines have them
  double accessClocks = 0;      // of accesses, beyond what basic blocks count; not in `now` yet
  std::vector<uint32_t> costed; // block counts that `now` includes
};
static_assert(offsetof(Lane, facts) == laneFactsOffset && offsetof(Lane, blockCounts) == laneBlockCountsOffset &&
              offsetof(Lane, scratchpad) == laneScratchpadOffset);

struct Subgroup {
  Block *block = nullptr;
  std::vector<Lane *> lanes;
  uint32_t arrived = 0, site = 0;
  uint32_t barrierSite = 0, barrierGeneration = ~0u; // of the block's barrier
};

/// A barrier: of the block, named, split, or of the cluster.
struct Barrier {
  uint32_t arrived = 0, expected = 0, generation = 0;
  std::vector<Lane *> waiting;
  std::vector<uint32_t> clocks;   // joined from those that arrived in this generation
  std::vector<uint32_t> arrivals; // of a bare barrier: clocks of the lanes when they came
  Clocks lastKnown;               // joined last
  Clocks joined;                  // of the last generation that ended
};

/// A barrier object: phases that end by arrivals and bytes.
struct BarrierObject {
  uint32_t count = 0, pending = 0, phase = 0;
  uint32_t maker = 0, made = 0, madeSite = 0; // lane, its clock, op
  int64_t bytes = 0;                          // expected and not come yet
  std::vector<Lane *> waiting;
  std::vector<uint32_t> clocks;
  Clocks completed; // of the last phase that ended
};

struct Block {
  Cluster *cluster = nullptr;
  uint32_t coordinates[3] = {};
  char *scratchpad = nullptr;
  uint64_t scratchpadBytes = 0;
  ShadowMemory shadow;
  std::vector<Lane *> lanes;
  std::vector<Subgroup> subgroups;
  std::map<int64_t, Barrier> barriers;     // by id; blockBarrier: the whole block
  std::map<uint32_t, GroupBarrier> groups; // by first lane
  std::map<uint32_t, Accumulator> accumulators;
  uint32_t lastAccumulator = 0;
  AccumulatorMemory accumulatorMemory;
  static constexpr int64_t blockBarrier = -1, splitBarrier = -2;
};

struct Cluster {
  Machine *machine = nullptr;
  uint32_t run = 0; // number on the device, from 1
  std::vector<Lane> lanes;
  std::vector<Block> blocks;
  Agents agents;
  std::deque<Lane *> ready;
  std::vector<Lane *> polling;
  std::map<uint64_t, BarrierObject> barrierObjects; // by address
  Barrier barrier;                                  // of all its lanes
  std::deque<TensorTransfer> flying;                // towards barrier objects
  std::deque<CommittedUnits> committed;             // of late engines, oldest first
  llvm::DenseSet<uint32_t> acquired;                // runs known to have ended
  uint32_t unfinished = 0;
  bool stopped = false; // a finding that the kernel cannot go on from
  bool progressed = false;
  void *schedulerTop = nullptr;

  /// Runs all lanes to their end, or until nothing can go on.
  void execute();
  /// Lets others run until somebody makes this lane ready again.
  void suspend(Lane &lane, Waiting why, uint32_t site, uint64_t object = 0);
  /// Goes to the end of the queue, after the others.
  void yield(Lane &lane);
  void makeReady(Lane &lane);
  /// Leaves the lane for good.
  void finish(Lane &lane);
  /// Ends the cluster from inside a lane: its fibers are never entered again.
  void stop(Lane &lane);

private:
  void enterNext(Lane &from);
  void reportStuck();
};

/// What one site did, see SiteCounters.
struct SiteCount {
  uint64_t executions = 0, bytes = 0, transactions = 0, cycles = 0, conflicts = 0;
};

struct Buffer {
  char *data = nullptr;
  uint64_t bytes = 0;
  ShadowMemory shadow;
};

/// Where an address lies.
struct MemoryPlace {
  enum Kind { Nowhere, Scratchpad, Global, Private } kind = Nowhere;
  Block *block = nullptr;
  Buffer *buffer = nullptr;
  uint64_t offset = 0;
  uint64_t room = 0; // bytes from the address to the end
};

/// Engines as counters and traces call them; then the core's own instructions, and in traces its waits.
inline constexpr const char *engineNames[] = {"copy", "unit", "store", "core", "wait"};
inline constexpr unsigned coreWaits = numEngines + 1;

struct Machine {
  const EmulatedKernels::Impl *kernels = nullptr;
  EmulatorMode mode;
  uint32_t runs = 0; // clusters so far
  bool checks = true, counting = true;
  bool timed = false; // the chip's lanes are cores with engines: clocks are kept
  bool tracing = false;
  std::vector<TraceEvent> events;        // of all launches
  double launchStart = 0, launchEnd = 0; // clocks since the first launch
  /// Keeps what `engine` (numEngines: the core; coreWaits) did until `end` of the lane's clocks.
  void record(const Lane &lane, unsigned engine, double end, double cycles, uint64_t bytes);

  std::vector<std::unique_ptr<Buffer>> buffers; // sorted by address
  std::map<std::string, KernelCounters> counters;
  std::map<std::string, uint64_t> barriers; // of whole blocks, by kernel
  std::vector<Finding> findings;
  std::map<std::tuple<int, uint32_t, uint32_t, std::string>, size_t> findingIndex;

  // Of the launch that runs.
  const KernelEntry *kernel = nullptr;
  KernelCode::Entry code = nullptr; // its
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t scratchpadBytes = 0;
  std::vector<void *> argumentPointers;
  std::vector<SiteCount> scratchpadCounts, globalCounts; // by site
  std::vector<uint64_t> unitIssues;                      // by unit
  std::vector<uint64_t> blockExecutions;                 // by basic block, in subgroups
  uint64_t barriersPassed = 0;                           // of whole blocks, in this launch
  EngineCounters engineCounters[numEngines + 1];         // the last one: the core's own instructions
  double cycles = 0;
  double lastSeconds = 0;
  Banks banks;
  llvm::DenseMap<uint64_t, std::vector<uint32_t>> atomicReleases; // runs that an atomic access at this address saw
  std::map<uint64_t, Clocks> atomicClocks;

  FiberStacks stacks;
  char *window = nullptr; // the scratchpads of a cluster, below 4 GiB so that 32-bit addresses work
  static constexpr uint64_t windowStride = 1 << 21, maxBlocksInCluster = 16;
  std::vector<char> poison, trash;

  Machine();
  ~Machine();

  /// Runs all blocks. False: a message in `error`.
  bool launch(const Launch &launch, std::string &error);

  MemoryPlace locate(Lane &lane, const void *address);
  /// An access of one lane: checked, logged. The address to use instead of `address`.
  void *access(Lane &lane, uint32_t site, void *address);
  /// Bytes [begin, end) after `address`, of a site without a size of its own; gives `address`.
  void *accessRange(Lane &lane, uint32_t site, char *address, int64_t begin, int64_t end, int64_t elementBytes);
  /// Counts what `count` accesses of `bytes` take beyond what their instructions `counted`, where cores have clocks; a
  /// write lets the unit load its stationary operand again.
  void addClocks(Lane &lane, const char *address, int64_t bytes, int64_t count, AccessKind kind, double counted);
  /// The same for `bytes` by (agent, clock) with what `order` knows; false: out of bounds. Not logged.
  bool check(Lane &lane, const Order &order, uint32_t agent, uint32_t clock, uint32_t site, const void *address,
             uint64_t bytes, uint64_t align, AccessKind kind, Space space);
  /// Reports a scratchpad granule at `address` that an engine of `lane` uses and whose last writer is a lane that has
  /// not fenced since.
  void checkFence(Lane &lane, uint32_t site, const void *address);
  /// The same for the making of a barrier object.
  void checkFence(Lane &lane, uint32_t site, const BarrierObject &object);
  void log(Lane &lane, uint32_t site, const void *address) {
    if (counting)
      lane.log.push_back({reinterpret_cast<uint64_t>(address), site});
  }
  /// Set in the logged site of a copy's destination.
  static constexpr uint32_t destination = 1u << 31;
  /// Counts what the lanes of a subgroup logged.
  void flush(Subgroup &subgroup);
  /// Counts one instruction of a subgroup.
  void count(uint32_t site, llvm::ArrayRef<uint64_t> addresses, llvm::ArrayRef<unsigned> lanes, unsigned bytes);

  void report(FindingKind kind, uint32_t site, uint32_t otherSite, llvm::function_ref<std::string()> message);
  std::string name(const Lane &lane) const; // "lane 5 of block (1, 0, 0)"

private:
  void runCluster(Cluster &cluster);
  void finishCluster(Cluster &cluster);
  void sumCounters(const Launch &launch, double seconds);
};

/// All lanes of the subgroup come with their frames; `work` runs once, in the last one, before any goes on.
void collective(Lane &lane, uint32_t site, void *frame, llvm::function_ref<void(Subgroup &)> work);
/// What the lane did so far becomes known to those who acquire `clocks`; what it does from now on does not.
void release(Lane &lane, std::vector<uint32_t> &clocks, Clocks *lastKnown = nullptr);
void acquire(Lane &lane, const Clocks &clocks);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_MACHINE_H
