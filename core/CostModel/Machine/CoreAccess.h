//===- CoreAccess.h - What a core's own accesses cost -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Clocks of the loads and stores of a core that runs one thread, by its records:
///
///   CopyEngine<"global", "vector">   loads of global memory: bandwidth, latency, and in `queueDepth` how many are
///   under
///                                    way at a time; 1: each waits for its data, 0: the latency is hidden
///   CopyEngine<"vector", "global">   the same of stores; where no record says it, they take the bandwidth of loads and
///                                    nobody waits for them
///   VectorOp<"gather", ...>          accesses of a scratchpad whose elements a mask or a vector of addresses chooses:
///                                    `issue` clocks for `lanes` elements of this size; no record: one clock
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREACCESS_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREACCESS_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Numbers of the records above.
class CoreAccess {
public:
  CoreAccess() = default;
  explicit CoreAccess(const TargetDescription &chip);

  /// Clocks of a load or store of global memory by vectors, at least one for each register.
  double globalClocks(int64_t bytes, bool isLoad) const;
  /// Clocks of one element of a gather, scatter or masked access; nullopt: no record of this size, it is as one access.
  std::optional<double> elementClocks(int64_t elementBytes) const;

private:
  struct Way {
    double bytesPerClock = 0, latency = 0; // no bandwidth: a clock for each register
    int64_t underWay = 0;
  };
  Way load, store;
  int64_t vectorBytes = 4;
  double gather[4] = {}; // of an element of 1, 2, 4 and 8 bytes; 0: no record
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREACCESS_H
