//===- TileNests.h - Loops over tiles, as a schedule says -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rewrite of tile-and-fuse, which schedule-kernels also asks what a schedule
/// would become.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TILE_TILENESTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_TILE_TILENESTS_H

#include "dialects/Tile/TileDialect.h"
#include <string>

namespace tilewright {

/// Why operations cannot be tiled.
struct TileRefusal {
  std::string reason;
  size_t ofLast = 0; // so many of the last operations are refused for it whatever is before them; 0: not known
};

/// Does what the `tile.schedule` of `first` says of it and of the operations after it, which disappear. Failure where
/// they cannot be tiled so; the operations stay then, but for the attribute and the last of them.
mlir::FailureOr<tile::ParallelOp> tileNests(mlir::Operation *first, TileRefusal &refusal);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_TILENESTS_H
