//===- PipelineTime.h - The time of loops with pipeline stages --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The clocks of a core whose engines work beside it, in the loops that pipeline-tiles writes. Everything that runs in
/// an iteration runs at a time, so an iteration takes as long as its busiest resource; the first copies and the last
/// results have nothing beside them:
///
///   one loop      iteration  0    1    2             two in one     step  0    1    2  |  0    1    2 |
///   copies in     c0     c1   c2                     copies in   c0   c1   c2   c0'| c1'  c2'
///   core or unit         w0   w1   w2                unit             u0   u1   u2 | u0'  u1'  u2'
///   copies out                o0   o1   o2           core                          | f0   f1       | f0'  f1'
///                                                    copies out                    |      o0   o1  |      o0'  o1'
///
///   clocks = first copies + (iterations - 1) x the busiest of what runs at a time + the last iteration's work, results
///
/// A unit works on while the core does something else for as long as its queue has commands. Where a step has more of
/// these than the queue holds, they fall into groups, with a group of the core's work for the tile before after each:
///
///   core   u u u u  f0  u u u u  f1  u u u u  f2  ..     an iteration = max(unit + longest f - queue, core, ..)
///   unit   u---u---u---u---u---u---u---u---u---u---
///
/// One rule for nests (NestSchedule.h) and contractions (ScratchpadContractionModel.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_PIPELINETIME_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_PIPELINETIME_H

#include <cstdint>

namespace tilewright {

/// What an iteration of a loop asks of each resource, in clocks.
struct IterationLoad {
  double in = 0;       // of the engine that copies in
  double commands = 0; // of the core for these copies, with those that it makes itself
  double byCore = 0;   // of these, for copies that it makes itself
  double core = 0;     // of the core for everything else
  double unit = 0;     // of a unit that works beside the core; 0: the core does the work
  double issue = 0;    // of `core`, for the commands of the unit
  double early = 0;    // until the copies of a later iteration are commanded, once it has begun
  double queue = 0;    // of the unit for as many commands as its queue holds; 0: any
  double out = 0;      // of the engine that copies out
  double groups = 1;   // that the unit's commands, or the core's work of the second of two loops, fall into

  /// The mean over so many iterations, where this is the sum.
  IterationLoad over(double iterations) const {
    IterationLoad mean = *this;
    for (double *clocks :
         {&mean.in, &mean.commands, &mean.byCore, &mean.core, &mean.unit, &mean.issue, &mean.early, &mean.out})
      *clocks /= iterations;
    return mean;
  }
};

/// A loop whose buffers have `stages` pipeline stages; 1: its parts run one after the other.
struct StagedTime {
  IterationLoad load;
  int64_t iterations = 1, stages = 2;

  /// Clocks of the loop alone.
  double clocks() const;
  /// Clocks of `tiles` iterations of a loop around this one and `second`, which finishes what this one computes: it
  /// runs beside this one of the next tile; iterations of which that one has too few follow it.
  double clocksWith(const StagedTime &second, int64_t tiles) const;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_PIPELINETIME_H
