//===- LaneOps.h - What lanes of a SIMT chip can do -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ops that stage 5 needs when it writes the code of one lane, and that each
/// vendor spells in its own dialect. A target whose chips run lanes returns an
/// object of this class for a chip from `Target::laneOps`:
///
///   core                              one vendor
///   threadId()                        %t = acme.thread.id : i32
///   barrier()                         acme.barrier
///   asyncCopy(dst, src, 16, bytes)    acme.copy.async %dst, %src, 16, %bytes
///
/// Pointers are LLVM's: address space `globalSpace` for arrays, `scratchpadSpace`
/// for the scratchpad of a block.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LANEOPS_H
#define TILEWRIGHT_LANEOPS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Error.h"
#include <array>

namespace tilewright {

class MachineGraph;
class TargetDescription;
struct MatrixUnit;

/// LLVM's numbers of the address spaces, the same in the GPU back ends that LLVM has.
inline constexpr unsigned globalSpace = 1, scratchpadSpace = 3;

/// Shape of one launch, for the back end.
struct LaunchShape {
  int64_t threads = 1;     // lanes of a block, those of the copying role included
  int64_t sharedBytes = 0; // scratchpad of a block
  int64_t copiers = 0;     // lanes of the copying role, the first ones of the block; 0: there is none
  int64_t groupLanes = 0;  // lanes that hold a fragment together, if that is more than a subgroup
  int64_t cluster = 1;     // blocks that run together and see each other's scratchpads
};

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

class LaneOps {
public:
  virtual ~LaneOps();

  /// Number of the lane in its block, i32.
  virtual mlir::Value threadId(mlir::OpBuilder &builder, mlir::Location loc) const = 0;
  /// Number of the block along `dim` (0: fastest), i32.
  virtual mlir::Value blockId(mlir::OpBuilder &builder, mlir::Location loc, unsigned dim) const = 0;
  /// All lanes of the block have come here, and their accesses to the scratchpad are done.
  virtual void barrier(mlir::OpBuilder &builder, mlir::Location loc) const = 0;

  /// Copies `bytes` (4, 8 or 16; both sides aligned to them) to the scratchpad while the lane goes on; of them the
  /// first `valid` (i32, null: all) are read, the rest becomes zero. False: the chip has no such engine.
  virtual bool asyncCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value destination, mlir::Value source,
                         int64_t bytes, mlir::Value valid) const {
    return false;
  }
  /// True if the chip has such an engine, whose copies are awaited by groups.
  virtual bool countsGroups() const { return false; }
  /// Closes a group of asynchronous copies of this lane.
  virtual void commitCopies(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// Waits until at most the `pending` youngest groups of this lane are under way; a copy by `copyPlace` is a group of
  /// its own.
  virtual void waitCopies(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending) const {}

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
  /// Copies `bytes` (16) of an array past the registers: those of lane i go to `destination` + `behind` + 16 i, a place
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
  /// What this lane has loaded from the scratchpad is in its registers; units that follow are issued behind this. A
  /// hint, for chips whose code else waits before each use.
  virtual void awaitFragments(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// What stands before this is issued before what stands behind it. A hint.
  virtual void keepOrder(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// `value` (i32) of the first lane of the subgroup, which all have: so that code for all lanes together can be made.
  virtual mlir::Value uniform(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) const { return value; }

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
  /// The value (i32) of lane `lane` (i32) of the subgroup.
  virtual mlir::Value shuffle(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                              mlir::Value lane) const = 0;

  /// The word (i32) whose byte i is byte `bytes[i]` of `low` (0 to 3) and `high` (4 to 7), both i32.
  virtual mlir::Value permuteBytes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value low, mlir::Value high,
                                   std::array<unsigned, 4> bytes) const;

  //===-- Rings between a copying role and the others -----------------------===//
  // A phase object lies in 8 aligned bytes of the scratchpad. A phase ends when all arrivals and all expected bytes
  // have come; a fresh object counts as one whose phase of parity 1 has ended.

  /// Makes the object at `address` for `arrivals`; one lane calls it for all objects, then `fenceEngines`, and a
  /// barrier follows.
  virtual void makePhase(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address, int64_t arrivals) const {}
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
  /// wrote the tile call `fenceEngines` and meet before it. Awaited by groups: until at most `pending` of this lane's
  /// still read. False: no such engine.
  virtual bool storeTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value source, mlir::Value map,
                         mlir::ValueRange coordinates) const {
    return false;
  }
  virtual void commitStores(mlir::OpBuilder &builder, mlir::Location loc) const {}
  virtual void waitStores(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending) const {}
  virtual void fenceEngines(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// `lanes` lanes of the block meet at barrier `number` (i32, from 1 on).
  virtual void groupBarrier(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number, int64_t lanes) const {}
  /// Number of the block in its cluster, i32; and a barrier of all lanes of the cluster.
  virtual mlir::Value clusterRank(mlir::OpBuilder &builder, mlir::Location loc) const { return {}; }
  virtual void clusterBarrier(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// The lanes of this group need `registers` from here on; all of the group call it. Nothing where registers are
  /// fixed.
  virtual void resizeRegisters(mlir::OpBuilder &builder, mlir::Location loc, int64_t registers, bool grows) const {}

  //===-- Units that a group of subgroups issues on matrices in the scratchpad --===//

  /// The operand (i64) that says where the unit finds the matrix `offset` (i32, null: 0) + `constant` bytes after
  /// `base`, both multiples of 16; null: the chip has no such units.
  virtual mlir::Value describeTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, mlir::Value offset,
                                   int64_t constant, const ScratchpadTile &tile) const {
    return {};
  }
  /// What lanes wrote into registers is there for units that follow.
  virtual void beginUnits(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// Closes a group of units.
  virtual void commitUnits(mlir::OpBuilder &builder, mlir::Location loc) const {}
  /// Waits until at most the `pending` youngest groups are under way, and gives `accumulators` (vectors) as they are
  /// then: only those whose units all lie in groups that are done have defined elements.
  virtual llvm::SmallVector<mlir::Value> waitUnits(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending,
                                                   mlir::ValueRange accumulators) const {
    return accumulators;
  }
  /// Stage 6: the instruction of `unit` on described matrices; `c` is a vector of registers. Null: not such a unit.
  virtual mlir::Value emitUnit(mlir::OpBuilder &builder, mlir::Location loc, const MatrixUnit &unit, mlir::Value a,
                               bool aKInner, mlir::Value b, bool bKInner, mlir::Value c) const {
    return {};
  }

  /// The scratchpad of the block: `bytes` of it, aligned to 1024.
  virtual mlir::Value scratchpad(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                                 int64_t bytes) const = 0;
  /// The launch gives the scratchpad's size (else the code itself holds it).
  virtual bool dynamicScratchpad() const { return false; }
  /// Marks a function as an entry of the chip with this shape.
  virtual void finishLaunch(mlir::LLVM::LLVMFuncOp function, const LaunchShape &shape) const = 0;
};

/// The levels of a launch: grid (parallel), block (concurrent), subgroup (lockstep).
struct LaneHierarchy {
  std::string grid, block, subgroup; // names of the levels
  int64_t blocks = 1;                // that run at a time, one on each
  int64_t subgroups = 1;             // of a block, at most
  int64_t lanes = 1;                 // of a subgroup
  std::string cluster;               // name of the level of blocks that see each other's scratchpads, empty: none
  int64_t clusterBlocks = 1;         // of one cluster, at most
  std::string scratchpad;            // name of the block's memory, empty: none
  int64_t scratchpadBytes = 0;
  int64_t sectorBytes = 1; // of global memory, that accesses of a subgroup are gathered into

  /// Those of a chip whose programs are launches (`MachineGraph::startsLaunches`). Where a core is one thread, a block
  /// is one core with one lane, and `block` and `subgroup` are empty.
  static LaneHierarchy of(const MachineGraph &graph);
};

/// The lane operations of the chip named by the module attribute `tilewright.target`; an error if it has none.
llvm::Expected<std::unique_ptr<LaneOps>> laneOpsOf(mlir::Operation *op);

/// What the host does for the launches of a public function, as JSON text: an attribute of the function after stage 4,
/// and one of the module, a list, after stage 5 (see core/Transforms/Host/LaunchManifest.h for its form).
inline constexpr llvm::StringLiteral manifestAttr = "tilewright.manifest", manifestsAttr = "tilewright.manifests";

/// The attribute of a tile.copy that names the copy engine of the chip that shall do it, where lanes would be another
/// way.
inline constexpr llvm::StringLiteral engineAttr = "engine";
/// Of one that lanes transpose, four numbers: elements along the array and across it that a lane turns in its
/// registers, how many neighbouring lanes lie along the array before the next ones lie along the rows of the
/// scratchpad, and how many of those before the next ones lie along the array again. Without it stage 5 takes the block
/// with the fewest instructions and all lanes along the array.
inline constexpr llvm::StringLiteral turnAttr = "turn";

/// Of one that the chip's engine of subgroups does past the registers of the lanes (`LaneOps::copyPlace`).
inline constexpr llvm::StringLiteral directAttr = "direct";
/// Of one whose vectors begin at any multiple of so many bytes, an integer: no fewer than loads by place ask for
/// (`LaneOps::placeAlignment`). The array's rows are no shorter than a vector, and what is valid ends with a row or
/// with a vector.
inline constexpr llvm::StringLiteral looseAttr = "loose";
/// Of one whose elements wait in registers until its wait, in the same block, where an engine that counts groups does
/// the others.
inline constexpr llvm::StringLiteral heldAttr = "held";
/// Of an op: what loads before it brought is in registers (`LaneOps::awaitFragments`); those loads are issued before
/// it.
inline constexpr llvm::StringLiteral arrivedAttr = "arrived", behindLoadsAttr = "behind_loads";
/// Of an scf.if that all lanes of a subgroup take, or none: its condition is made of numbers of subgroups. Set by who
/// writes it; nothing checks it.
inline constexpr llvm::StringLiteral oneWayAttr = "one_way";

/// The attribute of a launch function and its entries.
inline constexpr llvm::StringLiteral launchAttr = "tilewright.launch";
/// Reads it; nullopt if `function` is no launch.
std::optional<LaunchShape> launchShapeOf(mlir::Operation *function);

} // namespace tilewright

#endif // TILEWRIGHT_LANEOPS_H
