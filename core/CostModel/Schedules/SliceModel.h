//===- SliceModel.h - Subgroups that share out k ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Slices of a block: `subgroups_k` subgroups hold accumulators of one tile of C, and each multiplies its part of a
/// stage's k.
///
///                  k of a stage                              C of the block, after the loop
///        +-----------+-----------+
///    A   | slice 0   | slice 1   |              slice 1 -- sums --> scratchpad --> slice 0 adds, finishes, stores
///        +-----------+-----------+
///
/// So subgroups may have larger tiles than the block shared out among all of them, which load fewer fragments for a
/// product, and small results have work for more subgroups. It costs a reduction after the loop:
///
///   bytes    = (slices - 1) x accumulators of the block, written and read once
///   clocks   = 2 bytes / rate of the scratchpad + instructions of a slice + rounds x 2 latencies
///   rounds   = units of a subgroup / units that the scratchpad holds at a time; it needs none of the multi-stage
///   buffer any more
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SLICEMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SLICEMODEL_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

/// Where a lane's elements of a fragment lie in an exchange, one number of (row, column): 16 bytes of a lane together,
/// then lanes, then the rest, so that each access is as wide as can be and has no bank conflict. nullopt: a bit of a
/// lane or of an element is no bit of one index.
std::optional<mlir::AffineExpr> exchangeOrder(const Layout &layout, int64_t elementBytes, mlir::MLIRContext *context);

/// Whether slices may share out the k of `unit`: it has several steps of k in a product, sums that may be added in
/// another order, and fragments that can be exchanged.
bool maySlice(const MatrixUnit &unit, const Contraction &contraction, const NumericFreedom &freedom);

/// What slices exchange of their sums.
struct SliceExchange {
  int64_t units = 0;       // of a subgroup at a time; 0: there is one slice
  int64_t bytes = 0;       // of the scratchpad at a time
  int64_t rounds = 0;      // until all units are done
  double moved = 0;        // bytes of a block, each way
  int64_t subgroups = 0;   // of a slice
  double instructions = 0; // of each of them, for writes, reads and sums
  /// Clocks of so many blocks of a multiprocessor together.
  double clocks(const Memory &scratchpad, double issueSlots, double blocks) const;
};
/// `plan.sharedBytes` are those of its multi-stage buffer, units, tiles and slices are known.
SliceExchange planSliceExchange(const LaneContractionPlan &plan);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SLICEMODEL_H
