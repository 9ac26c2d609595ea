//===- NestRange.h - Nests that may share tiles -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Neighbouring nests whose arrays in between are of no other use, so that tiles of
/// the last one can compute the others on the way, and the tiles that are
/// considered for them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTRANGE_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTRANGE_H

#include "core/Analysis/Nest.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/SetVector.h"
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright {

/// Tiles of the last nest of a range: single iterations of the loops before `NestRange::cuts[loop]`, `tile` of that
/// loop.
struct Tiling {
  unsigned loop = 0;
  int64_t tile = 1;
  int64_t columns = 0; // of `NestRange::columns`; 0: all of them
  int64_t step = 0;    // iterations of the reductions that are one step; 0: all of them
  int64_t parts = 1;   // of the reductions, that tiles of their own compute
  int64_t passes = 1;  // loops over steps, one after the other
  int64_t bytes = 0;   // of a tile's part of the arrays between the nests
  double seconds = 0;
  llvm::SmallVector<mlir::Value> placed; // other arrays that tiles have a part of in the scratchpad

  /// Whether `other` differs in its steps alone.
  bool hasTilesOf(const Tiling &other) const {
    return loop == other.loop && tile == other.tile && columns == other.columns && parts == other.parts &&
           passes == other.passes;
  }
};

/// A range of nests of one block.
struct NestRange {
  llvm::SmallVector<mlir::affine::AffineForOp> nests;
  llvm::ArrayRef<Nest> analysed;          // the nests
  llvm::SmallVector<mlir::Value> between; // arrays that nobody else touches, in the order of their first access
  int64_t bytes = 0;                      // of them
  int64_t bytesBetweenGroups = 0;         // of those that do not stay in the registers of a group of nests
  double apart = 0, contractions = 0;     // seconds; of them, of contractions
  llvm::SmallVector<unsigned, 4> cuts;    // loops of the last nest that tiles may cut, from the outside
  bool hasRows = true;                    // the last of them are rows; else each tile has one
  std::optional<unsigned> columns;        // its loop over the columns of the last sum, where tiles may cut that, too
  bool sharesRows = false; // what the last sum reads lies before the range: tiles of columns compute little twice
  bool lacksUnit = false;  // to compute its contractions, whatever its tiles are
  bool mayFit = false;     // some tiles have a form
  bool hasMasks = false;   // of numbers of iterations
  llvm::SmallVector<double, 4>
      handedOn; // bytes of the arrays between that contractions read or write, for each of them
  std::optional<Tiling> best;
  std::vector<Tiling> considered;
  std::vector<std::string> refusals; // why other tiles have no form, or do not fit
  static constexpr size_t allNests = std::numeric_limits<size_t>::max();
  std::optional<double>
      products;            // multiplications of its contractions that no tiling leaves out, once they are counted
  size_t refusedNests = 0; // so many of the last nests have none of the tiles tried, whatever is before them

  double gain() const { return best ? apart - best->seconds : 0; }
  /// Seconds that contractions save on what lies between the nests, in so many tiles.
  double saved(const MemoryModel &model, double tiles) const;
};

/// Whether tiles of a nest, the last of a range, touch all that another one writes of an array: known for ranges that
/// end with the same nest.
using CoveredArrays = std::map<std::tuple<mlir::Operation *, mlir::Operation *, void *>, bool>;

/// Calls `visit` for each affine.load and affine.store below `root`, with the array.
void accessesOf(mlir::Operation *root,
                llvm::function_ref<void(mlir::Operation *op, mlir::Value memref, bool isStore)> visit);

/// The range with what lies between its nests, which take `apart` seconds one by one; nullopt where tiles of the last
/// one cannot take the others along. `keepsResults`: each tile keeps its part of what others see until it is whole
/// (TileResults.h), so that nests before the last may have results of their own.
std::optional<NestRange> findRange(llvm::ArrayRef<mlir::affine::AffineForOp> nests, llvm::ArrayRef<Nest> analysed,
                                   double apart, bool keepsResults, CoveredArrays &covered);

/// `nests` in an order in which those that lead to no sum, such as the logarithm of a sum beside an attention, come as
/// early as what they read allows: then the last of a range is the one that all others lead to.
llvm::SmallVector<mlir::affine::AffineForOp> withEarlyResults(llvm::ArrayRef<mlir::affine::AffineForOp> nests);

/// Loops of the last nest whose tiles compute nothing twice, as they are cut from the outside: those that index all
/// that the last sum of the range reads (heads) come before those that index only what lies between (rows). That sum is
/// in the last nest, or in one whose result that reads element by element. Rows that share what they read with their
/// neighbours (windows) come last.
/// `withWindows`: neighbouring rows may read the same elements. Without, where there are no rows, the loops that cut
/// the last nest down to one loop of columns: tiles of one row (`NestRange::hasRows`). Of a last sum that reads nothing
/// of the range, as of two products of one operand, the rows are what the outermost loop of the last nest indexes.
void findCuts(NestRange &range, bool withWindows);

/// Nests, by their number, all of whose elements somebody needs: what others than the range see, or what such a nest of
/// the range reads completely. Tiles together compute at least these.
llvm::SmallVector<size_t> neededNests(const NestRange &range);

/// Iterations of the longest loop that a nest of the range sums over.
int64_t longestSum(llvm::ArrayRef<Nest> nests);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_NESTRANGE_H
