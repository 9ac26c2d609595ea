//===- Tilings.h - Tiles of a range that are considered ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tiles of a range that schedule-chains prices.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_TILINGS_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_TILINGS_H

#include "core/Transforms/Schedule/NestRange.h"
#include "core/Transforms/Schedule/NestTimes.h"

namespace tilewright {

/// How many tiles each loop has that `tiling` cuts.
llvm::SmallVector<int64_t> tilesOf(const NestRange &range, const Tiling &tiling);

/// The tiles to price, those that seem best first. `near`: what is to hold a tile's part of the arrays between the
/// nests; not used for blocks of lanes. `isAssumed`: sizes of the range stand for others that are not known.
std::vector<Tiling> tilingsOf(const NestRange &range, const NestTimes &times, const Memory *near, bool isAssumed);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_TILINGS_H
