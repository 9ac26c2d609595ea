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

namespace tilewright {

class TargetDescription;

/// LLVM's numbers of the address spaces, the same in the GPU back ends that LLVM has.
inline constexpr unsigned globalSpace = 1, scratchpadSpace = 3;

/// Shape of one launch, for the back end.
struct LaunchShape {
  int64_t threads = 1;     // lanes of a block
  int64_t sharedBytes = 0; // scratchpad of a block
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
  /// Waits until at most the `pending` youngest groups of this lane are under way.
  virtual void waitCopies(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending) const {}

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

  /// The scratchpad of the block: `bytes` of it, aligned to 1024.
  virtual mlir::Value scratchpad(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                                 int64_t bytes) const = 0;
  /// The launch gives the scratchpad's size (else the code itself holds it).
  virtual bool dynamicScratchpad() const { return false; }
  /// Marks a function as an entry of the chip with this shape.
  virtual void finishLaunch(mlir::LLVM::LLVMFuncOp function, const LaunchShape &shape) const = 0;
};

/// Lanes and subgroups of a chip that runs lanes: levels grid (parallel), block (concurrent), subgroup (lockstep).
struct LaneHierarchy {
  std::string grid, block, subgroup; // names of the levels
  int64_t blocks = 1;                // that run at a time, one on each
  int64_t subgroups = 1;             // of a block, at most
  int64_t lanes = 1;                 // of a subgroup
  std::string scratchpad;            // name of the block's memory, empty: none
  int64_t scratchpadBytes = 0;
};

/// The hierarchy of `chip`; nullopt for a chip whose innermost level is one thread.
std::optional<LaneHierarchy> laneHierarchy(const TargetDescription &chip);

/// The same for any chip whose programs are launches: on one whose cores program engines (Cores.h) a block is one core with
/// one lane, and `block` and `subgroup` are empty.
std::optional<LaneHierarchy> launchHierarchy(const TargetDescription &chip);

/// The lane operations of the chip named by the module attribute `tilewright.target`; an error if it has none.
llvm::Expected<std::unique_ptr<LaneOps>> laneOpsOf(mlir::Operation *op);

/// What the host does for the launches of a public function, as JSON text: an attribute of the function after stage 4,
/// and one of the module, a list, after stage 5 (see core/Transforms/LaunchManifest.h for its form).
inline constexpr llvm::StringLiteral manifestAttr = "tilewright.manifest", manifestsAttr = "tilewright.manifests";

/// The attribute of a launch function and its entries.
inline constexpr llvm::StringLiteral launchAttr = "tilewright.launch";
/// Reads it; nullopt if `function` is no launch.
std::optional<LaunchShape> launchShapeOf(mlir::Operation *function);

} // namespace tilewright

#endif // TILEWRIGHT_LANEOPS_H
