//===- Fiber.h - Stacks to switch between -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A lane of an emulated kernel is a fiber: a stack of its own, entered and left
/// by a switch of a dozen instructions (FiberSwitch-*.S), never pre-empted.
///
///   FiberStacks stacks;
///   stacks.reserve(128);
///   fiber.top = tilewright_fiber_prepare(stacks.top(3), function, argument);
///   tilewright_fiber_switch(&mine, fiber.top);     // runs function(argument) until something switches back
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_FIBER_H
#define TILEWRIGHT_CORE_EMULATOR_FIBER_H

#include <cstddef>

/// Leaves the running stack, whose top goes to `*save`, and continues on the stack whose top is `load`.
extern "C" void tilewright_fiber_switch(void **save, void *load);
/// A stack below `end` (16-byte aligned) that begins with `function(argument)`; the function must never return. Gives
/// the top for the first switch.
extern "C" void *tilewright_fiber_prepare(void *end, void (*function)(void *), void *argument);

namespace tilewright {

/// Equal stacks in one mapping, each with an unmapped page below it; memory is taken as it is touched.
class FiberStacks {
public:
  static constexpr size_t stackBytes = 128 << 10;

  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  ~FiberStacks();
  /// Makes at least `count` stacks; false if the system gives no memory. Stacks in use must not exist.
  bool reserve(size_t count);
  /// End of stack `index`. The ends are staggered, so that equal frames of different lanes use different cache sets.
  char *top(size_t index) const;
  /// Forgets what a function that never returned left in stack `index`, for tools that watch stacks.
  void clear(size_t index) const;
  /// Whether `address` lies in stack `index`.
  bool contains(size_t index, const void *address) const;
  /// Whether it lies in any of them.
  bool contains(const void *address) const;

private:
  char *base = nullptr;
  size_t count = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_FIBER_H
