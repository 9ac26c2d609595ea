//===- Transposition.h - Nests whose arrays lie in two orders ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An element-wise nest whose arrays do not all lie in the order of what it
/// writes, and the tile of iterations of which each array holds whole rows.
///
/// Loops that lie behind each other in all arrays count as one. Of an array,
/// the dimensions that lie inside and are short are taken whole, and the first
/// long one outside of them in parts: so the tile is contiguous there.
///
///   a: h x w x 3                b: 3 x h x w             tile: 256 of hw, all of c
///   loops hw, c  (h and w are   long hw, short none      a: 1 run of 768 elements
///   behind each other in both)                           b: 3 runs of 256
///   long hw, short c
///
///   a: x x y x 3 -> b: y x x x 3   tile: 32 of x, 32 of y, all of c; a: 32 runs of 96 elements, b as well
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_TRANSPOSITION_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_TRANSPOSITION_H

#include "core/Analysis/Nest.h"
#include <memory>

namespace tilewright {

/// How an array lies inside of a tile: `shorts` one after the other, the innermost first, then `wide`.
struct TileRun {
  llvm::SmallVector<unsigned> shorts;
  unsigned wide = 0;
  int64_t factor = 1; // iterations of all of `shorts`
  unsigned inner = 0; // the index of the array along which the run goes
};

/// A load that goes through the scratchpad.
struct StagedLoad {
  const Access *load;
  TileRun run;
};

struct Transposition {
  Nest nest;
  llvm::SmallVector<llvm::SmallVector<unsigned>> merged; // per loop: those outside of it that it stands for, too
  std::optional<unsigned> rows;                          // the long dimension of a load that is not the store's
  unsigned columns = 0;                                  // the long dimension of the store
  llvm::SmallVector<unsigned> shorts;                    // taken whole
  llvm::SmallVector<unsigned> outer;                     // one iteration in a tile
  llvm::SmallVector<StagedLoad, 2> staged;
  TileRun stored;

  /// Iterations of the loop with those that it stands for; nullopt: dynamic.
  std::optional<int64_t> trips(unsigned dim) const;
  /// Iterations of all short dimensions but those of `run`.
  llvm::SmallVector<unsigned> othersThan(const TileRun &run) const;
};

/// The nest at `root` if going through tiles saves sectors, else null. Loops of fewer than `least` iterations are
/// short.
std::unique_ptr<Transposition> recognizeTransposition(mlir::affine::AffineForOp root, int64_t lanes, int64_t least,
                                                      int64_t sectorBytes);

/// How many iterations make a loop of the nest at `root` a long one, to be tried one after the other: half of `lanes`,
/// then those that loops have.
llvm::SmallVector<int64_t> longTrips(mlir::affine::AffineForOp root, int64_t lanes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_TRANSPOSITION_H
