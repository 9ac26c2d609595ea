//===- UnitRunner.h - Matrix units at the emulator's speed ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `runUnit` says a record means, prepared once: the slot of each element of
/// A and B and the element of each slot of C are tables, element types are decoded
/// without a general float class. Results are those of `runUnit`, bit by bit.
///
/// One lane gives its operands in a frame:
///
///   registers of A | of B | of C (in and out) | scales of A | of B | index of A | MemoryOperand of each | int32 useC
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_UNITRUNNER_H
#define TILEWRIGHT_CORE_EMULATOR_UNITRUNNER_H

#include "tilewright/UnitModel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright {

/// An operand in a scratchpad or accumulator memory: a row-major tile, or what a descriptor says. Of scales in an
/// accumulator memory `pitch` is the first one that the instruction takes of a word, of an index there its first entry.
struct MemoryOperand {
  enum Form : int64_t { Rows, LinesAlongFree, LinesAlongK };
  uint64_t address = 0; // or the descriptor
  int64_t pitch = 0;    // rows: bytes from one to the next
  int64_t form = Rows;  // else `address` is a descriptor
};

class UnitRunner {
public:
  explicit UnitRunner(const MatrixUnit &unit);

  const MatrixUnit &unit;
  int64_t lanes = 1; // that take part
  /// Operands 0 A, 1 B, 2 C; of a unit that takes scales also those of A, of B, or of both; of a sparse A its index.
  int operands() const { return 3 + static_cast<int>(unit.besides().size()); }
  /// Bytes of an operand's registers in one lane, 0 for one in memory.
  int64_t registerBytes(int operand) const { return bytes[operand]; }
  bool inMemory(int operand) const { return memories[operand]; }
  /// Lane and element that hold a position, of an operand in registers and of accumulators that lanes read.
  Slot slotOf(int operand, int64_t row, int64_t col) const {
    const Place &place = slots[operand][row * this->operand(operand).cols + col];
    return {place.lane, place.element};
  }
  /// Whether each lane's results come from its own registers alone: such lanes need no synchronisation.
  bool laneLocal() const { return !local.empty(); }
  int64_t registerOffset(int operand) const { return offsets[operand]; }
  int64_t memoryOffset(int operand) const { return memory + operand * int64_t(sizeof(MemoryOperand)); }
  int64_t useCOffset() const { return memoryOffset(operands()); }
  int64_t frameBytes() const { return useCOffset() + 16; }

  /// Address of element (row, col) of an operand in memory: 0 A, 1 B, 2 C, then scales.
  using AddressOf = llvm::function_ref<char *(int operand, int64_t row, int64_t col)>;
  /// C = A * B + C of one lane of a unit that is laneLocal.
  void runLane(int64_t lane, char *frame) const;
  /// C = A * B + C over the frames of the lanes.
  void run(llvm::ArrayRef<char *> frames, AddressOf addressOf, bool useC) const;

private:
  const UnitOperand &operand(int index) const {
    if (index > 2)
      return *unit.besides()[index - 3];
    return index == 0 ? unit.a : index == 1 ? unit.b : unit.c;
  }
  void scale(llvm::ArrayRef<char *> frames, AddressOf addressOf, double *a, double *b) const;
  void read(int index, llvm::ArrayRef<char *> frames, AddressOf addressOf, double *matrix) const;

  struct Place {
    uint16_t lane, element;
  };
  void findLocal();
  static constexpr int most = 6;
  int64_t bytes[most] = {}, offsets[most] = {}, memory = 0;
  bool memories[most] = {};
  std::vector<Place> slots[most];        // by row-major position
  std::vector<uint32_t> positions[most]; // by lane and element
  /// laneLocal: elements of A and B for each element of C of each lane and each k, in this order.
  std::vector<std::pair<uint16_t, uint16_t>> local;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_UNITRUNNER_H
