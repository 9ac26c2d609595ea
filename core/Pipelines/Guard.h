//===- Guard.h - Work that may crash ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs work so that a crash inside ends the work and not the process. Several
/// threads may be guarded at once.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_GUARD_H
#define TILEWRIGHT_CORE_PIPELINES_GUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright {

/// Stack of guarded threads: deep nests need it.
constexpr unsigned guardedStackBytes = 256u << 20;

/// Runs `work` on a thread with a deep stack; false if it crashed, which leaves what it held as it was.
bool finishes(llvm::function_ref<void()> work);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_GUARD_H
