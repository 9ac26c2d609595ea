//===- Emulation.h - Which op is which primitive ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emulator executes the final kernel: ops of the LLVM dialect as they are,
/// matrix units (`@tilewright.unit.<record>`) from their records, and every
/// other op by a rule of its target's table that says which primitives it is:
///
///   void AcmeTarget::emulate(EmulationTable &table) const {            // targets/acme/Emulation.cpp
///     table.fact("acme.lane", LaneFact::LaneX);
///     table.ignore("acme.scheduling.hint");
///     table.on("acme.barrier", [](mlir::Operation *op, EmulationBuilder &b) {
///       b.barrier();
///       return mlir::success();
///     });
///     table.on("acme.async.copy", [](mlir::Operation *op, EmulationBuilder &b) {
///       b.copyAsync(Engine::Copy, op->getOperand(0), op->getOperand(1), 16);
///       return mlir::success();
///     });
///   }
///
///   acme.barrier               ->  llvm.call @tw_emulator_barrier(%lane, %site, ...)
///   %i = acme.lane : i32       ->  %i = llvm.load of the lane's facts
///
/// An op, intrinsic, external function or assembly without a rule is an error.
/// Kernels may also call primitives by name, `@tilewright.primitive.<name>`, with
/// the operands of the builder's method: docs/emulator.md has the list.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_EMULATION_H
#define TILEWRIGHT_EMULATION_H

#include "mlir/IR/Builders.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace tilewright {

/// What a lane knows about itself; each is an i32.
enum class LaneFact : unsigned {
  LaneX,
  LaneY,
  LaneZ, // number of the lane in its block
  BlockX,
  BlockY,
  BlockZ, // number of the block in the grid
  LanesX,
  LanesY,
  LanesZ, // extents of a block
  BlocksX,
  BlocksY,
  BlocksZ,          // extents of the grid
  LaneInSubgroup,   // lane number in its subgroup
  SubgroupInBlock,  // x fastest, then y, z
  SubgroupSize,     // of the chip's innermost group
  SubgroupsInBlock, // rounded up
  BlockInCluster,   // rank of the block in its cluster
  BlocksInCluster,
  ClusterX, // number of the cluster in the grid, along x
  ClustersX,
  DynamicScratchpadBytes // as the launch gives it
};
inline constexpr unsigned numLaneFacts = static_cast<unsigned>(LaneFact::DynamicScratchpadBytes) + 1;

/// Engines that work beside the lanes. Each one's effects fall {early, late} on its own:
///   Copy   tiles into a scratchpad: they land at the issue, or as late as a wait allows
///   Unit   matrix units that read a scratchpad: they read at the issue, or at the wait
///   Store  tiles out of a scratchpad: they are read at the issue, or at the wait
enum class Engine : unsigned { Copy, Unit, Store };

/// Lane that a value comes from, by `amount`; lanes outside the segment of `width` lanes read their own value.
enum class Shuffle : unsigned {
  Index, // lane `amount` of the segment
  Up,    // own lane - amount
  Down,  // own lane + amount
  Xor    // own lane ^ amount
};
enum class Vote : unsigned { All, Any, Ballot };
enum class Combine : unsigned { AddI, MinS, MaxS, MinU, MaxU, And, Or, Xor };

/// What an address space of pointers is.
enum class Space : unsigned {
  Generic, // any of the others: decided by the address
  Global,
  Scratchpad, // of the block
  Cluster,    // scratchpads of all blocks of a cluster, the own one included
  Constant,   // as Global, read only
  Private,    // of one lane: not checked
  Resource    // made by EmulationBuilder::resource
};

/// Rewrites one op: makes primitives and ordinary LLVM ops in front of it. The op is erased afterwards; its results are
/// replaced by what `replace` was given.
class EmulationBuilder {
public:
  /// Ordinary ops of the LLVM dialect. Loads and stores made here become checked and counted accesses.
  mlir::OpBuilder &ir() { return builder; }
  mlir::Location loc() const { return op->getLoc(); }
  mlir::Value constant(unsigned width, int64_t value);
  /// The values of the op's results. Same number and types.
  void replace(mlir::ValueRange values) { results.assign(values.begin(), values.end()); }
  /// "op ... cannot be emulated: WHY", with the op's location.
  mlir::LogicalResult refuse(const llvm::Twine &why);

  mlir::Value fact(LaneFact fact);

  //===-- Lanes that wait for each other ----------------------------------===//

  /// All lanes of the block meet; orders their memory accesses.
  void barrier();
  /// `lanes` lanes (i32) of the block meet at barrier `id` (i32).
  void barrier(mlir::Value id, mlir::Value lanes);
  /// Arrives at barrier `id` of `lanes` lanes without waiting.
  void barrierArrive(mlir::Value id, mlir::Value lanes);
  /// The block's barrier in two halves: announce, then wait until all lanes of the block have announced.
  void barrierSignal();
  void barrierWait();
  /// All lanes of the block meet, their accesses do not: one in front of it is in order for the others only if its lane
  /// held and completed it first, one behind it only if its lane has acquired. A compiler's fences, and waits of a
  /// subgroup for its counters of accesses, are these three.
  void bareBarrier();
  /// Accesses of the lane stay in front of this point; they may be under way.
  void holdAccesses();
  /// Accesses that the lane has held are complete: the lane waited for them. Others may yet move behind the wait.
  void completeAccesses();
  /// Accesses of the lane stay behind this point: they see what the last bare barrier told.
  void acquireAccesses();
  /// The lanes of the subgroup meet; orders their memory accesses.
  void subgroupBarrier();
  /// All lanes of the cluster: announce, then wait.
  void clusterArrive();
  void clusterWait();
  /// What the lane has written, and barrier objects that it has made, become visible to engines that go their own way
  /// to the scratchpad (`fencedEngines`).
  void fenceEngines();
  /// Registers that the lanes of a group have read or written are in order with the units that the group issues from
  /// here on (`fencedRegisters`).
  void fenceUnits();

  //===-- Values between the lanes of a subgroup --------------------------===//
  // All its lanes take part. Orders no memory access.

  /// `value`: any type whose size is a multiple of a byte, up to 64 bits. `amount`, `width`: i32, `width` a power of
  /// two (null: the whole subgroup). `inside`, if not null, receives an i1: the source lies in the segment.
  mlir::Value shuffle(Shuffle kind, mlir::Value value, mlir::Value amount, mlir::Value width = {},
                      mlir::Value *inside = nullptr);
  /// i1 for All and Any; i64 for Ballot, bit i from lane i.
  mlir::Value vote(Vote kind, mlir::Value predicate);
  /// i32 -> i32 over all lanes.
  mlir::Value combine(Combine kind, mlir::Value value);
  /// 2^x of an f32; what is below the smallest normal number is 0.
  mlir::Value exp2(mlir::Value x);
  /// The value of the first lane.
  mlir::Value first(mlir::Value value);
  /// i1: true in the first lane.
  mlir::Value elect();

  //===-- Memory ----------------------------------------------------------===//

  /// 8 x 8 matrices of 16-bit elements from a scratchpad: lane 8 i + r gives the 16-byte aligned address of row r of
  /// matrix i. Lane l receives one i32 a matrix: elements 2 (l % 4), + 1 of row l / 4, or of that column if
  /// `transpose`.
  llvm::SmallVector<mlir::Value> loadMatrices(mlir::Value row, unsigned count, bool transpose);
  /// 8 bytes a lane from a scratchpad, transposed in each group of 16 lanes: with N elements of `elementBytes` in 8
  /// bytes, lane i gives the address of those in row i / (16 / N) from column N (i mod (16 / N)) on, and gets column i
  /// as two i32.
  llvm::SmallVector<mlir::Value> loadColumns(mlir::Value address, unsigned elementBytes);
  /// The reverse of loadMatrices; `words`: one i32 a matrix.
  void storeMatrices(mlir::Value row, mlir::ValueRange words, bool transpose);
  /// A load that gives zeros, a store that does nothing, where `inRange` (i1) is false. `align`: bytes, 0 = the type's.
  mlir::Value load(mlir::Type type, mlir::Value address, unsigned align, mlir::Value inRange);
  void store(mlir::Value value, mlir::Value address, unsigned align, mlir::Value inRange);
  /// A range of `bytes` (i64) at `base` as a value of type `type` (a pointer); resourceBase and resourceBytes give them
  /// back, as a global pointer and i64.
  mlir::Value resource(mlir::Type type, mlir::Value base, mlir::Value bytes);
  mlir::Value resourceBase(mlir::Value resource);
  mlir::Value resourceBytes(mlir::Value resource);

  //===-- Asynchronous copies that are awaited by groups --------------------===//

  /// Copies `bytes` from one address to another. `valid` (i32, null: all): bytes that are read, the rest arrives as
  /// zeros.
  void copyAsync(Engine engine, mlir::Value to, mlir::Value from, int64_t bytes, mlir::Value valid = {});
  /// `rows` rows (i32) of `rowBytes` (i32), `toPitch` and `fromPitch` bytes (i64) apart.
  void copyAsync2d(Engine engine, mlir::Value to, mlir::Value toPitch, mlir::Value from, mlir::Value fromPitch,
                   mlir::Value rows, mlir::Value rowBytes);
  /// The same with rows and columns exchanged: element c of row r goes to place r of row c; `elementBytes` (i32) each.
  void copyTransposed(Engine engine, mlir::Value to, mlir::Value toPitch, mlir::Value from, mlir::Value fromPitch,
                      mlir::Value rows, mlir::Value rowBytes, mlir::Value elementBytes);
  /// Closes a group of all that this lane issued since the last one.
  void commit(Engine engine);
  /// Waits until at most `pending` (i32) groups of this lane are unfinished.
  void wait(Engine engine, mlir::Value pending);
  /// The same for units of a group of subgroups; gives the registers of `accumulators` as they are after it. A unit's
  /// result that no wait has given is NaN.
  llvm::SmallVector<mlir::Value> waitUnits(mlir::Value pending, mlir::ValueRange accumulators);

  //===-- Accumulators in a memory of the block ----------------------------===//
  // LaneParts.h, BlockAccumulators, says what they are. Addresses are i32.

  /// All lanes of a subgroup: `entries` (i32), whose address goes to 4 bytes of the scratchpad at `place`.
  void takeAccumulators(mlir::Value place, mlir::Value entries);
  void freeAccumulators(mlir::Value address, mlir::Value entries);
  /// `rows` lines of `bytes` bytes that `descriptor` (i64) gives, to the entries from `address` on, a word each: line l
  /// to row l, and to each `rows` rows after it. In order with the units that this lane issues after it.
  void copyToAccumulators(mlir::Value address, mlir::Value descriptor, unsigned rows, unsigned bytes);
  /// One arrival at the barrier object `phase` when all units and copies are done that this lane has issued.
  void commitUnits(mlir::Value phase);
  /// All lanes of a subgroup: `count` words of 32 bits, lane i those of row i from the one on that bits 16.. of
  /// `address` say. Words that no `awaitReads` has given are NaN.
  llvm::SmallVector<mlir::Value> readAccumulators(mlir::Value address, unsigned count);
  llvm::SmallVector<mlir::Value> awaitReads(mlir::ValueRange words);
  /// Accesses of this lane begin, after a barrier or a phase; or they end, before one.
  void fenceAccumulators(bool begins);

  //===-- Barrier objects: 8 bytes in a scratchpad --------------------------===//
  // A phase ends when `count` arrivals and all expected bytes have come.

  void phaseInit(mlir::Value address, mlir::Value count);
  void phaseArrive(mlir::Value address, mlir::Value count = {});
  /// Adds `bytes` (i32) to what the current phase expects; no arrival.
  void phaseExpect(mlir::Value address, mlir::Value bytes);
  /// Waits until the phase of `parity` (i32: 0, 1) has ended. A fresh object counts as one whose phase 1 has ended.
  void phaseWait(mlir::Value address, mlir::Value parity);
  /// i1, does not wait.
  mlir::Value phaseTest(mlir::Value address, mlir::Value parity);
  /// The address of the same object in the scratchpad of block `rank` (i32) of the cluster.
  mlir::Value mapToBlock(mlir::Value address, mlir::Value rank, mlir::Type type);

  //===-- Tiles of arrays that a descriptor describes (TensorDescriptor) ----===//

  /// The tile at `coordinates` (i32, innermost first); elements outside the array arrive as zeros. All bytes of the
  /// tile complete at the barrier object. `multicast` (i16, null: the own block): blocks of the cluster that receive
  /// it.
  void copyTensor(mlir::Value to, mlir::Value descriptor, mlir::ValueRange coordinates, mlir::Value barrier,
                  mlir::Value multicast = {});
  /// Out of a scratchpad, awaited by groups of Engine::Store; elements outside are left out.
  void storeTensor(mlir::Value descriptor, mlir::Value from, mlir::ValueRange coordinates);

  //===-- Matrix units ------------------------------------------------------===//

  /// The unit of `record`, "target.record". Operands: A, B and C in this order. One in registers: any number of pieces
  /// that hold its elements in the order of the layout; one in memory: its address, then its row pitch in bytes (i64),
  /// or its descriptor (i64), then 1 where lines run along k, else 0 (i64). Last, if the record's init is ZeroFlag and
  /// C lies in memory: whether C is read (i1). `result`: C's registers as one vector, scalar or struct; null for C in
  /// memory. Calls of `@tilewright.unit.<record>` become this by themselves.
  mlir::Value unit(llvm::StringRef record, mlir::ValueRange operands, mlir::Type result);

private:
  friend class KernelRewriter;
  class Impl;
  EmulationBuilder(mlir::Operation *op, Impl &impl) : op(op), builder(op), impl(impl) {}

  mlir::Operation *op;
  mlir::OpBuilder builder;
  Impl &impl;
  llvm::SmallVector<mlir::Value> results;
};

/// Rewrites `op` with primitives.
using EmulationRule = std::function<mlir::LogicalResult(mlir::Operation *op, EmulationBuilder &builder)>;

/// A matrix in a scratchpad that a descriptor gives to a unit: element `inner` of line `outer` lies at
///   address + outer / 8 * groupBytes + outer % 8 * lineBytes + inner / T * blockBytes + inner % T * element bytes
/// where T elements fill a line; then bits 4.. of the address are XOR-ed with bits 7.. as far as lines are longer
/// than 16.
struct TiledMatrix {
  uint64_t address = 0; // in the block's scratchpad window
  uint32_t lineBytes = 0, groupBytes = 0, blockBytes = 0;
};

/// What a target tells the emulator.
class EmulationTable {
public:
  /// The rule of an op ("acme.barrier"), an LLVM intrinsic ("llvm.acme.barrier"), an external function
  /// ("acme_barrier"), or inline assembly whose text begins with `name` after "asm:" ("asm:acme.barrier"; the longest
  /// such name counts).
  void on(llvm::StringRef name, EmulationRule rule);
  /// An op without operands that gives a fact, as i32 or wider.
  void fact(llvm::StringRef name, LaneFact fact);
  /// An op without results and without effect on values: hints and fences.
  void ignore(llvm::StringRef name);
  /// External functions PREFIX + the name of a primitive are that primitive (docs/emulator.md lists them). Kernels may
  /// always use "tilewright.primitive.".
  void primitives(llvm::StringRef prefix);
  /// What CallLaneOps makes under this prefix: its functions, and LLVM's usual address spaces.
  void calls(llvm::StringRef prefix);
  /// What the chip's records of instructions say, where there is no rule yet: a rule of the target goes first.
  void instructions(llvm::ArrayRef<LaneInstruction> records);
  /// Meaning of a pointer's address space; those not told are Generic.
  void space(unsigned addressSpace, Space meaning) { spaces[addressSpace] = meaning; }

  /// What the descriptor of a unit's operand in a scratchpad says; null: operands are row-major tiles.
  std::function<TiledMatrix(uint64_t descriptor)> tiledMatrix;
  /// Engines that copy tiles and units that read descriptors see what a lane wrote to a scratchpad only behind its
  /// fence.
  bool fencedEngines = false;
  /// Units of a group of subgroups see what lanes did with their registers, A, B or C, only behind the lanes' fence;
  /// and the first one needs a fence in any case. What a unit of the same record gave is in order by itself.
  bool fencedRegisters = false;
  /// The hardware lets no lane end while its copies are under way.
  bool endAwaitsCopies = false;
  /// Lanes of a subgroup see each other's accesses in program order without a barrier.
  bool inOrderSubgroups = false;
  /// Lanes whose scratchpad access of `bytes` is served together, one group after the other; empty or null: consecutive
  /// lanes, as many as the banks serve in one cycle.
  std::function<std::vector<std::vector<unsigned>>(unsigned bytes, bool isStore)> bankGroups;

  const EmulationRule *rule(llvm::StringRef name) const;
  Space meaning(unsigned addressSpace) const;

private:
  llvm::StringMap<EmulationRule> rules;
  llvm::DenseMap<unsigned, Space> spaces;
};

/// What a tensor copy reads its tile by; it lies where the kernel's descriptor argument points to.
struct TensorDescriptor {
  static constexpr uint64_t signature = 0x746c77726d617001; // first word of every descriptor
  uint64_t magic = signature;
  char *base = nullptr;
  uint32_t rank = 0; // 1 to 5
  uint32_t elementBytes = 0;
  uint32_t sizes[5] = {};    // of the array, innermost first, in elements
  uint32_t box[5] = {};      // of a tile
  uint64_t pitches[4] = {};  // bytes from one index of dimension 1.. to the next
  uint32_t swizzleBytes = 0; // 0, or 32, 64, 128: address bits 4.. are XOR-ed with bits 7..
  uint32_t reserved[7] = {};
};
static_assert(sizeof(TensorDescriptor) == 128, "a kernel takes a descriptor by value as 128 bytes");

} // namespace tilewright

#endif // TILEWRIGHT_EMULATION_H
