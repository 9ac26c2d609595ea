//===- Cores.h - Chips whose cores program engines --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The third kind of chip: each core runs one thread, has a scratchpad, and
/// gives commands to engines that work beside it:
///
///   global --in--> scratchpad --A, B--> unit --> accumulator
///      ^               ^ |                          |
///      +-----out-------+ +------- vector unit ------+
///
/// A chip is of this kind when the members of its parallel level have a
/// scratchpad and no level runs in lockstep.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORES_H
#define TILEWRIGHT_CORES_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Objects live as long as the description.
struct CoreHierarchy {
  std::string level; // name of the cores' level
  int64_t cores = 1;
  const Memory *global = nullptr, *scratchpad = nullptr;
  const Memory *accumulator = nullptr;            // null: units write the scratchpad
  const CopyEngine *in = nullptr, *out = nullptr; // null: the core copies
  bool reachesGlobal = false;                     // its own loads and stores address global memory
};

/// The cores of `chip`; nullopt for chips of other kinds.
std::optional<CoreHierarchy> coreHierarchy(const TargetDescription &chip);

/// Marks a module whose code shall have no vectors, before the stages: it is given out as source
/// (writeC, writeLLVM).
inline constexpr llvm::StringLiteral scalarCodeAttr = "tilewright.scalar";
/// Marks the program of a core after stage 5.
inline constexpr llvm::StringLiteral coreKernelAttr = "tilewright.core_kernel";

} // namespace tilewright

#endif // TILEWRIGHT_CORES_H
