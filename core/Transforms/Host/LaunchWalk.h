//===- LaunchWalk.h - Control flow of a launch, counted -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How often each op of a launch is executed, and by whom (LaunchCounts.h). What the op
/// then does is said by one of two readers: `LaneReader` where blocks have lanes,
/// `CoreReader` where they are cores with engines.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHWALK_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHWALK_H

#include "core/Transforms/Host/IndexValues.h"
#include "core/Transforms/Host/LaunchCounts.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/LaneOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright {

/// Who executes an op, and how often.
struct Executions {
  /// A block's lanes together, those of one subgroup (or group of them), or one lane.
  enum class By { Block, Member, Lane } by = By::Block;
  int64_t times = 1;   // that its executors come to the op
  int64_t ofBlock = 1; // that the block does, all members together: what copies into its scratchpad count
  int64_t lane = 0;    // By::Lane: its number, where that decides something
};

/// What an op does, told to `counts`.
class OpReader {
public:
  virtual ~OpReader() = default;
  /// Operands that decide what `op` counts, beside bounds and conditions.
  virtual void decisive(mlir::Operation &op, llvm::SmallVectorImpl<mlir::Value> &operands) const = 0;
  /// Whether the number of the lane that executes `op` decides.
  virtual bool asksForLane(mlir::Operation &op) const { return false; }
  /// Barriers of a block around `op`, each time that the block comes to it.
  virtual int64_t barriersAt(mlir::Operation &op) const { return 0; }
  /// The dynamic sizes of an array, in order.
  void setSizes(mlir::Value array, llvm::ArrayRef<int64_t> sizes) { dynamicSizes[array] = llvm::to_vector(sizes); }
  /// The size of dimension `d` of an array that is one there; nullopt where it was not set.
  Known sizeOf(mlir::Value array, unsigned d) const;
  /// Adds one op that has no control flow. False, with `counts.unknown`, where nothing is known of it.
  virtual bool count(mlir::Operation &op, const Executions &how, const IndexValues &values, LaunchCounts &counts) = 0;

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> dynamicSizes;
};

/// The indices of a level: how many there are, and who executes inside.
struct LevelShape {
  llvm::SmallVector<int64_t> extents;
  Executions::By by = Executions::By::Block;
};

class LaunchWalk {
public:
  /// `levelOf` says what a tile.parallel is; failure: nothing that this chip has.
  LaunchWalk(OpReader &reader, LaunchCounts &counts, int64_t budget,
             llvm::function_ref<std::optional<LevelShape>(tile::ParallelOp)> levelOf)
      : reader(reader), counts(counts), budget(budget), levelOf(levelOf) {}

  /// The number that an argument is, before `run`.
  void setNumber(mlir::Value argument, int64_t number) { values.set(argument, number); }
  bool run(mlir::func::FuncOp launch);

private:
  bool fail(mlir::Operation &op, llvm::StringRef why);
  void findDecisive(mlir::func::FuncOp launch);
  bool walk(mlir::Block &block, Executions how);
  bool walk(mlir::Operation &op, Executions how);
  bool loop(mlir::scf::ForOp op, Executions how);
  bool loop(mlir::scf::WhileOp op, Executions how);
  bool branch(mlir::scf::IfOp op, Executions how);
  bool level(tile::ParallelOp op, Executions how);
  bool levelFrom(tile::ParallelOp op, const LevelShape &shape, unsigned index, bool isFirst, int64_t number,
                 Executions how);
  void assign(mlir::ValueRange to, llvm::ArrayRef<Known> numbers);
  llvm::SmallVector<Known> numbersOf(mlir::ValueRange of) const;
  void size(mlir::Operation &op);
  bool isSteady(mlir::Operation &op) const;

  OpReader &reader;
  LaunchCounts &counts;
  int64_t budget;
  llvm::function_ref<std::optional<LevelShape>(tile::ParallelOp)> levelOf;
  IndexValues values;
  llvm::DenseSet<mlir::Value> decides;
  llvm::DenseSet<mlir::Operation *> ofLanes; // levels whose lanes decide by their number
};

/// The readers of one launch.
std::unique_ptr<OpReader> createLaneReader(mlir::func::FuncOp launch, const TargetDescription &chip);
std::unique_ptr<OpReader> createCoreReader(const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHWALK_H
