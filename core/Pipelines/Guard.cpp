//===- Guard.cpp - Work that may crash ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM's crash recovery, whose signal handlers belong to the process: the first
/// guarded thread installs them, the last one gives the old ones back.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Guard.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include <mutex>

static std::mutex mutex;
static unsigned guarded = 0;

static void enter() {
  std::lock_guard lock(mutex);
  if (guarded++ == 0)
    llvm::CrashRecoveryContext::Enable();
}

static void leave() {
  std::lock_guard lock(mutex);
  if (--guarded == 0)
    llvm::CrashRecoveryContext::Disable();
}

bool tilewright::finishes(llvm::function_ref<void()> work) {
  enter();
  llvm::CrashRecoveryContext recovery;
  bool finished = recovery.RunSafelyOnThread(work, guardedStackBytes);
  leave();
  return finished;
}
