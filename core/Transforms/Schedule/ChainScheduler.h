//===- ChainScheduler.h - Schedules of neighbouring nests -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Looks at all ranges of neighbouring nests of a kernel, and gives those that are
/// faster in tiles a schedule. How they are priced: ScheduleChains.cpp.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CHAINSCHEDULER_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CHAINSCHEDULER_H

#include "core/Analysis/Settings.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/TileProgramModel.h"
#include "core/Transforms/Schedule/NestRange.h"
#include "core/Transforms/Schedule/NestTimes.h"
#include "core/Transforms/Tile/TileNests.h"
#include "core/Transforms/Utils/EqualFunctions.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// A range must be faster in tiles by more than the models err: times of contractions, of small ones above all, are
/// right to about a tenth.
inline constexpr double leastGain = 0.08;
/// Whether tiles of a range can be written, are a program of rows, and have a unit that computes their contractions.
enum class TileForm { None, NoProgram, NoUnit, Some };

/// The schedules of one kernel, which may stand outside of a module.
class ChainScheduler {
public:
  ChainScheduler(mlir::func::FuncOp kernel, const TargetDescription &chip, const Settings &settings)
      : kernel(kernel), times(chip), level(*chip.graph().parallelLevel()), freedom(NumericFreedom::of(settings)),
        forced(ForcedFields::of(kernel).chains), near(chip.graph().threadMemory()) {
    times.options.threads = times.cores ? times.cores->cores : settings.threads;
    times.options.mayReassociate = settings.mayReassociate();
  }
  /// Gives nests their schedules; the seconds that these save.
  double run();
  /// The time of the kernel, whose sizes are constant, without schedules.
  double secondsApart() const;
  /// More seconds than schedules can save: the ways out and in again of the kernel's own arrays; infinite where they
  /// save other things, too.
  double mostGain() const;
  /// Bytes of the kernel's own arrays that no tile keeps.
  int64_t bytesInMemory() const;
  /// Tells the log what was decided.
  void writeRecords();

private:
  mlir::MLIRContext *context() const { return mlir::func::FuncOp(kernel).getContext(); }
  bool isAssumed() const { return !originals.empty(); }
  bool runSegment(llvm::ArrayRef<mlir::affine::AffineForOp> nests, bool isLast);
  void price(NestRange &range);
  double price(NestRange &range, std::vector<Tiling> tilings);
  bool priceBlocks(NestRange &range, llvm::ArrayRef<Tiling> tilings);
  bool losesAsShorter(const NestRange &range, const Tiling &tiling) const;
  void addLoss(const NestRange &range, const Tiling &tiling);
  TileForm secondsOf(const NestRange &range, Tiling &tiling, TileRefusal &refusal);
  TileForm secondsOfTrial(const NestRange &range, Tiling &tiling, mlir::Operation *first, tile::ScheduleAttr schedule,
                          TileRefusal &refusal) const;
  double secondsOnCaches(const NestRange &range, const Tiling &tiling, tile::ScheduleAttr schedule,
                         mlir::affine::AffineForOp innermost) const;
  std::optional<double> secondsInScratchpad(Tiling &tiling, mlir::affine::AffineForOp innermost) const;
  bool mayGain(const NestRange &range, double apart, int64_t contractions);
  const std::optional<llvm::SmallBitVector> &unitsOf(mlir::affine::AffineForOp root, const Nest &nest);
  bool isForUnits(const NestRange &range);
  double leastSeconds(NestRange &range, const Tiling &tiling);
  TileForm secondsOnFragments(tile::ParallelOp tiles, double &seconds, std::string &reason) const;
  double secondsBehind(tile::ParallelOp tiles) const;
  tile::ScheduleAttr scheduleOfParts(mlir::Operation *first, size_t count, const Tiling &tiling,
                                     std::string &reason) const;
  llvm::SmallVector<mlir::affine::AffineForOp> originalsOf(llvm::ArrayRef<mlir::affine::AffineForOp> nests) const;
  tile::ScheduleAttr scheduleOf(const NestRange &range, const Tiling &tiling) const;
  void attach(const NestRange &range);
  void record(const NestRange &range);

  mlir::func::FuncOp kernel;
  NestTimes times;
  const Level &level;
  NumericFreedom freedom;
  std::vector<std::pair<std::string, int64_t>> forced;                    // of chains
  llvm::DenseMap<mlir::Operation *, mlir::affine::AffineForOp> originals; // of nests with assumed sizes
  /// Of the chip, those that compute a nest; nullopt where it is no contraction.
  llvm::DenseMap<mlir::Operation *, std::optional<llvm::SmallBitVector>> units;
  const Memory *near; // that of one core: what it fills itself, or the last cache that it has alone
  /// Of tiles by their last nest, its loops that are cut and iterations: seconds more than apart, and bytes between.
  std::map<std::tuple<mlir::Operation *, std::vector<unsigned>, int64_t>, std::pair<double, int64_t>> losses;
  /// What became of tiles, with the nests and their schedule as they were.
  struct Trial {
    mlir::OwningOpRef<mlir::func::FuncOp> nests;
    double contractions; // of the range
    llvm::SmallVector<double, 4> handedOn;
    TileForm form;
    double seconds;
    TileRefusal refusal;
  };
  EqualFunctions tried;
  llvm::DenseMap<mlir::Operation *, Trial> trials; // equal layers are tried once
  double gained = 0;                               // seconds, by schedules
  int64_t kept = 0;                                // bytes, in tiles
  std::vector<std::pair<mlir::Operation *, llvm::json::Object>> records;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CHAINSCHEDULER_H
