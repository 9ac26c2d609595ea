//===- Chip.td - What a chip is -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chip is data: levels of parallelism, memories, engines that copy between
// them, units and rates. The same classes describe the three kinds of chip:
//
//                levels                      memories                      copies
//   multicore    core, lane                  global, l3, l2, l1, vector    none: loads
//   SIMT         grid .. subgroup, lane      global, l2, shared, register  asynchronous
//   scratchpad   core                        global, scratchpad, accum.    DMA
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CHIP_CHIP
#define TILEWRIGHT_CHIP_CHIP

include "dialects/Chip/MatrixUnit.td"

class LevelKind<string kind_> { string kind = kind_; }
def Parallel : LevelKind<"Parallel">;     // independent, no cheap synchronisation
def Concurrent : LevelKind<"Concurrent">; // run together, can wait for each other
def Lockstep : LevelKind<"Lockstep">;     // one instruction for all
def Single : LevelKind<"Single">;         // one member

/// One level of parallelism: `count` members in one of the level above.
class Level<string name_, LevelKind kind_, int count_> {
  string levelName = name_;
  LevelKind kind = kind_;
  int count = count_;
}

/// One memory: `bytes` in each member of `level`; bandwidth and latency as one member sees them.
class Memory<string name_, string level_, int bytes_, PerClock read_, Cycles latency_, Source source_ = Unsourced> {
  string memoryName = name_;
  string level = level_;
  string kind = "Global";
  int bytes = bytes_;
  PerClock read = read_;              // bytes per clock
  PerClock write = ?;                 // ordinary stores; unset: as `read`
  PerClock streamingWrite = ?;        // stores that bypass caches; unset: as `write`
  Cycles latency = latency_;
  int lineBytes = 0;
  int ways = 0;
  int banks = 0;
  int bankBytes = 0;
  int entries = 0;
  int entryBytes = 0;
  int pageBytes = 0;                  // span that a hardware prefetcher follows
  Source source = source_;
}
class Cache<string name_, string level_, int bytes_, PerClock read_, Cycles latency_, int lineBytes_, int ways_,
            Source source_ = Unsourced> : Memory<name_, level_, bytes_, read_, latency_, source_> {
  let kind = "Cache";
  let lineBytes = lineBytes_;
  let ways = ways_;
}
class Scratchpad<string name_, string level_, int bytes_, PerClock read_, Cycles latency_, int banks_, int bankBytes_,
                 Source source_ = Unsourced> : Memory<name_, level_, bytes_, read_, latency_, source_> {
  let kind = "Scratchpad";
  let banks = banks_;
  let bankBytes = bankBytes_;
}
/// `entries` registers of `entryBytes`. The core's vectors live in the file named "vector".
class RegisterFile<string name_, string level_, int entries_, int entryBytes_>
    : Memory<name_, level_, !mul(entries_, entryBytes_), PerClock<0>, Cycles<0>> {
  let kind = "RegisterFile";
  let entries = entries_;
  let entryBytes = entryBytes_;
  let source = Cited<"the architecture's manual">;
}
class AccumulatorMemory<string name_, string level_, int bytes_, PerClock read_, Cycles latency_, Source source_ = Unsourced>
    : Memory<name_, level_, bytes_, read_, latency_, source_> {
  let kind = "Accumulator";
}

/// An engine that moves tiles from one memory to another.
class CopyEngine<string from_, string to_> {
  string from = from_;
  string to = to_;
  bit asynchronous = 1;
  Completion completion = WaitGroup;
  int maxRank = 1;                    // dimensions of a tile that one command moves
  int alignBytes = 1;                 // of addresses
  int burstBytes = 0;                 // of one row that one command moves, 0: any
  int queueDepth = 0;                 // commands that it holds; a further one waits. 0: any
  list<int> accessBytes = [];         // sizes of one access, empty: any
  list<string> arrangements = [];     // orders that it can write: "swizzle.128", "transpose", ...
  bit zeroFill = 0;                   // elements outside the array arrive as zeros
  PerClock bandwidth = ?;             // bytes per clock
  Cycles latency = ?;
  Source source = ?;
  list<string> requires = [];
  Emission emit = ?;
}

/// Instructions of one kind per clock of one member of the innermost parallel level.
class Rate<string op_, PerClock perClock_, Source source_> {
  string op = op_;
  PerClock perClock = perClock_;
  Source source = source_;
}

/// What a unit costs on this chip, where it differs from the record's own numbers.
class UnitCost<MatrixUnit unit_, Cycles issue_, Cycles latency_, Source source_> {
  MatrixUnit unit = unit_;
  Cycles issue = issue_;
  Cycles latency = latency_;
  Source source = source_;
}

class Chip<string name_> {
  string chipName = name_;
  string summary = "";
  string triple = "";                 // LLVM's words; "host": of the machine that compiles; empty: no code
  string cpu = "";
  list<string> features = [];         // in LLVM's spelling where LLVM knows them
  list<string> lacks = [];            // implied by `cpu`, not there
  int clockMHz = ?;
  list<Level> levels = [];            // outermost first
  list<Memory> memories = [];
  list<CopyEngine> copies = [];
  list<MatrixUnit> units = [];
  list<UnitCost> costs = [];
  list<VectorOp> vectorOps = [];
  list<Rate> rates = [];
}

/// A chip that is like another but for the fields that its record gives:
///   def NpuLite : Variant<"npu-lite", Npu> { let levels = [Level<"core", Parallel, 2>]; }
class Variant<string name_, Chip like> : Chip<name_> {
  let summary = like.summary;
  let triple = like.triple;
  let cpu = like.cpu;
  let features = like.features;
  let lacks = like.lacks;
  let clockMHz = like.clockMHz;
  let levels = like.levels;
  let memories = like.memories;
  let copies = like.copies;
  let units = like.units;
  let costs = like.costs;
  let vectorOps = like.vectorOps;
  let rates = like.rates;
}

#endif // TILEWRIGHT_CHIP_CHIP
