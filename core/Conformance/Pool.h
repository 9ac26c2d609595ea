//===- Pool.h - Cases in processes of their own -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Worker processes take cases one by one. A case whose worker dies or does not answer
/// in time has failed with that reason; another worker goes on with the next.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_POOL_H
#define TILEWRIGHT_CORE_CONFORMANCE_POOL_H

#include "core/Conformance/Runner.h"

namespace tilewright::conformance {

struct PoolOptions {
  unsigned jobs = 1;    // worker processes; 0: everything in this process, without a limit of time
  double timeout = 120; // seconds a case may take
};

/// Runs all cases; `done` is called in this process after each one, in the order in which they end. Error: no process
/// or pipe could be had.
llvm::Error runAll(Runner &runner, llvm::ArrayRef<const Case *> cases, const PoolOptions &options,
                   llvm::function_ref<void(size_t index, const Outcome &)> done);

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_POOL_H
