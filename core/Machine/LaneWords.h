//===- LaneWords.h - What records of lanes' instructions do -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The words of `LaneInstruction` records. Those that are no hint are primitives
/// of the emulator.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_LANEWORDS_H
#define TILEWRIGHT_CORE_MACHINE_LANEWORDS_H

#include "llvm/ADT/StringRef.h"
#include <tuple>

namespace tilewright {

struct LaneWord {
  llvm::StringLiteral word;
  unsigned operands;
  bool hasResult = false;  // of the type of the first operand; without one, i32
  bool isHint = false;     // without effect on values and memory
  int32_t sample = 1;      // of the last operand, with which a check makes the instruction
  bool isFloat = false;    // the first operand and the result are f32
  bool isOfNumber = false; // the first of two operands is an i32, not the address of a barrier object
};

inline constexpr LaneWord laneWords[] = {
    {"lane_x", 0, true},
    {"block_x", 0, true},
    {"block_y", 0, true},
    {"block_z", 0, true},
    {"block_in_cluster", 0, true},
    {"first", 1, true},
    {"exp2", 1, true, false, 1, true},
    {"barrier", 0},
    {"cluster_arrive", 0},
    {"cluster_wait", 0},
    {"commit_copy", 0},
    {"wait_copy", 1},
    {"commit_store", 0},
    {"wait_store", 1},
    {"commit_unit", 0},
    {"phase_init", 2},
    {"group_arrive", 2, false, false, 64, false, true},
    {"fence_engines", 0},
    {"fence_units", 0},
    {"grow_registers", 1, false, true, 64},
    {"shrink_registers", 1, false, true, 64},
    {"keep_order", 0, false, true},
};

/// Null: there is none of the name.
inline const LaneWord *laneWord(llvm::StringRef name) {
  for (const LaneWord &each : laneWords)
    if (each.word == name)
      return &each;
  return nullptr;
}

/// The operand that the argument of an emission takes: 1 for "$1" and "NAME=$1"; `key` is NAME or empty. False: it
/// takes none.
inline bool operandOfArgument(llvm::StringRef argument, llvm::StringRef &key, unsigned &operand) {
  llvm::StringRef value = argument;
  key = {};
  if (argument.contains('='))
    std::tie(key, value) = argument.split('=');
  return value.consume_front("$") && !value.getAsInteger(10, operand);
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_LANEWORDS_H
