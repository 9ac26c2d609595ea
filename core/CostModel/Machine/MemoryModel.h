//===- MemoryModel.h - Decisions for memory-bound nests ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The closed rules for nests that move more than they compute, over the
/// numbers of a chip's description: width of a vector, accumulators of a
/// reduction, kind of store, use of more than one core. docs/fusion.md derives
/// them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_MEMORYMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_MEMORYMODEL_H

#include "tilewright/TargetDescription.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tilewright {

/// The part of `bytes`, read from end to end again and again, that `cache` has lost when it is read again. Pages lie
/// anywhere in memory, so the pages that share a group of sets are Poisson-distributed around their mean: one is lost
/// where as many others as there are ways fell into its group.
double lostPart(const Memory &cache, double bytes, double pageBytes);

class MemoryModel {
public:
  explicit MemoryModel(const TargetDescription &chip);

  /// Bytes of a vector register; 0 if the chip has none.
  int64_t vectorBytes() const { return registerBytes; }
  /// Vector registers; 0 if the chip has none.
  int64_t registers() const { return registerCount; }
  /// Lanes for elements of `bits`; 1 if the chip has no vectors.
  int64_t lanes(unsigned bits) const;
  /// Bytes of a cache line, and the alignment of a store that goes past the caches.
  int64_t lineBytes() const { return line; }
  /// Accumulators that keep a dependent operation from waiting: latency / issue, at least 2, a power of two.
  int64_t accumulators() const { return accumulatorCount; }
  /// Vectors that stand between two tests of a loop of `trips` iterations, `lanes` of them a vector, whose body has so
  /// many operations and loads. A core that reorders instructions hides the test behind two vectors, or a long body;
  /// where nothing does, as many as registers hold share it, if the length of the row is known.
  int64_t vectorsAtOnce(int64_t operations, int64_t loads, std::optional<int64_t> trips, int64_t lanes) const;
  /// Whether the core does nothing beside the test of a loop: several registers are one wide vector there, without
  /// addresses of their own.
  bool takesWideVectors() const { return testsLoops; }
  /// Steps of an outer reduction taken at once over vectors of partial sums, so that each partial sum is loaded and
  /// stored once for that many loads of the input.
  int64_t outerReductionSteps() const { return 4; }
  /// Rows that a nest reads and writes at once where they come from memory. Hardware prefetchers follow a
  /// row to the end of its page, so several rows keep memory busy where one waits at every page. Measured on a server
  /// core, chain with a bias over 4096 x 4096 elements: 25, 13, 11 and 17 ms with 1, 2, 4 and 8 rows; |x|: 12.6 and 9.7
  /// ms with 1 and 4; sums of rows of 256 MiB, which no cache holds: 12.0, 14.7, 15.7 and 15.8 GB/s with 1, 2, 4 and 8.
  int64_t rowsAtOnce() const { return 4; }
  /// The time of a load that all lanes read alike, in loads: it stays in a register for vectors to come.
  static constexpr double uniformLoads = 0.1;
  /// Whether a nest that touches `bytes` moves them to or from memory.
  bool isFromMemory(int64_t bytes) const { return bytes > lastCache; }
  /// Whether a line is still in the nearest cache when `bytes` went through it. Caches do not replace in perfect order,
  /// so 3/4 of it count.
  bool staysNear(int64_t bytes) const { return bytes <= nearest * 3 / 4; }
  /// Bytes of a page, where prefetchers end.
  int64_t pageBytes() const { return page; }
  /// Whether `bytes` written before they are read again go past the caches.
  bool streams(int64_t bytes) const { return streamBytes != 0 && bytes >= streamBytes; }
  /// The same of a result of so many bytes, of a nest that touches `touched` in all. The array is the caller's and in
  /// no cache, so an ordinary store reads each line from memory first; whoever reads the result finds it in the last
  /// cache only if that holds all that the nest touches.
  bool streamsResult(int64_t bytes, double touched) const {
    return streams(bytes) || (streamBytes != 0 && bytes > second && touched >= double(resultBytes));
  }
  /// Whether rows of so many bytes may go past the caches. A row that begins or ends inside of a vector (not `whole`)
  /// writes a line partly past the caches and partly through them, which takes long; a page of whole lines makes up for
  /// it. Measured on a server core, copies of 16 MiB into another array each, time by that of ordinary stores: rows
  /// of 72, 264, 520, 1032, 2056 and 4104 bytes 17, 6.2, 3.7, 2.1, 1.4 and 1.0; of 800 bytes, whole vectors, 0.7.
  bool streamsRows(int64_t bytes, bool whole) const { return whole || bytes >= page; }
  /// Vectors of so many bytes in a line, at least one.
  int64_t vectorsOfLine(int64_t bytes) const { return std::max<int64_t>(line / bytes, 1); }
  int64_t streamThreshold() const { return streamBytes; }
  /// Bytes of a row that later passes over it still find near the core.
  int64_t rowBytes() const { return second / 2; }
  /// Bytes that may live on a function's stack.
  int64_t stackBytes() const { return nearest; }
  /// Modelled time of a nest that moves `bytes` and computes `vectorOps` vector operations, in seconds.
  double seconds(double bytes, double vectorOps) const;
  /// Seconds of a pass that reads and writes so many bytes: at the rates of the nearest cache that holds both, else of
  /// memory, where stores may go past the caches.
  double moveSeconds(double read, double written) const { return moveSeconds(read, written, read + written); }
  /// The same of `footprint` different bytes.
  double moveSeconds(double read, double written, double footprint) const;
  /// The same in parts that overlap: at the rate of the first two caches, and of what these lost. Of bytes that nearly
  /// fill the second cache a part is lost (`lostPart`).
  struct MoveTime {
    double near = 0, beyond = 0; // seconds
  };
  MoveTime moveTime(double read, double written, double footprint) const;
  /// Seconds that accesses of two lines take more than others.
  double crossingSeconds(double accesses) const {
    return accesses * std::max(0.0, 1 / crossingsPerClock - 1 / loadsPerClock) / clock;
  }
  /// Seconds of divisions and square roots of vectors, which are not pipelined.
  double divideSeconds(double divisions) const { return divisions / divisionsPerClock / clock; }
  /// Seconds that vector instructions take to issue: arithmetic and loads have ports of their own.
  double issueSeconds(double arithmetic, double loads) const {
    return std::max(arithmetic / operationsPerClock, loads / loadsPerClock) / clock;
  }
  /// Seconds of so many stores of vectors, with a mask or without.
  double storeSeconds(double stores, bool masked) const {
    return stores / (masked ? maskedStoresPerClock : storesPerClock) / clock;
  }
  /// The time of a vector whose lanes are elements of `bytes` anywhere, in loads: one a lane. Instructions gather
  /// elements of four bytes and more; narrower ones are inserted into the vector one by one, each by a shuffle.
  double gatherLoads(int64_t lanes, int64_t bytes) const {
    return double(lanes) * (bytes < 4 ? 1 + shuffleLoads() : 1);
  }
  /// The time of a vector of every `stride`-th element, in loads: that, or up to a stride of four, as many loads side
  /// by side and shuffles that pick the lanes.
  double stridedLoads(int64_t stride, int64_t lanes, int64_t bytes) const {
    return deinterleaves(stride, lanes, bytes) ? sideBySide(stride) : gatherLoads(lanes, bytes);
  }
  /// Whether loads side by side and shuffles are the faster way.
  bool deinterleaves(int64_t stride, int64_t lanes, int64_t bytes) const {
    return stride >= 2 && stride <= 4 && sideBySide(stride) < gatherLoads(lanes, bytes);
  }
  /// The time of a vector of a square of `side` x `side` elements that is transposed in registers, in loads: one load,
  /// and log2(side) shuffles.
  double turnedLoads(int64_t side) const { return 1 + std::log2(static_cast<double>(side)) * shuffleLoads(); }
  /// The time of a line that comes from the second cache and whose page is translated anew, in loads.
  double missedLoads() const { return (lineClocks + translationClocks) * loadsPerClock; }
  /// Pages whose translations the nearest level keeps.
  int64_t translatedPages() const { return translations; }
  /// Loads that issue in the time of a shuffle.
  double shuffleLoads() const { return loadsPerClock / shufflesPerClock; }
  /// Lines that an unaligned vector touches beside its first, on average.
  double lineCrossings() const { return static_cast<double>(registerBytes) / static_cast<double>(line); }
  /// Whether the time is worth waking `threads` cores.
  bool parallel(double seconds, int64_t threads) const { return threads > 1 && seconds > 4 * launchSeconds; }

private:
  double sideBySide(int64_t stride) const { return double(stride) + double(stride - 1) * shuffleLoads(); }
  int64_t translations = std::numeric_limits<int32_t>::max(), registerBytes = 0, registerCount = 0, line = 1,
          accumulatorCount = 4, streamBytes = 0, resultBytes = 0, lastCache = 0, nearest = 0, second = 0,
          page = std::numeric_limits<int32_t>::max();
  double clock = 1, bytesPerClock = 1, operationsPerClock = 1, loadsPerClock = 1, shufflesPerClock = 1;
  double lineClocks = 2, translationClocks = 0; // of a line from the second cache, of a page translated anew
  double crossingsPerClock = 1, divisionsPerClock = 1, storesPerClock = 1, maskedStoresPerClock = 1;
  /// Capacity, and bytes per clock of reads and writes: caches from the nearest, then memory.
  struct Rates {
    int64_t bytes;
    double read, write;
  };
  std::vector<Rates> memories;
  std::vector<Memory> caches;
  bool testsLoops = false;  // the core does nothing beside the test of a loop
  double launchSeconds = 0; // fork and join of a warm team; 0 where all cores of a launch begin together
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_MEMORYMODEL_H
