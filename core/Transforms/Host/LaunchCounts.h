//===- LaunchCounts.h - What the tile program of a launch does ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The counts of a launch, read from its final tile program, the one that stage 4 leaves: one analysis for
/// contractions, fused row-wise reductions, nests and chains, on lanes and on cores. It walks the control flow, whose
/// bounds and conditions follow from sizes and from the indices of levels and loops, and sums what each op
/// moves and issues. An index that decides nothing, no bound, no condition and no extent, is not walked but
/// multiplied:
///
///   tile.parallel (%b) to (64) level "grid"        x 64: nothing below asks for %b
///     affine.for %k = 0 to 8                        x 8
///       tile.copy .. shape [128, 32]                reads 128 x 32 elements
///     affine.for %k = 0 to 2                        walked: the extent of the copy asks for %k
///       tile.copy .. shape [128, 32] valid(128, 40 - %k * 32)
///
/// What the lowering makes of an op (which lanes write, which elements one access serves, what an engine
/// moves) is asked of the functions that the lowering uses. `docs/emulator.md` compares with the emulator.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHCOUNTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHCOUNTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <map>

namespace tilewright {

/// Counts of one launch, of all blocks together; bytes as the lanes, cores and engines ask for them.
struct LaunchCounts {
  int64_t blocks = 0;
  std::map<std::string, int64_t> unitIssues; // by record
  struct Bytes {
    int64_t read = 0, written = 0;
  };
  Bytes global, scratchpad;
  int64_t barriers = 0;                    // of a block's lanes, times blocks
  std::map<std::string, int64_t> commands; // of engines of cores, by the emulator's name of the engine
  std::optional<double> seconds;           // modelled, where a plan has them for every launch; also of those unknown
  std::string unknown;                     // why nothing of this holds; empty: all does

  /// Adds those of another launch of the kernel.
  void add(const LaunchCounts &other);
};

/// The counts as JSON, with the names of the emulator's counters; `unknown` alone where nothing holds.
llvm::json::Object toJson(const LaunchCounts &counts, const TargetDescription &chip);

/// For each argument of `launch` the number if it is one, and for each array its dynamic sizes, in order. `valueOf`
/// gives the number that the kernel gets at a place: a pointer comes before the sizes of its array.
llvm::SmallVector<llvm::SmallVector<int64_t>> launchNumbers(mlir::func::FuncOp launch,
                                                            llvm::function_ref<int64_t(size_t)> valueOf);

/// Counts of `launch`, a function with the attribute tilewright.launch as stage 4 leaves it, with affine ops already
/// lowered. `grid`: blocks along x, y, z; `numbers`: those of `launchNumbers`. `unknown` says where control follows
/// from data, or the walk is longer than `budget` ops.
LaunchCounts countLaunch(mlir::func::FuncOp launch, const TargetDescription &chip, std::array<uint32_t, 3> grid,
                         llvm::ArrayRef<llvm::SmallVector<int64_t>> numbers, int64_t budget);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHCOUNTS_H
