//===- Residency.h - Blocks that a multiprocessor holds ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many blocks of a launch its tiles were planned for. An assembler that
/// does not know it may keep registers few, for lanes that will never be there,
/// and spill others.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RESIDENCY_H
#define TILEWRIGHT_RESIDENCY_H

#include "llvm/ADT/StringRef.h"

namespace tilewright {

/// Of a grid, of its launch and of the kernel: blocks of one multiprocessor at a time, i64. Where it is missing nothing
/// is known.
inline constexpr llvm::StringLiteral residencyAttr = "tilewright.residency";

/// Of a grid and of its launch: the modelled seconds of its plan, f64, where all sizes are known.
inline constexpr llvm::StringLiteral secondsAttr = "tilewright.seconds";

} // namespace tilewright

#endif // TILEWRIGHT_RESIDENCY_H
