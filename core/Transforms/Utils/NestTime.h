//===- NestTime.h - Modelled time of nests without a plan -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nests that move more than they compute are mapped by rules, not by comparing plans. For the log of decisions they
/// have a time as well, that of a pass over their arrays:
///
///   for i < 64: for j < 1000: y[i, j] = x[i, j] + b[j]      reads 64000 + 1000 elements, writes 64000,
///                                                           64000 operations, in vectors
///
///   {"decision": "nest-time", "traffic": {"operations", "read_bytes", "written_bytes"}, "choice": {"seconds"}}
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTTIME_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTTIME_H

#include "core/CostModel/Machine/PassModel.h"
#include "mlir/IR/Operation.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// What the loops at `root` move and compute. Different elements count once, arrays that live inside of `root` not at
/// all. Dynamic extents count as `assumedRowExtent`.
PassWork passWork(mlir::Operation *root, const PassModel &model);

/// Writes the modelled time of the loops at `root`, shared by `threads`, into the log of decisions, if somebody
/// listens; not of the nests of a product that is planned, which has their time. Different elements count once, arrays
/// that live inside of `root` not at all. Dynamic extents count as `assumedRowExtent`.
void logNestTime(mlir::Operation *root, const TargetDescription &chip, int64_t threads = 1);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTTIME_H
