//===- LaneRings.h - Multi-stage buffers between roles of a block -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A loop whose iterations copy tiles into stage `%k mod S` of buffers, wait and
/// read them is a multi-stage buffer; several such loops may follow each other. Its sequential meaning has one order;
/// the engine that the copies name lets them run ahead as far as stages are free:
///
///   affine.for %k {                     the first lanes: copies          the others, in groups: everything else
///     %t = tile.copy -> %k mod S        for { await empty[s]             for { await full[s]
///     tile.wait %t                            full[s] expects bytes            units on stage s; commit
///     tile.load <- %k mod S; tile.mma         copies -> stage s                wait for all units but these
///   }                                         s = s + 1 mod S }                arrive at empty[s - 1]; s = s + 1 mod S
///   }
///                                                                        wait for all units; arrive at empty[s - 1]
///
///   stage      0    1    2    3      A barrier object a stage and direction: `full` ends when its bytes have come,
///   `empty` copies   [k+3][k+4][k+1][k+2]    when every group has released it, at the last wait that covers its reads.
///   Stage and units                ^ k         parity run on through the loops around.
///
/// Where a step goes on with what its units have added up, they are awaited in it, and its stage is free at its end.
/// Its groups then may take turns (`in_turns`): the units of one work while the lanes of the others do. What ends a
/// step and what begins the next one is one turn, so that the units that end a step are awaited with those that begin
/// the next one, and the stage of the former is free then:
///
///   group 0   units | lanes  . . . . | units, units | lanes ..
///   group 1   . . .   units  | lanes  . . . . . . .   units, units | lanes ..
///
/// Units that add up in a memory of the block complete at barrier objects by themselves: a group's first lane issues
/// them, commits each step to `empty` and the last one to `finished`, a third kind, of which each group has one.
/// `finished` is what the group waits for before it reads the accumulators.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANERINGS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANERINGS_H

#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Lower/Lanes/LaneAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {

/// The multi-stage buffer of a launch.
struct LaneRing {
  /// A loop, one step an iteration, and where a step waits. Several loops take turns.
  struct Steps {
    mlir::scf::ForOp loop;
    tile::WaitOp wait;
    int64_t bytes = 0; // that the copies of a step bring
  };
  llvm::SmallVector<Steps, 1> steps;
  int64_t stages = 0;
  bool inTurns = false;
  bool defers = true; // nothing in a step but units reads what they add up: they are awaited one step later
  int64_t stageBytes() const { return steps.front().bytes; }
  bool isAround(mlir::Operation *op) const {
    return llvm::any_of(steps, [&](const Steps &each) { return op->isAncestor(mlir::scf::ForOp(each.loop)); });
  }
  bool isStep(mlir::Operation *op) const {
    return llvm::any_of(steps, [&](const Steps &each) { return op == mlir::scf::ForOp(each.loop); });
  }
  bool isWait(mlir::Operation *op) const {
    return llvm::any_of(steps, [&](const Steps &each) { return op == tile::WaitOp(each.wait); });
  }
};

/// Finds it; nullopt where no copy names an engine. Failure with a diagnostic where such a copy is not part of a
/// multi-stage buffer.
mlir::FailureOr<std::optional<LaneRing>> findRing(mlir::func::FuncOp launch);

/// Adds to the shape of a grid what its units and its multi-stage buffer need: lanes of a group, those that copy,
/// barrier objects.
void addRoles(tile::ParallelOp grid, const TargetDescription &chip, const LaneHierarchy &hierarchy, LaunchShape &shape);

/// Accumulators of a launch that are in a memory of the block, by the zeros that they begin as. Each has entries of its
/// own in those of a group; a fragment of a chain of units and loops has those of its begin.
class AccumulatorPlaces {
public:
  /// Failure with a diagnostic where units add to something else than zeros, or two add to the same.
  mlir::LogicalResult find(mlir::Operation *launch, const TargetDescription &chip);
  /// The first entry of a fragment among those of its group; nullopt: it is in registers.
  std::optional<int64_t> entryOf(mlir::Value fragment) const;
  bool any() const { return entriesOfGroup != 0; }
  /// Those that a block of `groups` takes, with those for scales of `stages`; nullopt: the memory has not so many.
  std::optional<int64_t> entries(int64_t groups, int64_t stages) const {
    return accumulatorEntries(*memory, groups * (entriesOfGroup + stages * scaleEntries));
  }
  /// The first entry of the scales that `load` gives to a unit, among those of a group's stage.
  int64_t scalesOf(tile::LoadOp load) const;

  int64_t entriesOfGroup = 0;
  int64_t scaleEntries = 0; // of a group and stage

private:
  mlir::LogicalResult findScales(tile::MmaOp mma, const MatrixUnit &unit, const TargetDescription &chip);

  const Memory *memory = nullptr;
  llvm::DenseMap<mlir::Value, int64_t> first; // by begin
  /// Scales in a buffer of the scratchpad, from one of its lines on.
  struct Scales {
    mlir::Value buffer;
    int64_t line = 0, entry = 0;
  };
  llvm::SmallVector<Scales, 4> scales;
};

/// Where a fragment of scales begins in a stage of a buffer, whose last two dimensions are lines and their elements:
/// `dynamic` lines, and `line`; then `element` of it.
struct StagedScales {
  mlir::AffineExpr dynamic; // null: none
  int64_t line = 0, element = 0;
};
/// Nullopt: `load` reads no such buffer.
std::optional<StagedScales> stagedScales(tile::LoadOp load);

/// Lines of `lineBytes` that follow each other from `constant` + `offset` (i32, null: none) bytes on, as a matrix that
/// an engine copies; null: the chip's operations describe none.
mlir::Value describeLines(LaneContext &context, const LaneArray &array, mlir::Value offset, int64_t constant,
                          int64_t lineBytes);

/// Bytes of the barrier objects of a multi-stage buffer; and for accumulators in a memory of the block, those of the
/// groups and of the address that the block has taken.
inline int64_t phaseBytes(int64_t stages) { return 16 * stages; }
inline int64_t accumulatorBytes(int64_t groups) { return 8 * groups + 8; }

/// The position in a multi-stage buffer while one role is written.
class RingPosition {
public:
  RingPosition(LaneContext &context, const LaneRing &ring, mlir::Value phases)
      : context(context), ring(ring), phases(phases) {}

  /// One lane makes the objects for `groups` of each block, and those of the groups where `finishes`; all lanes of the
  /// `cluster` blocks see them afterwards.
  void makePhases(mlir::Value thread, int64_t groups, int64_t cluster, bool finishes);
  /// The position at which a role starts.
  void start(bool copies);

  /// Producer role: waits for the stage to be free and says what will come.
  void fill();
  /// Other roles: waits for what has been copied.
  void awaitFull();
  /// The group's first lane releases this stage, or the one before it, in all blocks of its cluster; the latter where
  /// `condition` (i1, null: always) holds.
  void release(mlir::Value lane);
  void releasePrevious(mlir::Value lane, mlir::Value condition);
  void advance();

  /// The barrier object that copies into this stage complete at.
  mlir::Value full() const { return object(slot, 0); }
  /// The one that tells the copies that this stage is free, and the one of a group's units.
  mlir::Value empty() const { return object(slot, ring.stages); }
  mlir::Value finished(mlir::Value group) const { return object(group, 2 * ring.stages); }
  mlir::Value slot, parity; // i32
  mlir::Value round;        // i32, parity of `finished`; null: there is none

  /// What loops carry.
  llvm::SmallVector<mlir::Value, 3> state() const {
    return round ? llvm::SmallVector<mlir::Value, 3>{slot, parity, round}
                 : llvm::SmallVector<mlir::Value, 3>{slot, parity};
  }
  /// Takes it from the end of `values`.
  void take(mlir::ValueRange values) {
    values = values.take_back(state().size());
    slot = values[0];
    parity = values[1];
    round = round ? values[2] : mlir::Value();
  }

private:
  mlir::Value object(mlir::Value stage, int64_t first) const;
  void releaseStage(mlir::Value lane, mlir::Value condition, llvm::function_ref<mlir::Value()> stage);

  LaneContext &context;
  const LaneRing &ring;
  mlir::Value phases;
  int64_t cluster = 1;
};

/// A tile of an array as a launch argument describes it. Sizes are constants or block arguments of the lane code.
struct TileMap {
  unsigned array = 0; // argument of the lane code
  mlir::Type element;
  llvm::SmallVector<mlir::OpFoldResult> sizes; // innermost first
  llvm::SmallVector<int64_t> pitches, box;     // bytes; elements
  int64_t swizzleBytes = 0;
  bool operator==(const TileMap &other) const {
    return array == other.array && sizes == other.sizes && box == other.box && swizzleBytes == other.swizzleBytes;
  }
};

/// What a tile.copy by an engine needs.
struct TileCopy {
  TileMap map;
  llvm::SmallVector<mlir::Value> coordinates; // i32, innermost first
  int64_t offset = 0;                         // of the destination in its stage, bytes
  unsigned outer = 0;                         // outermost dimension in which the box extends, and its step there, bytes
  int64_t outerStep = 0;
};
/// The copy `op` as one tile; `value` gives the lane code's value of one of its operands. Failure with a diagnostic
/// where the engine could not do it.
mlir::FailureOr<TileCopy> asTile(LaneContext &context, tile::CopyOp op, const LaneArray &source,
                                 const LaneArray &destination, llvm::function_ref<mlir::Value(mlir::Value)> value);

/// Bytes of a line in which the rows of a group's fragment leave the scratchpad by an engine; 0: lanes store it. The
/// launch of a multi-stage buffer has two buffers of `storeBytes` for each group then.
int64_t storeLine(tile::StoreOp op, int64_t subgroupLanes);
inline constexpr int64_t storeBytes = 8192; // 64 rows of 128 bytes
/// A part of a store, one line wide; failure, without a diagnostic, where the engine could not do it.
mlir::FailureOr<TileCopy> asTile(LaneContext &context, tile::StoreOp op, const LaneArray &array, int64_t line,
                                 llvm::function_ref<mlir::Value(mlir::Value)> value);

/// Where a unit finds the matrix that `load` reads: the descriptor (i64), and whether its lines run along k. `slot`:
/// the stage (i32) in place of the one that the load names; null: that one.
mlir::FailureOr<std::pair<mlir::Value, bool>> describeOperand(LaneContext &context, tile::LoadOp load,
                                                              const LaneArray &array, bool isA, mlir::Value slot,
                                                              llvm::function_ref<mlir::Value(mlir::Value)> value);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANERINGS_H
