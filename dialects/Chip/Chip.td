//===- Chip.td - What a chip is -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chip is data: levels of parallelism, memories, engines that copy between
// them, units and rates. The same classes describe unlike chips, and what lies
// between these three:
//
//                levels                      memories                      copies
//   multicore    core, lane                  global, l3, l2, l1, vector    none: loads
//   SIMT         grid .. subgroup, lane      global, l2, shared, register  asynchronous
//   scratchpad   core                        global, scratchpad, accum.    DMA
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CHIP_CHIP
#define TILEWRIGHT_CHIP_CHIP

include "dialects/Chip/Numbers.td"

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

/// What a memory is for. The compiler finds memories by their role, never by their name. Where `Inferred` stands, the role
/// follows from kind and level:
///   Memory                Backing             arrays of a program live there
///   Cache                 Cached              fills by itself
///   Scratchpad            Staging             members of its level keep there what they work on
///   AccumulatorMemory     Accumulators        units add up there
///   RegisterFile at a     Concurrent level    RegisterPool: lanes of a member share these registers out
///                         Lockstep level      UniformRegisters: one value for all lanes; LaneRegisters if it is the innermost
///                         Single level        LaneRegisters, below a Lockstep level; else VectorRegisters
///                         Parallel level      VectorRegisters, unless a Concurrent level lies inside: then say which
class MemoryRole<string role_> { string role = role_; }
def Inferred : MemoryRole<"Inferred">;
def Backing : MemoryRole<"Backing">;
def Cached : MemoryRole<"Cached">;
def Staging : MemoryRole<"Staging">;
def Accumulators : MemoryRole<"Accumulators">;         // of a register file: it holds accumulators alone
def VectorRegisters : MemoryRole<"VectorRegisters">;   // vectors of one thread
def LaneRegisters : MemoryRole<"LaneRegisters">;       // those that one lane can name
def RegisterPool : MemoryRole<"RegisterPool">;
def UniformRegisters : MemoryRole<"UniformRegisters">;

/// How the threads of the level that a memory belongs to, and of levels inside, get at it. `InferredAccess`: by loads and
/// stores, but a core that is one thread, with a scratchpad and without caches, reaches a Backing memory only if a CopyEngine
/// record leads from it to a register file.
class Access<string access_> { string access = access_; }
def InferredAccess : Access<"Inferred">;
def LoadsAndStores : Access<"LoadsAndStores">;
def EnginesOnly : Access<"EnginesOnly">;

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
  int pageBytes = 4096;               // span that a hardware prefetcher follows; caches and what lies nearer have none
  int sectorBytes = 32;               // that accesses of neighbouring threads are gathered into
  MemoryRole role = Inferred;
  Access access = InferredAccess;
  Source source = source_;
}
class Cache<string name_, string level_, int bytes_, PerClock read_, Cycles latency_, int lineBytes_, int ways_,
            Source source_ = Unsourced, int sectorBytes_ = 0> : Memory<name_, level_, bytes_, read_, latency_, source_> {
  let kind = "Cache";
  let sectorBytes = sectorBytes_;     // that a miss fetches; 0: a line
  let pageBytes = 0;
  let lineBytes = lineBytes_;
  let ways = ways_;
}
class Scratchpad<string name_, string level_, int bytes_, PerClock read_, Cycles latency_, int banks_, int bankBytes_,
                 Source source_ = Unsourced> : Memory<name_, level_, bytes_, read_, latency_, source_> {
  let kind = "Scratchpad";
  let sectorBytes = 0;
  let pageBytes = 0;
  let banks = banks_;
  let bankBytes = bankBytes_;
}
/// `entries` registers of `entryBytes`.
class RegisterFile<string name_, string level_, int entries_, int entryBytes_>
    : Memory<name_, level_, !mul(entries_, entryBytes_), PerClock<0>, Cycles<0>> {
  let kind = "RegisterFile";
  let sectorBytes = 0;
  let pageBytes = 0;
  let entries = entries_;
  let entryBytes = entryBytes_;
  let source = Cited<"the architecture's manual">;
}
/// Where lanes read it back, it has `entries` of `entryBytes`, columns of accumulators with 4 bytes for each row, in `banks`. A
/// block takes a power of two of these.
class AccumulatorMemory<string name_, string level_, int bytes_, PerClock read_, Cycles latency_, Source source_ = Unsourced>
    : Memory<name_, level_, bytes_, read_, latency_, source_> {
  let kind = "Accumulator";
  let sectorBytes = 0;
  let pageBytes = 0;
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
  list<int> accessBytes = [];         // sizes of one access, powers of two; empty: any
  list<string> arrangements = [];     // ways that it reads and writes, by the words in docs/chip-description.md
  bit zeroFill = 0;                   // elements outside the array arrive as zeros
  PerClock bandwidth = ?;             // bytes per clock
  Cycles latency = ?;
  Source source = ?;
  list<string> requires = [];
  Emission emit = ?;
}

/// What a lane does in one op of the vendor's dialect, one intrinsic, one function or one line of assembly. `does` is a word of
/// the table in docs/chip-description.md, which says the operands. Arguments of the emission, in order: "$0", "$1", .. operands
/// of the op; "NAME=$0" an attribute of an MLIR op, made of a constant operand; "NAME=VALUE" one as MLIR writes it. The emulator
/// does the same where it meets the op.
class LaneInstruction<string does_, Emission emit_> {
  string does = does_;
  Emission emit = emit_;
}

/// An entry of the list `rates` of version 6. Refused with the name of the field that it is now.
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

class Chip<string name_> : ArithmeticNumbers, MoveNumbers, CoreNumbers, TeamNumbers, LaneNumbers, LaneCodeNumbers {
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
  list<LaneInstruction> laneInstructions = [];
  list<Rate> rates = [];              // refused
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
  let laneInstructions = like.laneInstructions;
  // Numbers.td
  let fma_f32 = like.fma_f32;
  let fma_f64 = like.fma_f64;
  let add_f32 = like.add_f32;
  let mul_f32 = like.mul_f32;
  let max_f32 = like.max_f32;
  let add_i32 = like.add_i32;
  let div_f32 = like.div_f32;
  let sqrt_f32 = like.sqrt_f32;
  let exp2_f32 = like.exp2_f32;
  let ldexp_f32 = like.ldexp_f32;
  let ldexp_f64 = like.ldexp_f64;
  let native_exp2_f32 = like.native_exp2_f32;
  let native_max_f32 = like.native_max_f32;
  let convert_bf16_f32 = like.convert_bf16_f32;
  let convert_f32_bf16 = like.convert_f32_bf16;
  let load = like.load;
  let store = like.store;
  let broadcast_load = like.broadcast_load;
  let crossing_load = like.crossing_load;
  let masked_store = like.masked_store;
  let shuffle = like.shuffle;
  let core_issue = like.core_issue;
  let window = like.window;
  let misses = like.misses;
  let store_misses = like.store_misses;
  let streams = like.streams;
  let fetched_lines = like.fetched_lines;
  let followed = like.followed;
  let hidden = like.hidden;
  let exposed = like.exposed;
  let ramp = like.ramp;
  let shared_part = like.shared_part;
  let crossing_traffic = like.crossing_traffic;
  let first_translations = like.first_translations;
  let translations = like.translations;
  let translate = like.translate;
  let walk = like.walk;
  let walks = like.walks;
  let team = like.team;
  let line_bytes = like.line_bytes;
  let near_bytes = like.near_bytes;
  let second_bytes = like.second_bytes;
  let issue = like.issue;
  let subgroup_issue = like.subgroup_issue;
  let issue_beside_units = like.issue_beside_units;
  let unit_turn = like.unit_turn;
  let resident_threads = like.resident_threads;
  let launch = like.launch;
  let drain = like.drain;
  let shuffle_latency = like.shuffle_latency;
  let barrier_latency = like.barrier_latency;
  let register_step = like.register_step;
  let near_instructions = like.near_instructions;
  let far_fetch = like.far_fetch;
  let address_instructions = like.address_instructions;
  let offset_registers = like.offset_registers;
  let load_alignment = like.load_alignment;
  let paired_accesses = like.paired_accesses;
  let access_waits = like.access_waits;
  let permute_waits = like.permute_waits;
  let fragment_waits = like.fragment_waits;
  let direct_place = like.direct_place;
  let float8_words = like.float8_words;
}

#endif // TILEWRIGHT_CHIP_CHIP
