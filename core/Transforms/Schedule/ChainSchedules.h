//===- ChainSchedules.h - Nests that run in the tiles of another one -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which neighbouring nests are computed tile by tile, so that what they hand to
/// each other stays in a cache:
///
///   s = 0;  s += q k;  p = soft-max of s;  o = 0;  o += p v
///   ->
///   for each tile of rows of o:  the same for the rows of s and p that the tile reads
///
/// Nothing is known of attention here: any range of nests is a candidate if its arrays between the nests are of no
/// other use. A candidate is built, by the code that will build it, and its tile is priced by the models of
/// contractions and of nests that move data; so are the nests apart:
///
///   fused = tiles * (contractions of a tile + other nests of a tile) / threads     taken if < 0.92 * apart
///   apart = contractions + other nests
///
/// What lies between the nests counts at the rate of the memory that holds it: all of it apart, that of a tile fused.
/// Packing is paid for in each tile, and a contraction gains nothing else by being cut.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CHAINSCHEDULES_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CHAINSCHEDULES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Attaches a schedule to the first nest of each range of `kernel` that is faster in tiles, and makes its nests
/// neighbours. For chips with caches; sizes that are dynamic stay apart.
void scheduleChains(mlir::func::FuncOp kernel, const TargetDescription &chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_CHAINSCHEDULES_H
