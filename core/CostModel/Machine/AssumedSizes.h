//===- AssumedSizes.h - Dynamic sizes ---------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Models compare plans before the sizes of a program are known. What they then
/// count a dynamic extent as is a guess at what such programs are run with, so
/// it differs with what the plan is for; code is right for every size.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_ASSUMEDSIZES_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_ASSUMEDSIZES_H

#include <cstdint>

namespace tilewright {

/// Of a contraction's dimension on chips with scratchpads, and of the number of rows of a fused row-wise reduction:
/// large enough that neither a tile's edge nor a launch decides. A plan for small sizes would be slow where time is
/// spent, one for large sizes is slow where there is little of it.
inline constexpr int64_t assumedExtent = 4096;

/// Of a loop around or in a reduction along rows: rows as long as a layer of a model is wide, and as many. Lanes of one
/// subgroup then have some vectors each; at the extent above several subgroups would share each row, which those of
/// usual length pay for with barriers.
inline constexpr int64_t assumedRowExtent = 1024;

/// Iterations in all of a nest of parallel loops of which some are unknown: a chip is full. Few iterations take the
/// time of a launch, whatever their plan.
inline constexpr int64_t assumedIterations = assumedRowExtent * assumedRowExtent;

/// Of the rows, and of a batch, of a contraction on cores with vector registers: enough that packing the other operand
/// pays, few enough that it is not free. Programs with dynamic rows are run with the tokens of some sentences.
inline constexpr int64_t assumedTrips = 256;

/// Of the columns of such a contraction and of what it sums over: beyond the registers and the nearest cache, as layers
/// of a model are, so that packing and blocks of k are weighed. A block serves a shorter sum, too; without blocks a
/// longer one would leave the caches.
inline constexpr int64_t assumedColumns = assumedRowExtent;

/// Of a loop over taps: what reduces over it pays for its beginning and end once.
inline constexpr int64_t assumedTaps = 1000;

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_ASSUMEDSIZES_H
