//===- LaneParts.h - What some lanes can do beside the basics ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The optional parts of LaneOps (LaneOps.h), one class each. A chip that lacks
/// a part leaves its functions alone: each has a default that says so.
///
///   LaneInstructions   what records of the chip say in one instruction
///   GroupCopies        asynchronous copies of a lane, awaited by groups
///   PlacedAccesses     loads and copies by base, scalar and the lane's offset
///   OrderHints         when loads have arrived, what is issued first
///   MatrixLoads        loads from the scratchpad in the order of a unit
///   ProducerWarps      barrier objects, copies of tiles, clusters
///   GroupUnits         units that a group of subgroups issues
///
/// What is one op, intrinsic or call needs no function: a `LaneInstruction`
/// record of the chip, which tells the emulator the same
/// (docs/chip-description.md, "Instructions of lanes").
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LANEPARTS_H
#define TILEWRIGHT_LANEPARTS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// A matrix in the scratchpad as a unit reads it: lines of `lineBytes`, in each the elements along k or along the free
/// dimension; groups of 8 lines; blocks of lines side by side, where a row of the matrix is longer than a line. 16-byte
/// pieces of a line are permuted: address bits 4.. are XOR-ed with bits 7.. .
struct ScratchpadTile {
  int64_t lineBytes = 0;  // also the span of the permutation: 128, 64, 32; 16: none
  int64_t groupBytes = 0; // from one group of 8 lines to the next
  int64_t blockBytes = 0; // from one block of lines to the next
  bool kInner = true;     // elements of a line follow each other along k
};

/// Where one lane reads an array: `base` + `uniform` + `lane` + `constant` bytes. All but `lane` is the same for the
/// lanes of a subgroup, `lane` + `constant` is not negative and below `range`, or `range` itself where the chip reads
/// zeros from there on (`zerosBeyond`).
struct ArrayPlace {
  mlir::Value base;          // pointer
  int64_t range = 0;         // bytes behind `base` in which `lane` + `constant` may lie, less than 2^32
  mlir::Value uniform, lane; // i32, null: 0
  int64_t constant = 0;
};

/// What records of a chip say.
class LaneInstructions {
public:
  LaneInstructions() = default;
  explicit LaneInstructions(const TargetDescription &chip) : records(chip.laneInstructions()) {}
  virtual ~LaneInstructions();

protected:
  /// Whether a record of the chip does this.
  bool has(llvm::StringRef does) const;
  /// What it says, its result if it has one; nothing and null where the chip has none. `number`: the last operand, an
  /// i32.
  mlir::Value make(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef does, mlir::ValueRange operands = {},
                   std::optional<int64_t> number = {}) const;

private:
  std::vector<LaneInstruction> records;
};

/// Asynchronous copies of a lane, awaited by groups.
class GroupCopies : public LaneInstructions {
public:
  using LaneInstructions::LaneInstructions;

  /// Copies `bytes` (4, 8 or 16; both sides aligned to them) to the scratchpad while the lane goes on; of them the
  /// first `valid` (i32, null: all) are read, the rest becomes zero. False: the chip has no such engine.
  virtual bool asyncCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value destination, mlir::Value source,
                         int64_t bytes, mlir::Value valid) const {
    return false;
  }
  /// True if the chip has such an engine, whose copies are awaited by groups.
  virtual bool countsGroups() const { return false; }
  /// Closes a group of asynchronous copies of this lane.
  virtual void commitCopies(mlir::OpBuilder &builder, mlir::Location loc) const { make(builder, loc, "commit_copy"); }
  /// Waits until at most the `pending` youngest groups of this lane are under way; a copy by `copyPlace` is a group of
  /// its own.
  virtual void waitCopies(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending) const {
    make(builder, loc, "wait_copy", {}, pending);
  }
};

/// Accesses by ArrayPlace.
class PlacedAccesses : public GroupCopies {
public:
  using GroupCopies::GroupCopies;

  /// Loads `bytes` (1 to 16, a power of two) as a value of so many bits: an integer of up to 32, or a vector of those.
  /// For chips whose loads take an address in the parts of ArrayPlace, so that a loop has no sums of 64 bits for it.
  /// Null: a load of a pointer is as good.
  virtual mlir::Value loadPlace(mlir::OpBuilder &builder, mlir::Location loc, const ArrayPlace &place,
                                int64_t bytes) const {
    return {};
  }
  /// Whether loadPlace compares `lane` + `constant` with `range` and gives zeros from there on: then a lane that is
  /// outside of an array loads from `range`, and no branch has to be around the load.
  virtual bool zerosBeyond() const { return false; }
  /// Bytes that divide the addresses of loadPlace, where that is less than what it loads: a power of two. The chip's
  /// field `load_alignment` tells the cost model the same.
  virtual int64_t placeAlignment() const { return 16; }
  /// Copies `bytes` (16) of an array without registers: those of lane i go to `destination` + `behind` + 16 i, a place
  /// that is the same for all lanes of the subgroup; zeros for lanes where `inside` (i1, null: true) is false. All
  /// lanes of the subgroup call it. It lands before the end of the next `awaitPlaces`, or of a `waitCopies` that counts
  /// it. False: the chip has no such engine.
  virtual bool copyPlace(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value destination, int64_t behind,
                         const ArrayPlace &place, int64_t bytes, mlir::Value inside) const {
    return false;
  }
  /// What this lane has started by loadPlace and copyPlace is done. Nothing where uses of a load wait for it, and there
  /// is no copyPlace.
  virtual void awaitPlaces(mlir::OpBuilder &builder, mlir::Location loc) const {}
};

/// When what was loaded is there, and what is issued before what.
class OrderHints : public PlacedAccesses {
public:
  using PlacedAccesses::PlacedAccesses;

  /// What this lane has loaded from the scratchpad is in its registers; units that follow are issued after this. A
  /// hint, for chips whose code else waits before each use.
  virtual void awaitFragments(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// What comes before this is issued before what comes after it. A hint.
  virtual void keepOrder(mlir::OpBuilder &builder, mlir::Location loc) const { make(builder, loc, "keep_order"); }
  /// `value` (i32) of the first lane of the subgroup, which all have: so that code for all lanes together can be made.
  virtual mlir::Value uniform(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) const {
    return has("first") ? make(builder, loc, "first", value) : value;
  }
};

/// Loads from the scratchpad in the order in which units take elements.
class MatrixLoads : public OrderHints {
public:
  using OrderHints::OrderHints;

  /// Loads 8 bytes a lane and transposes them in each group of 16 lanes: with N elements of `elementBytes` in 8 bytes,
  /// lane i gives the address of those in row i / (16 / N) from column N (i mod (16 / N)) on, and gets the N elements
  /// of column i. A vector of two i32; null: the chip cannot.
  virtual mlir::Value loadColumns(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                                  int64_t elementBytes) const {
    return {};
  }
  /// Loads `count` (1, 2 or 4) matrices of 8 x 8 16-bit elements by the whole subgroup: lane 8 i + r gives the address
  /// of row r of matrix i, lane 4 r + t gets elements 2t, 2t + 1 of row r (of column r if `transposed`) of each.
  /// `count` values i32; empty: the chip cannot.
  virtual llvm::SmallVector<mlir::Value> loadMatrices(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                                                      unsigned count, bool transposed) const {
    return {};
  }
};

/// Multi-stage buffers that some lanes fill for the others.
/// A barrier object lies in 8 aligned bytes of the scratchpad. A phase of it ends when all arrivals and all expected
/// bytes have come; a new object counts as one whose phase of parity 1 has ended.
class ProducerWarps : public MatrixLoads {
public:
  using MatrixLoads::MatrixLoads;

  /// Makes the object at `address` for `arrivals`; one lane calls it for all objects, then `fenceEngines`, and a
  /// barrier follows.
  virtual void makePhase(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address, int64_t arrivals) const {
    make(builder, loc, "phase_init", address, arrivals);
  }
  /// Arrives, and if `bytes` is not 0 the phase also waits for so many bytes of tile copies. `rank` (i32, null: the own
  /// block): the block of the cluster whose object at the same place is meant.
  virtual void arrivePhase(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address, int64_t bytes,
                           mlir::Value rank = {}) const {}
  /// Waits until the phase of `parity` (i32) has ended.
  virtual void awaitPhase(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address, mlir::Value parity) const {
  }
  /// One lane starts the copy of a tile as `map` (a pointer to 128 bytes that the launch gives) describes it, from
  /// `coordinates` (i32, innermost first) to `destination`; its bytes count for `phase`. `blocks` (bits, 0: the own
  /// one): all of these blocks of the cluster receive it, at the same places. False: no such engine.
  virtual bool copyTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value destination, mlir::Value map,
                        mlir::ValueRange coordinates, mlir::Value phase, int64_t blocks = 0) const {
    return false;
  }
  /// One lane starts the copy of a tile out of the scratchpad; tiles beyond the described array are clipped. Lanes that
  /// wrote the tile call `fenceEngines` and pass a barrier before it. Awaited by groups: until at most `pending` of
  /// this lane's still read. False: no such engine.
  virtual bool storeTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value source, mlir::Value map,
                         mlir::ValueRange coordinates) const {
    return false;
  }
  virtual void commitStores(mlir::OpBuilder &builder, mlir::Location loc) const { make(builder, loc, "commit_store"); }
  virtual void waitStores(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending) const {
    make(builder, loc, "wait_store", {}, pending);
  }
  virtual void fenceEngines(mlir::OpBuilder &builder, mlir::Location loc) const { make(builder, loc, "fence_engines"); }
  /// A barrier of `lanes` lanes of the block, with the number `number` (i32, from 1 on).
  virtual void groupBarrier(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number, int64_t lanes) const {}
  /// Number of the block in its cluster, i32; and a barrier of all lanes of the cluster.
  virtual mlir::Value clusterRank(mlir::OpBuilder &builder, mlir::Location loc) const {
    return make(builder, loc, "block_in_cluster");
  }
  virtual void clusterBarrier(mlir::OpBuilder &builder, mlir::Location loc) const {
    make(builder, loc, "cluster_arrive");
    make(builder, loc, "cluster_wait");
  }
  /// The lanes of this group need `registers` from here on; all of the group call it. Nothing where registers are
  /// fixed.
  virtual void resizeRegisters(mlir::OpBuilder &builder, mlir::Location loc, int64_t registers, bool grows) const {
    make(builder, loc, grows ? "grow_registers" : "shrink_registers", {}, registers);
  }
};

/// Units that a group of subgroups issues on matrices in the scratchpad.
class GroupUnits : public ProducerWarps {
public:
  using ProducerWarps::ProducerWarps;

  /// The operand (i64) that says where the unit finds the matrix `offset` (i32, null: 0) + `constant` bytes after
  /// `base`, both multiples of 16; null: the chip has no such units.
  virtual mlir::Value describeTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, mlir::Value offset,
                                   int64_t constant, const ScratchpadTile &tile) const {
    return {};
  }
  /// What lanes wrote into registers is there for units that follow.
  virtual void beginUnits(mlir::OpBuilder &builder, mlir::Location loc) const { make(builder, loc, "fence_units"); }
  /// Closes a group of units.
  virtual void commitUnits(mlir::OpBuilder &builder, mlir::Location loc) const { make(builder, loc, "commit_unit"); }
  /// Waits until at most the `pending` youngest groups are under way, and gives `accumulators` (vectors) as they are
  /// then: only those whose units all lie in groups that are done have defined elements.
  virtual llvm::SmallVector<mlir::Value> waitUnits(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending,
                                                   mlir::ValueRange accumulators) const {
    return accumulators;
  }
  /// Stage 6: `unit` on described matrices, or on `a` in registers; `c` is a vector of registers. Null: no such unit.
  virtual mlir::Value emitUnit(mlir::OpBuilder &builder, mlir::Location loc, const MatrixUnit &unit, mlir::Value a,
                               bool aKInner, mlir::Value b, bool bKInner, mlir::Value c) const {
    return {};
  }
};

} // namespace tilewright

#endif // TILEWRIGHT_LANEPARTS_H
