//===- Cores.h - Cores that program engines ---------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a core is one thread and has a memory of its own
/// (`MachineGraph::threadMemory`), it gives commands to engines that work beside it:
///
///   global --in--> scratchpad --A, B--> unit --> accumulator
///      ^               ^ |                          |
///      +-----out-------+ +------- vector unit ------+
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

  /// Those of a chip whose cores have a memory of their own.
  static CoreHierarchy of(const TargetDescription &chip);
};

/// Marks a module whose code shall have no vectors, before the stages: it is given out as source
/// (writeC, writeLLVM).
inline constexpr llvm::StringLiteral scalarCodeAttr = "tilewright.scalar";
/// Marks the program of a core after stage 5.
inline constexpr llvm::StringLiteral coreKernelAttr = "tilewright.core_kernel";

} // namespace tilewright

#endif // TILEWRIGHT_CORES_H
