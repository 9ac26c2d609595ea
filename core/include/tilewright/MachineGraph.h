//===- MachineGraph.h - A chip by the roles of its parts --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The same facts as TargetDescription, found by what a part is for. There are
/// no kinds of chips: a chip is what its graph says.
///
///   levels      memories, by role                   ways
///   grid        Backing "hbm"  <-- Cached "l2" <----- loads and stores
///   block         Staging "shared" <----------------- an engine, awaited by groups
///                 RegisterPool                        loads and stores
///   subgroup    UniformRegisters
///   lane        LaneRegisters  <--------------------- exchange between lanes
///
/// The role of a memory is a field of its record; where it is not given it
/// follows from kind and level (dialects/Chip/Chip.td has the table), and
/// tw-tblgen refuses what cannot be told. All pointers live as long as the
/// description. A query for what the chip lacks gives null.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_MACHINEGRAPH_H
#define TILEWRIGHT_MACHINEGRAPH_H

#include "tilewright/TargetDescription.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright {

/// How data goes along an edge.
enum class Way {
  LoadsAndStores, // by instructions of the threads
  Engine,         // by commands of a copy engine
  Exchange,       // from lane to lane of a subgroup
  Fill            // by a cache itself
};

/// One way from a memory to another. A register file and itself: an exchange between lanes.
struct MachineEdge {
  const Memory *from = nullptr, *to = nullptr;
  Way way = Way::LoadsAndStores;
  const CopyEngine *engine = nullptr; // the record with its limits; null: none was given
  Completion completion = Completion::AtOnce;
  double bytesPerClock = 0; // 0: unknown
  double latency = 0;       // clocks
};

/// The memories where the operands of a unit lie. Null: no memory of the description holds it (a tile register of its
/// own).
struct UnitHomes {
  const MatrixUnit *unit = nullptr;
  const Memory *a = nullptr, *b = nullptr, *c = nullptr;
};

class MachineGraph {
public:
  explicit MachineGraph(const TargetDescription &chip);
  MachineGraph(const MachineGraph &) = delete;

  //===-- Levels ----------------------------------------------------------===//

  llvm::ArrayRef<Level> levels() const { return allLevels; }
  /// 0 for the outermost level; nullopt if there is none of the name.
  std::optional<size_t> depth(llvm::StringRef level) const;
  /// The innermost level whose members run independently of each other: cores, multiprocessors.
  const Level *parallelLevel() const { return parallel; }
  /// The innermost level whose members can wait for each other: the subgroups of a block.
  const Level *concurrentLevel() const { return concurrent; }
  /// The level of such members around it: blocks of a cluster, which see each other's Staging memories.
  const Level *clusterLevel() const { return cluster; }
  /// The level whose members execute one instruction: lanes of a subgroup, elements of a vector.
  const Level *lockstepLevel() const { return lockstep; }
  /// Whether the members of the lockstep level are threads, with registers of their own; else they are elements of a
  /// vector.
  bool lanesAreThreads() const { return lockstep && (laneRegisters() || !vectorRegisters()); }
  /// The innermost level whose members are threads.
  const Level *threadLevel() const { return lanesAreThreads() ? lockstep : concurrent ? concurrent : parallel; }

  //===-- Programs --------------------------------------------------------===//
  // How a program runs follows from threads and memories. Each question stands by itself: a chip may answer them in any
  // combination.

  /// Whether threads work in blocks: as lanes of subgroups that wait for each other, inside of a parallel member.
  bool hasBlocks() const { return parallel && concurrent && lanesAreThreads(); }
  /// The memory in which a thread that is alone on its member of the parallel level keeps tiles: the scratchpad of a
  /// core. Null where several threads share a member, and where caches keep what a thread uses.
  const Memory *threadMemory() const {
    return parallel && threadLevel() == parallel ? memoryOf(parallel->name) : nullptr;
  }
  /// Whether a program is a host program that starts launches: where it matters on which member something runs, since
  /// its threads wait for each other there or see a memory that others do not. Else it is a function, which any thread
  /// of the chip can call.
  bool startsLaunches() const { return hasBlocks() || (threadMemory() && backing()); }

  //===-- Memories --------------------------------------------------------===//

  MemoryRole roleOf(const Memory &memory) const;
  /// The memory of this name in a record: `CopyEngine::to`, `UnitOperand::memory`.
  const Memory *named(llvm::StringRef name) const;
  /// Where arrays live; of several the largest.
  const Memory *backing() const { return first(MemoryRole::Backing); }
  /// Caches from the nearest to the one before the backing memory.
  std::vector<const Memory *> caches() const { return cached; }
  /// The cache before the backing memory.
  const Memory *lastSharedCache() const { return cached.empty() ? nullptr : cached.back(); }
  /// Bytes of the backing memory that accesses of neighbouring threads are gathered into: what a miss of the last cache
  /// fetches, as the counters of the emulator and vendors' profilers count it; at least 1.
  int64_t sectorBytes() const;
  /// Whether numbers of memories at the outermost level are those of the whole chip: threads are members of a level
  /// inside, which share it. Else they are of one member, as its thread sees it.
  bool sharesOutermost() const { return threadLevel() && threadLevel() != &allLevels.front(); }
  bool isOfWholeChip(const Memory &memory) const { return sharesOutermost() && memory.level == allLevels.front().name; }
  /// Where a member of `level` keeps what it works on, the Staging memory of the level; of several the largest.
  const Memory *memoryOf(llvm::StringRef level) const { return at(MemoryRole::Staging, level); }
  /// The one in which threads of a block hand data to each other: Staging, at the innermost level whose members wait
  /// for each other, and its threads load and store it; of several the largest. One that only engines fill is none.
  const Memory *blockMemory() const;
  /// Where units of a member of `level` add up, if that is a memory.
  const Memory *accumulatorMemoryOf(llvm::StringRef level) const;
  const Memory *vectorRegisters() const { return first(MemoryRole::VectorRegisters); }
  const Memory *laneRegisters() const { return first(MemoryRole::LaneRegisters); }
  const Memory *registerPool() const { return first(MemoryRole::RegisterPool); }
  const Memory *uniformRegisters() const { return first(MemoryRole::UniformRegisters); }
  /// A register file for accumulators alone.
  const Memory *accumulatorRegisters() const;

  //===-- Edges and units -------------------------------------------------===//

  llvm::ArrayRef<MachineEdge> edges() const { return allEdges; }
  /// The ways from one memory to the other; those of engines first.
  llvm::SmallVector<const MachineEdge *> ways(const Memory &from, const Memory &to) const;
  /// Whether the threads of a member of `level` load and store `memory` by their own instructions. They reach what
  /// belongs to their level or one around it, and all of them reach the backing memory, through its caches, unless only
  /// engines do.
  bool reaches(llvm::StringRef level, const Memory &memory) const;
  llvm::ArrayRef<UnitHomes> units() const { return homes; }
  const Memory *homeOf(const UnitOperand &operand) const;

private:
  const Memory *first(MemoryRole role) const;
  const Memory *at(MemoryRole role, llvm::StringRef level) const;
  bool loads(const Memory &memory) const;
  void addEngines(llvm::ArrayRef<CopyEngine> copies);
  void addFills();
  void addThreads(const TargetDescription &chip);

  std::vector<Level> allLevels;
  llvm::ArrayRef<Memory> memories;
  std::vector<MemoryRole> roles; // of memories
  std::vector<const Memory *> cached;
  const Level *parallel = nullptr, *concurrent = nullptr, *cluster = nullptr, *lockstep = nullptr;
  std::vector<MachineEdge> allEdges;
  std::vector<UnitHomes> homes;
};

/// The role of a memory that does not give one, by kind and level; `Inferred` where that does not tell.
MemoryRole inferRole(const Memory &memory, llvm::ArrayRef<Level> levels);
/// The record's word: "Backing", "LaneRegisters".
llvm::StringRef roleName(MemoryRole role);

} // namespace tilewright

#endif // TILEWRIGHT_MACHINEGRAPH_H
