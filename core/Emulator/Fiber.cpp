//===- Fiber.cpp - Stacks to switch between -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory of the stacks. The switch itself is in FiberSwitch-*.S.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Fiber.h"
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define TILEWRIGHT_UNPOISON(address, bytes) __asan_unpoison_memory_region(address, bytes)
#endif
#endif
#ifndef TILEWRIGHT_UNPOISON
#define TILEWRIGHT_UNPOISON(address, bytes) (void)(address)
#endif

using namespace tilewright;

static constexpr size_t guardBytes = 64 << 10; // a multiple of every page size
static constexpr size_t strideBytes = FiberStacks::stackBytes + guardBytes;
/// Three cache lines from one lane's stack to the next, over one page.
static constexpr size_t staggerBytes = 192, staggerPeriod = 16;

FiberStacks::~FiberStacks() {
  if (base)
    munmap(base, count * strideBytes);
}

bool FiberStacks::reserve(size_t wanted) {
  if (wanted <= count)
    return true;
  if (base)
    munmap(base, count * strideBytes);
  count = 0;
  void *memory = mmap(nullptr, wanted * strideBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  base = memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
  if (!base)
    return false;
  count = wanted;
  for (size_t index = 0; index < count; ++index)
    mprotect(base + index * strideBytes, guardBytes, PROT_NONE);
  return true;
}

char *FiberStacks::top(size_t index) const {
  return base + (index + 1) * strideBytes - (index % staggerPeriod) * staggerBytes;
}

void FiberStacks::clear(size_t index) const {
  TILEWRIGHT_UNPOISON(base + index * strideBytes + guardBytes, stackBytes);
}

bool FiberStacks::contains(size_t index, const void *address) const {
  auto *byte = static_cast<const char *>(address);
  return byte >= base + index * strideBytes + guardBytes && byte < base + (index + 1) * strideBytes;
}

bool FiberStacks::contains(const void *address) const {
  auto *byte = static_cast<const char *>(address);
  return byte >= base && byte < base + count * strideBytes;
}
