//===- TailModel.h - Where the steps behind a contraction run ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The element-wise steps behind a contraction take the finished fragments of a
/// register tile either from their registers, one after the other in straight
/// code, or from a small buffer in a loop. In registers, the fragments that wait
/// leave none for the steps' constants, which every fragment loads again, and
/// the code is as long as the tile is large; the buffer costs a store and a
/// load a fragment and keeps the constants in registers.
///
///   registers   constants x fragments, or 0 where all of them fit
///   buffer      2 x fragments + constants
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_TIME_TAILMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_TIME_TAILMODEL_H

#include "llvm/Support/JSON.h"
#include <cstdint>

namespace tilewright {

struct TailPlan {
  int64_t constants = 0;   // vectors that are the same for all fragments
  int64_t inRegisters = 0; // loads and stores beside those that both ways need, of one register tile
  int64_t throughBuffer = 0;
  bool usesBuffer() const { return throughBuffer < inRegisters; }

  llvm::json::Object toJSON() const {
    return llvm::json::Object{{"place", usesBuffer() ? "loop over a buffer" : "registers"},
                              {"constants", constants},
                              {"moves_in_registers", inRegisters},
                              {"moves_through_buffer", throughBuffer}};
  }
};

/// Registers that hold the values of one fragment on its way through the steps.
constexpr int64_t tailTemporaries = 4;
/// Constants of the arithmetic that an elementary function becomes.
constexpr int64_t constantsOfFunction = 16;

/// For a register tile of `fragments` vectors, of which a chip has `registers`.
inline TailPlan planTail(int64_t fragments, int64_t constants, int64_t registers) {
  TailPlan plan;
  plan.constants = constants;
  plan.inRegisters = fragments + constants + tailTemporaries <= registers ? 0 : constants * fragments;
  plan.throughBuffer = 2 * fragments + constants;
  return plan;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_TIME_TAILMODEL_H
