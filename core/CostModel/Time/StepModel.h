//===- StepModel.h - Clocks of one step of a contraction on lanes -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How long the blocks of a multiprocessor take for one step of k each. No resource
/// gives more than its rate, and no subgroup is faster than the chain of its own
/// step, whose services wait in queues:
///
///   chain      = read of fragments, then products; beside them the copy of the next step, which has `ahead` steps'
///                time; then writes, and the barrier. `across`: all of these beside each other, but what the barrier
///                takes longer than the product that the unit still has
///   a service  = its clocks x (1 + rho / (2 (1 - rho))),  rho = clocks that all ask of the resource / clocks of
///   the step
///                (the mean wait of a queue with constant service times)
///   clocks     = the smallest t >= every resource's load with chain(t) <= t
///
/// So a resource that is asked for all of its rate costs more than one that is asked for half of it, as on a chip:
/// larger tiles, which ask the scratchpad and L2 for less, are faster where products alone would be equal.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_STEPMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_STEPMODEL_H

#include <algorithm>

namespace tilewright {

/// What all blocks of a multiprocessor ask for one step of each, clocks of the resource. L2 and global memory: of the
/// whole chip, for all blocks that run.
struct StepLoad {
  double units = 0, issue = 0, powers = 0, scratchpad = 0, l2 = 0, global = 0; // powers: instructions for 2^x
  /// Of the busiest resource: no step is shorter.
  double most() const { return std::max({units, issue, powers, scratchpad, l2, global, 1.0}); }
};

/// One step of one subgroup, alone.
struct StepChain {
  double products = 0;                             // clocks of its unit
  double scratchpadRead = 0, scratchpadWrite = 0;  // services; write: by lanes, behind the products, 0 with an engine
  double l2 = 0, global = 0;                       // services of its part of the copies
  double scratchpadLatency = 0, memoryLatency = 0; // clocks
  double ahead = 1;                                // steps between the start of a copy and its use
  bool meets = false;                              // subgroups wait for each other's writes
  bool across = false; // fragments of the next step are read beside the last products of this one, and writes too
  double product = 0;  // clocks of one, under way at the barrier; `across`
};

/// Clocks of one step of all blocks of a multiprocessor.
double stepClocks(const StepLoad &load, const StepChain &chain);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_STEPMODEL_H
