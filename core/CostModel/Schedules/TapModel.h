//===- TapModel.h - How a reduction over a few taps is walked ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A result is combined from taps: the window of a pooling, the filter of a
/// depthwise convolution, a short row. The lanes run over neighbouring results
/// or over taps, and of those over results some tap loops may be written out:
///
///   for y: for ky: for x: { v = out[y, x]; v += in[y + ky, x]; v += in[y + ky, x + 1]; .. out[y, x] = v }
///
/// The comparison counts accesses to the nearest cache, in vector loads, for
/// as many results as a vector has lanes:
///
///   along = idle (taps · loads + 2 results · taps / written out)
///   over  = taps · accesses of a vector of taps + lanes · (tree of one sum)
///
/// A lane of a gather takes half as long again as a load, and a row that is no power of two a blend with what changes
/// no sum: 7 rows of 5 to 16 floats on a Granite Rapids core fall on the sides where they are faster.
///
/// The result of taps that are all written out is stored once and never read.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TAPMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TAPMODEL_H

#include "core/CostModel/Machine/MemoryModel.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tilewright {

struct TapQuestion {
  llvm::SmallVector<std::optional<int64_t>> trips; // of the tap loops, outermost first; nullopt: dynamic
  int64_t lanes = 1;                               // of a vector of results
  double results = 1;                              // arrays that are combined into
  double loads = 1;                                // of one tap, for a vector of results
  int64_t gathers = 0;                             // how many of these are gathers
  int64_t returns = 0;                             // of these, whose lines leave the nearest cache from tap to tap
  int64_t uniform = 0;                             // how many of these all lanes read alike
  bool shared = false;                             // whether neighbours beside the lanes read elements of each other
  double idle = 1;                                 // vectors of results over those without idle lanes, at least 1
  std::optional<double> over;                      // accesses of a vector of taps; nullopt: taps cannot be lanes
  int64_t row = 1;                                 // taps of the loop that would be lanes
  double scalar = 1;                               // accesses of one tap of one result
};

struct TapCandidate {
  unsigned written; // innermost tap loops that are written out
  int64_t taps;     // iterations of these
  double accesses;
};

struct TapAnswer {
  llvm::SmallVector<TapCandidate> along; // lanes over results: none, one, two .. tap loops written out
  std::optional<double> over;            // lanes over taps
  double scalar = 0;                     // no lanes
  std::optional<TapCandidate> choice;    // nothing where the nest had better stay as it is
};

/// At most as many taps are unrolled as the chip has vector registers: then code stays short. Of windows that reach
/// into each other rowsAtOnce() times as many: results side by side are computed together then (NestVectorizer), each
/// element is loaded once for all of them, and what they read alike is in a register while they use it.
TapAnswer chooseTaps(const TapQuestion &question, const MemoryModel &model);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TAPMODEL_H
