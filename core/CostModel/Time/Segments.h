//===- Segments.h - Contiguous bytes that a walk touches --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A walk through some dimensions of an array touches segments of neighbouring
/// bytes. Rows that run through two dimensions leave out what lies between:
///
///   y = 0           y = 1           y = 2
///   ##############..##############..######      34 rows: x = 0 to 13 of y = 0 and 1, 6 of y = 2
///   `- a segment -'
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_SEGMENTS_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_SEGMENTS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

namespace tilewright {

/// Positions of a dimension that are visited, and bytes from one to the next.
struct Walk {
  double apart, count;
};

/// The first `positions` of a walk through all of `dims`, the innermost first: as many of each as that takes, in the
/// mean where the last one is not walked to its end.
inline llvm::SmallVector<Walk> firstPositions(llvm::SmallVector<Walk> dims, double positions) {
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i].count = i + 1 < dims.size() ? std::min(positions, dims[i].count) : positions;
    positions /= dims[i].count;
  }
  return dims;
}

/// Segments of neighbouring bytes, and the bytes from the first of one to its last.
struct Segments {
  double count = 1, extent = 0;
  /// Lines or pages of `unit` bytes that are touched.
  double unitsOf(double unit) const { return count * std::max(1.0, extent / unit); }
};

/// Those of elements of `bytes` bytes that `walks` visit. What lies closer than `unit` bytes is one segment.
inline Segments segmentsOf(llvm::SmallVector<Walk> walks, double bytes, double unit) {
  llvm::sort(walks, [](const Walk &a, const Walk &b) { return a.apart < b.apart; });
  Segments result{1, bytes};
  for (auto [apart, count] : walks)
    if (apart <= std::max(result.extent, unit) && result.count == 1)
      result.extent += apart * (count - 1);
    else
      result.count *= count;
  return result;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_SEGMENTS_H
