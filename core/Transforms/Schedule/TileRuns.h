//===- TileRuns.h - How often the parts of tiles run ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a schedule's tiles take is what one takes, times how many there are, all
/// together and for the member that has most to do. Steps in tiles may be fewer in
/// some: a causal mask leaves out half of them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_TILERUNS_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_TILERUNS_H

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {

/// How often something runs.
struct TileRuns {
  double all = 0;       ///< In all tiles.
  double ofBusiest = 0; ///< In those of the member with the most.
};

/// How many tiles there are, if each loop that `schedule` cuts has so many, or, with `steps`, a loop in each tile: how
/// many iterations of it. Members have equal runs of neighbouring tiles.
TileRuns runsOf(tile::ScheduleAttr schedule, llvm::ArrayRef<int64_t> tiles, mlir::affine::AffineForOp steps = nullptr);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_TILERUNS_H
