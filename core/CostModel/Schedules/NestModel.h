//===- NestModel.h - Iterations that a lane takes ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many neighbouring iterations of a parallel nest each lane takes:
///
///   clocks = overlapped(bytes / bandwidth of global memory,
///                       bytes of the busiest multiprocessor / its share of the second cache's bandwidth,
///                       instructions of all subgroups / those issued in a clock,
///                       requests of all subgroups x clocks of one,
///                       waves x chain) + chain
///   chain  = latency + instructions of a subgroup
///
/// With more iterations a lane asks for more bytes at a time, so that fewer lanes keep memory busy, and addresses and
/// requests are fewer; but the lanes are fewer, too, and each takes more registers and a longer chain.
///
/// Where a read is narrower than what a lane takes, each of its requests touches more sectors than it has bytes of; the
/// next one finds them in the first cache. Writes pass that cache, and would leave sectors in parts: a lane takes no
/// more iterations than one access writes of each result.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTMODEL_H

#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace tilewright {

/// Iterations of one lane at most: as many as one access moves bytes.
inline constexpr int64_t mostIterations = 16;

/// What one iteration of a nest does: `rows` runs of `length` iterations, of which lanes take neighbours.
struct NestTask {
  /// An array that is read or written, once in each iteration.
  struct Access {
    int64_t bytes = 4; // of its element
    int64_t run = 1;   // neighbouring elements, a power of two, that one access may move: their address is aligned
    int64_t step = 4;  // bytes from an iteration's element to the next one's; 0: one element for all of a row
    bool writes = false;
    bool again = false; // another access of the iteration moves over the same elements: a cache has them
  };
  int64_t rows = 1, length = 1;
  std::vector<Access> accesses;
  int64_t operations = 0;    // beside accesses
  int64_t registerBytes = 0; // that are live in registers for an iteration
  int64_t most = mostIterations;
  bool partial = false; // whether the last lane of a row may take fewer iterations than the others
};

struct NestPlan {
  int64_t iterations = 1; // of a lane, a power of two
  int64_t requests = 0;   // accesses of a lane
  int64_t registers = 0;  // of a lane
  double busyClocks = 0;  // of a multiprocessor that issues instructions and answers requests
  bool fills = false;     // whether each multiprocessor has a block
  double clocks = 0, seconds = 0;

  llvm::json::Object toJSON() const;
  int64_t key() const { return iterations; }
};

/// The plan with the fewest clocks. Memory binds most nests whatever their lanes take, so that several plans are as
/// fast; of those that give each multiprocessor a block the one is taken that keeps the multiprocessors busy for the
/// least clocks: they wait the least for each other, and take the least power. `considered` receives all.
NestPlan planNest(const NestTask &task, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                  std::vector<NestPlan> *considered = nullptr);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTMODEL_H
