//===- LoopRuns.h - How often loops run an operation ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_LOOPRUNS_H
#define TILEWRIGHT_CORE_ANALYSIS_LOOPRUNS_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace tilewright {

/// How often the loops around `op` run it in one call of its function; nullopt where one of them has a number of
/// iterations that is not constant.
std::optional<int64_t> runsOf(mlir::Operation *op);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_LOOPRUNS_H
