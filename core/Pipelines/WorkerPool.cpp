//===- WorkerPool.cpp - Threads that help a compilation -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One queue. Threads start with the first tasks.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/WorkerPool.h"
#include "core/Pipelines/Guard.h"

#include "llvm/Support/CrashRecoveryContext.h"

using namespace tilewright;

unsigned tilewright::processors() { return llvm::hardware_concurrency().compute_thread_count(); }

WorkerPool::WorkerPool(unsigned threads, std::function<void(llvm::function_ref<void()>)> around)
    : threads(std::max(threads, 1u)), around(std::move(around)) {}

WorkerPool::~WorkerPool() {
  waitFor(nullptr);
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  for (llvm::thread &worker : workers)
    worker.join();
}

unsigned WorkerPool::pending(llvm::ThreadPoolTaskGroup *group) const {
  auto isOfGroup = [&](llvm::ThreadPoolTaskGroup *each) { return !group || each == group; };
  return llvm::count_if(tasks, [&](const auto &each) { return isOfGroup(each.second); }) +
         llvm::count_if(running, isOfGroup);
}

bool WorkerPool::doOne(std::unique_lock<std::mutex> &lock, llvm::ThreadPoolTaskGroup *group) {
  auto found = llvm::find_if(tasks, [&](const auto &each) { return !group || each.second == group; });
  if (found == tasks.end())
    return false;
  auto [task, own] = std::move(*found);
  tasks.erase(found);
  running.push_back(own);
  lock.unlock();
  llvm::CrashRecoveryContext recovery;
  const bool finished = recovery.RunSafely([&] {
    if (around)
      around([&] { task(); });
    else
      task();
  });
  lock.lock();
  hasCrashed |= !finished;
  running.erase(llvm::find(running, own));
  changed.notify_all();
  return true;
}

void WorkerPool::asyncEnqueue(Task task, llvm::ThreadPoolTaskGroup *group) {
  {
    std::lock_guard lock(mutex);
    tasks.emplace_back(std::move(task), group);
    if (workers.size() + 1 < threads && workers.size() < tasks.size())
      workers.emplace_back(std::optional<unsigned>(guardedStackBytes), [this] {
        std::unique_lock lock(mutex);
        while (!isEnding)
          if (!doOne(lock, nullptr))
            changed.wait(lock, [&] { return isEnding || !tasks.empty(); });
      });
  }
  changed.notify_all();
}

void WorkerPool::waitFor(llvm::ThreadPoolTaskGroup *group) {
  std::unique_lock lock(mutex);
  while (pending(group) > 0)
    if (!doOne(lock, group))
      changed.wait(lock);
  if (!hasCrashed)
    return;
  lock.unlock();
  // What the tasks were to do is half done. Whoever guards this thread has its work end here.
  if (llvm::CrashRecoveryContext *guard = llvm::CrashRecoveryContext::GetCurrent())
    guard->HandleExit(1);
}
