//===- PoisonedMemory.cpp - Memory that nobody has written ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One file in memory holds the pattern; large arrays map it privately, again
/// and again.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/PoisonedMemory.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace tilewright;

/// Bytes of the pattern: few mappings for an array (a process has some 65,000), little memory for the file.
static constexpr size_t patternBytes = size_t(16) << 20;

/// A file of `patternBytes` poisoned bytes; -1: the system has none.
static int patternFile() {
  static const int file = [] {
    int made = memfd_create("tilewright-poison", MFD_CLOEXEC);
    if (made < 0 || ftruncate(made, patternBytes) != 0)
      return -1;
    void *pattern = mmap(nullptr, patternBytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (pattern == MAP_FAILED)
      return -1;
    std::memset(pattern, poisonByte, patternBytes);
    munmap(pattern, patternBytes);
    return made;
  }();
  return file;
}

char *tilewright::mapPoisoned(size_t bytes) {
  constexpr int priv = MAP_PRIVATE | MAP_NORESERVE;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, priv | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  char *begin = static_cast<char *>(memory);
  if (bytes < 2 * patternBytes || patternFile() < 0) {
    std::memset(begin, poisonByte, bytes);
    return begin;
  }
  for (size_t done = 0; done < bytes; done += patternBytes)
    if (mmap(begin + done, std::min(patternBytes, bytes - done), PROT_READ | PROT_WRITE, priv | MAP_FIXED,
             patternFile(), 0) == MAP_FAILED) {
      munmap(begin, bytes);
      return nullptr;
    }
  return begin;
}

void tilewright::unmapPoisoned(char *memory, size_t bytes) { munmap(memory, bytes); }
