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

#include "tilewright/LaneParts.h"
#include "llvm/Support/Error.h"
#include <array>

namespace tilewright {

class MachineGraph;

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

/// What a lane of the chip does: all that a new vendor has to say. Where that is one instruction, a `LaneInstruction`
/// record of the chip says it in place of the function.
class LaneOps : public GroupUnits {
public:
  /// Without records: each function is the target's.
  LaneOps() = default;
  explicit LaneOps(const TargetDescription &chip) : GroupUnits(chip) {}
  ~LaneOps() override;

  /// Number of the lane in its block, i32. Record: `lane_x`.
  virtual mlir::Value threadId(mlir::OpBuilder &builder, mlir::Location loc) const;
  /// Number of the block along `dim` (0: fastest), i32. Records: `block_x`, `block_y`, `block_z`.
  virtual mlir::Value blockId(mlir::OpBuilder &builder, mlir::Location loc, unsigned dim) const;
  /// All lanes of the block have come here, and their accesses to the scratchpad are done. Record: `barrier`.
  virtual void barrier(mlir::OpBuilder &builder, mlir::Location loc) const;
  /// The value (i32) of lane `lane` (i32) of the subgroup.
  virtual mlir::Value shuffle(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                              mlir::Value lane) const = 0;

  /// The scratchpad of the block: `bytes` of it, aligned to 1024. By default a global array of the code itself.
  virtual mlir::Value scratchpad(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                                 int64_t bytes) const;
  /// The launch gives the scratchpad's size (else the code itself holds it).
  virtual bool dynamicScratchpad() const { return false; }
  /// Marks a function as an entry of the chip with this shape.
  virtual void finishLaunch(mlir::LLVM::LLVMFuncOp function, const LaunchShape &shape) const = 0;
  /// The word (i32) whose byte i is byte `bytes[i]` of `low` (0 to 3) and `high` (4 to 7), both i32.
  virtual mlir::Value permuteBytes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value low, mlir::Value high,
                                   std::array<unsigned, 4> bytes) const;

private:
  mlir::Value required(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef does) const;
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
/// Of the tile.wait of a step in a multi-stage buffer: members of the block take turns at their units (LaneRings.h).
inline constexpr llvm::StringLiteral inTurnsAttr = "in_turns";
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
