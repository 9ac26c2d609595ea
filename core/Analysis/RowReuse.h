//===- RowReuse.h - Rows that read an element again -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many iterations of a loop of rows pass until an element is read again. Rows that lie less far apart, taken
/// together, load it once: registers of a contraction's rows, rows of a nest that are written out together, and taps
/// of a window that are.
///
///   x[i, j] and x[i + 2, j]           2 iterations of i later: the first one reads what the second one has read
///   x[2 i + 3 t, j], t of 5 taps      3 iterations of i later, 2 of t before
///   x[2 i + t, j], t of 2 taps        never: windows lie side by side
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_ROWREUSE_H
#define TILEWRIGHT_CORE_ANALYSIS_ROWREUSE_H

#include "core/Analysis/Nest.h"

namespace tilewright {

/// One index of two accesses of an array, in elements: how an iteration of the loop of rows and one of a loop of taps
/// move it, and how far it lies in the second access from where it lies in the first. Loops of taps are only asked
/// about for one access, which lies 0 from itself.
struct IndexMove {
  int64_t row = 0, tap = 0, apart = 0;
};

/// Iterations of the loop of rows, at least 1, after which the first access reads what the second one reads now, in an
/// iteration of the loop of taps, of `taps`, that may be another one; the fewest. Nullopt if there are none. `taps`:
/// nullopt if dynamic, then there may be as many as it takes.
std::optional<int64_t> rereadAfter(llvm::ArrayRef<IndexMove> indices, std::optional<int64_t> taps = 1);

/// The same of two accesses of a nest and its loop `row`; nullopt where they differ by more than constants.
std::optional<int64_t> rereadAfter(const Access &first, const Access &second, unsigned row);

/// The same of one access, its loop `row`, and its loop `tap` of `taps` iterations.
std::optional<int64_t> rereadAfter(const Access &access, unsigned row, unsigned tap, std::optional<int64_t> taps);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_ROWREUSE_H
