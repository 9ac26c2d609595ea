//===- RefusedEnds.h - Ranges whose last nests have no tiles ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is known of longer ranges of nests once a shorter one has been refused.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_REFUSEDENDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_REFUSEDENDS_H

#include "core/Transforms/Schedule/NestRange.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace tilewright {

/// Ranges without tiles because of their last nests alone: others with the same ones, cut alike, have none either.
class RefusedEnds {
public:
  void add(const NestRange &range) {
    if (range.refusedNests > 0 && range.refusedNests <= range.nests.size() && range.considered.empty())
      ends[range.nests.back()].push_back({range.cuts, range.columns, range.refusedNests, range.refusals});
  }
  /// Whether this is known of the range, which then gets the reasons.
  bool contains(NestRange &range) const {
    auto found = ends.find(range.nests.back());
    if (found == ends.end())
      return false;
    for (const End &end : found->second)
      if (end.nests <= range.nests.size() && end.cuts == range.cuts && end.columns == range.columns) {
        range.refusals = end.reasons;
        return true;
      }
    return false;
  }

private:
  struct End {
    llvm::SmallVector<unsigned, 4> cuts;
    std::optional<unsigned> columns;
    size_t nests;
    std::vector<std::string> reasons;
  };
  llvm::DenseMap<mlir::Operation *, std::vector<End>> ends; // by the last nest
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_REFUSEDENDS_H
