//===- TileResults.h - Results that a tile computes in several nests -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A result that a tile sums up, or reads again, is kept in an array of the tile's own
/// until it is whole:
///
///   o[..] = 0                                t[..] = 0
///   for each step { o[..] += p v }     ->    for each step { t[..] += p v }
///   o[..] = o[..] / l[..]                    t[..] = t[..] / l[..]
///                                            o[..] = t[..]
///
/// Then it may lie in registers, and tiles that compute the same element do not see what others have of it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TILE_TILERESULTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_TILE_TILERESULTS_H

#include "dialects/Tile/TileDialect.h"

namespace tilewright {

/// Gives each result of `tiles`, whose members have one tile each, an array of the tile where nests load it beside
/// storing it, or several nests store it. It is filled first where the first nest that touches it adds to what the
/// array held. A result whose first nest stands in a loop over steps, or accesses it differently from iteration to
/// iteration, stays as it is.
void keepResults(tile::ParallelOp tiles);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_TILERESULTS_H
