//===- PackedElements.h - Narrow elements in a scratchpad -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How floats of 4 and 6 bits lie in lines along k where a unit reads them in a scratchpad by itself. The record of the
/// operand says it by `storage`, what 16 bytes hold from the lowest bits on:
///
///   "<32 x i4>"   two elements in a byte
///   "<16 x i4>"   bytes 0 to 7 so; bytes 8 to 15 are not looked at
///   "<16 x i6>"   bits 6 e to 6 e + 5 are element e; bytes 12 to 15 are not looked at
///
/// Arrays of programs hold each in a byte; a launch packs them (core/CostModel/Copies/ElementPacking.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_PACKEDELEMENTS_H
#define TILEWRIGHT_CORE_MACHINE_PACKEDELEMENTS_H

#include "core/Machine/UnitOperands.h"
#include <string>

namespace tilewright {

/// Bytes that `storage` speaks of.
inline constexpr int64_t packBytes = 16;

/// Elements that `packBytes` bytes hold; 0: elements lie as in the arrays of programs.
inline int64_t packedElements(const UnitOperand &operand) {
  llvm::StringRef text = operand.storage;
  int64_t count = 0, bits = 0;
  if (operand.residence != Residence::Scratchpad || !text.consume_front("<") || text.consumeInteger(10, count) ||
      !text.consume_front(" x i") || text.consumeInteger(10, bits) || text != ">" || bits != bitWidth(operand.element))
    return 0;
  return count;
}

/// Elements along k for one byte of a packed line, or for one element of a line that is not packed.
inline int64_t perElement(const UnitOperand &operand) {
  return std::max<int64_t>(1, packedElements(operand) / packBytes);
}

/// Bytes of `count` elements of `operand` that follow each other in a line of the scratchpad.
inline int64_t scratchpadBytes(const UnitOperand &operand, int64_t count) {
  if (const int64_t packed = packedElements(operand))
    return count * packBytes / packed;
  return count * std::max<int64_t>(1, bitWidth(operand.element) / 8);
}

/// Whether a unit takes the magnitudes of the scales `operand` alone: their highest bit must be 0. The record says so
/// by a `storage` that is one bit narrower than the element: "i7".
inline bool isUnsignedScale(const UnitOperand &operand) {
  return operand.residence == Residence::Accumulator &&
         operand.storage == "i" + std::to_string(bitWidth(operand.element) - 1);
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_PACKEDELEMENTS_H
