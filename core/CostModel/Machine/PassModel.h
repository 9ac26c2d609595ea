//===- PassModel.h - Seconds of a pass over arrays --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a nest takes that reads arrays once, computes, and writes arrays, on any
/// chip:
///
///   caches        max(bytes at the rate of the second cache, bytes that come from beyond it at the rate of
///   where
///                            they lie, instructions)
///     instructions = sum over loops of overlapped(loads and stores, arithmetic, shuffles, divisions)
///   lanes         launch + max(bytes / bandwidth, instructions / those that multiprocessors issue,
///                              bytes of requests / bandwidth of the first cache's ports)
///   scratchpads   max(arithmetic + loads, bytes in / engine, bytes out / engine) / cores
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_PASSMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_PASSMODEL_H

#include "core/CostModel/Machine/MemoryModel.h"
#include "tilewright/Cores.h"
#include "tilewright/LaneOps.h"

namespace tilewright {

/// Instructions of a lane that make the address of an access.
inline constexpr double addressInstructions = 3;

/// The work of a pass, in instructions of `lanes()` elements.
struct PassWork {
  double read = 0, written = 0;        // different bytes
  double arithmetic = 0, accesses = 0; // loads, and stores where they are counted
  double again = 0;                    // of those written, bytes that are read, too: they lie in a cache once
  // On caches, also:
  double crossing = 0;  // of `accesses`, those that touch two lines
  double shuffles = 0;  // of elements among vectors
  double divisions = 0; // divisions and roots, not in `arithmetic`
  double core = 0;      // seconds of other loops' instructions (coreSeconds), which run before or after
};

class PassModel {
public:
  explicit PassModel(const TargetDescription &chip);

  /// Elements of `bits` that one instruction takes.
  int64_t lanes(unsigned bits) const { return blocks ? blocks->lanes : memory.lanes(bits); }
  /// On all of the chip, but on one thread where caches keep what threads use.
  double seconds(const PassWork &work) const;
  /// On one member of the parallel level; not for lanes, whose launches are the chip's.
  double secondsOfMember(const PassWork &work) const;
  /// Of the instructions of one loop alone, where caches keep what threads use.
  double coreSeconds(const PassWork &work) const;
  /// Whether nests run as launches of lanes, each iteration in one.
  bool onLanes() const { return blocks.has_value(); }
  /// Whether caches keep what threads use.
  bool onCaches() const { return !blocks && !cores; }
  const MemoryModel &caches() const { return memory; }

private:
  double secondsOnCaches(const PassWork &work) const;

  MemoryModel memory;
  std::optional<LaneHierarchy> blocks;
  std::optional<CoreHierarchy> cores;
  double clock = 1, bandwidth = 1, issue = 1, port = 1, launch = 0; // per second, per clock, clocks
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_PASSMODEL_H
