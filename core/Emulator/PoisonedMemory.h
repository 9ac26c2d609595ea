//===- PoisonedMemory.h - Memory that nobody has written ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memory of arrays on the emulator: each byte is `poisonByte` until
/// something writes it. Pages of a large one are copies of the same few, made
/// when they are written, so that an array of many GiB costs what is touched.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_POISONEDMEMORY_H
#define TILEWRIGHT_CORE_EMULATOR_POISONEDMEMORY_H

#include <cstddef>

namespace tilewright {

/// What fills memory that nobody has written: a NaN in every float type.
inline constexpr int poisonByte = 0xff;

/// `bytes` bytes at a multiple of the page size; null: there are none.
char *mapPoisoned(size_t bytes);
/// Gives them back.
void unmapPoisoned(char *memory, size_t bytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_POISONEDMEMORY_H
