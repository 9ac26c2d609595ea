//===- FormerNames.h - Fields that had other names --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fields of plans and decisions that scripts may know by an earlier name. For one
/// version `--explain=json` prints both, and plans may be forced by either:
///
///   {"transpose_before": 0, ..}   ->   {"transpose_before": 0, "turn_before": 0, ..}
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_FORMERNAMES_H
#define TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_FORMERNAMES_H

#include "llvm/ADT/StringRef.h"

namespace tilewright {

struct FormerName {
  llvm::StringLiteral now, before;
};

inline constexpr FormerName formerNames[] = {{"transpose_before", "turn_before"},
                                             {"rasterisation_rows", "raster_rows"},
                                             {"persistent_blocks", "workers"},
                                             {"pipeline_unroll", "round"},
                                             {"mma", "products"},
                                             {"epilogue", "tail"},
                                             {"split_k", "parts"},
                                             {"segments", "pieces"},
                                             {"split_part", "split_piece"}};

/// The name that a field given by its present or its former name has now.
inline llvm::StringRef presentName(llvm::StringRef name) {
  for (const FormerName &each : formerNames)
    if (name == each.before)
      return each.now;
  return name;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_EXPLAIN_FORMERNAMES_H
