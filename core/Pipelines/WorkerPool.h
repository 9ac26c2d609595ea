//===- WorkerPool.h - Threads that help a compilation -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Threads for MLIR's and LLVM's work on parts of one program. They are LLVM's thread pool but for three things: they
/// have as much stack as guarded work has (Guard.h), the thread that waits works too, and a crash in one of them is one
/// of the thread that waits:
///
///   finishes([&] {                       false where any of the tasks crashes
///     WorkerPool pool(2);
///     context.setThreadPool(pool);
///     (void)pm.run(module);
///   });
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_WORKERPOOL_H
#define TILEWRIGHT_CORE_PIPELINES_WORKERPOOL_H

#include "llvm/Support/ThreadPool.h"

namespace tilewright {

/// After a crash a guarded thread leaves without the destructor: keep the pool on the heap.
class WorkerPool final : public llvm::ThreadPoolInterface {
public:
  using Task = llvm::unique_function<void()>;

  /// `threads`: those that work at a time, with the one that waits. `around` is called with each task in its thread.
  explicit WorkerPool(unsigned threads, std::function<void(llvm::function_ref<void()>)> around = {});
  ~WorkerPool() override;

  void wait() override { waitFor(nullptr); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { waitFor(&group); }
  unsigned getMaxConcurrency() const override { return threads; }

private:
  void asyncEnqueue(Task task, llvm::ThreadPoolTaskGroup *group) override;
  void waitFor(llvm::ThreadPoolTaskGroup *group);
  /// Does the first task of `group`, or of all where it is null; false where there is none. `lock` is held before and
  /// after.
  bool doOne(std::unique_lock<std::mutex> &lock, llvm::ThreadPoolTaskGroup *group);
  /// Tasks of `group`, or of all, that are not done.
  unsigned pending(llvm::ThreadPoolTaskGroup *group) const;

  const unsigned threads;
  const std::function<void(llvm::function_ref<void()>)> around;
  std::vector<llvm::thread> workers;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<Task, llvm::ThreadPoolTaskGroup *>> tasks;
  std::vector<llvm::ThreadPoolTaskGroup *> running; // the group of each task that a thread is at
  bool isEnding = false, hasCrashed = false;
};

/// Processors that this process may use.
unsigned processors();

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_WORKERPOOL_H
