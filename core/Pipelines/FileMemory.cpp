//===- FileMemory.cpp - Memory that the system may write to a file --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A mapping that is shared with a file keeps what was written when its pages leave the process.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/FileMemory.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Process.h"
#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace tilewright;

void tilewright::advise(llvm::StringRef memory, int advice) {
  const uintptr_t page = llvm::sys::Process::getPageSizeEstimate();
  const uintptr_t begin = llvm::alignTo(reinterpret_cast<uintptr_t>(memory.begin()), page);
  const uintptr_t end = llvm::alignDown(reinterpret_cast<uintptr_t>(memory.end()), page);
  if (begin < end)
    (void)madvise(reinterpret_cast<void *>(begin), end - begin, advice);
}

void tilewright::letGo(llvm::StringRef memory) { advise(memory, MADV_DONTNEED); }

/// A file without a name that has room for `bytes`; -1 where there is none.
static int fileOf(uint64_t bytes) {
  llvm::SmallString<128> path;
  int descriptor = -1;
  if (llvm::sys::fs::createTemporaryFile("tilewright", "packed", descriptor, path))
    return -1;
  (void)llvm::sys::fs::remove(path);
  if (posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0) // else a write to the memory ends the process
    return descriptor;
  close(descriptor);
  return -1;
}

std::unique_ptr<FileMemory> FileMemory::create(uint64_t size) {
  const int file = size > window ? fileOf(size) : -1;
  void *memory = MAP_FAILED;
  if (file >= 0) {
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
  }
  const bool filed = memory != MAP_FAILED;
  if (!filed)
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  return std::unique_ptr<FileMemory>(new FileMemory(static_cast<char *>(memory), size, filed));
}

FileMemory::~FileMemory() { munmap(begin, bytes); }

void FileMemory::whileFilled(llvm::function_ref<void()> work) const {
  if (!filed)
    return work();
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread other([&] {
    constexpr std::chrono::milliseconds interval(20); // some tens of megabytes
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, interval, [&] { return done; }))
      letGo({begin, bytes});
  });
  work();
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  changed.notify_one();
  other.join();
  letGo({begin, bytes});
}
