//===- WorkerPoolTest.cpp - Threads that help a compilation ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every task is done, also those of tasks; a crash of one ends the work of who waits, and no more.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/WorkerPool.h"
#include "core/Pipelines/Guard.h"

#include "gtest/gtest.h"
#include <atomic>

namespace worker_pool_test {

using namespace tilewright;

namespace {

TEST(WorkerPool, DoesTasksOfTasks) {
  for (unsigned threads : {1, 2, 5}) {
    std::atomic<int> done = 0;
    WorkerPool pool(threads);
    EXPECT_EQ(pool.getMaxConcurrency(), threads);
    llvm::ThreadPoolTaskGroup outer(pool);
    for (int i = 0; i < 7; ++i)
      outer.async([&] {
        llvm::ThreadPoolTaskGroup inner(pool);
        for (int j = 0; j < 5; ++j)
          inner.async([&] { ++done; });
        inner.wait();
      });
    outer.wait();
    EXPECT_EQ(done, 35) << threads << " threads";
  }
}

TEST(WorkerPool, CallsAroundEachTask) {
  std::atomic<int> before = 0, done = 0;
  WorkerPool pool(3, [&](llvm::function_ref<void()> task) {
    ++before;
    task();
  });
  for (int i = 0; i < 10; ++i)
    pool.async([&] { ++done; });
  pool.wait();
  EXPECT_EQ(before, 10);
  EXPECT_EQ(done, 10);
}

TEST(WorkerPool, ACrashIsOneOfWhoWaits) {
  std::atomic<int> done = 0;
  bool waited = false;
  EXPECT_FALSE(finishes([&] {
    auto *pool = new WorkerPool(2); // stays, as what a crashed stage held
    for (int i = 0; i < 20; ++i)
      pool->async([&, i] {
        if (i == 9)
          __builtin_trap();
        ++done;
      });
    pool->wait();
    waited = true;
  }));
  EXPECT_FALSE(waited);
  EXPECT_EQ(done, 19) << "the other tasks come to their end, for they may hold what is shared";
  EXPECT_TRUE(finishes([] {}));
}

} // namespace

} // namespace worker_pool_test
