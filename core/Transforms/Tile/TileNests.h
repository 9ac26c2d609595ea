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

/// Does what the `tile.schedule` of `first` says of it and of the operations after it, which disappear. Failure with a
/// reason where they cannot be tiled so; the operations stay then, but for the attribute and the last of them.
mlir::FailureOr<tile::ParallelOp> tileNests(mlir::Operation *first, std::string &reason);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_TILENESTS_H
