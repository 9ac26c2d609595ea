//===- FirstFit.h - The lowest free place of a memory -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers that live at the same time must not overlap; others may:
///
///   offset 0   [ A      ]      [ C  ]
///                       [ B ]          the first fit: above A, since C leaves enough between them
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_FIRSTFIT_H
#define TILEWRIGHT_CORE_MACHINE_FIRSTFIT_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {

/// Bytes that a buffer takes, from the first one to the one after the last.
using TakenBytes = std::pair<int64_t, int64_t>;

/// The lowest multiple of `align` from which `bytes` bytes overlap none of `taken`.
inline int64_t firstFit(int64_t bytes, int64_t align, llvm::SmallVector<TakenBytes> taken) {
  llvm::sort(taken);
  int64_t offset = 0;
  for (auto [begin, end] : taken) {
    if (offset + bytes <= begin)
      break;
    offset = std::max<int64_t>(offset, llvm::alignTo(end, align));
  }
  return offset;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_FIRSTFIT_H
