//===- StagedTiles.h - Operands of a step in the scratchpad -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In which order the tiles of a contraction's operands lie in the scratchpad, how
/// lanes copy them there, and how many instructions of a lane a step of k is.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_COPIES_STAGEDTILES_H
#define TILEWRIGHT_CORE_COSTMODEL_COPIES_STAGEDTILES_H

#include "core/CostModel/Copies/TileArrangement.h"
#include "core/CostModel/Copies/TurnedCopy.h"
#include <array>
#include <map>
#include <optional>

namespace tilewright {

/// Registers of an address in global memory, of 64 bits.
inline constexpr int64_t addressRegisters = 2;

/// One operand's tile, its order chosen, and how a lane copies its part of it.
struct StagedOperand {
  bool kInner = true;      // rows of k lie together
  TileUse use;             // use.transposed: in another order than in the array
  int64_t elements = 0;    // that a lane copies
  bool turns = false;      // in registers
  bool direct = false;     // copied asynchronously
  int64_t begin = 0;       // bytes that divide the places of vectors of copies; 0: those of the vector
  bool over = false;       // vectors of all steps but the last may go over the end of a row, into the next one
  int64_t row = 0;         // elements of rows whose last vector is loaded as a whole, from before; 0: none is
  bool byPlace = false;    // loads take an offset of the lane that no loop changes, and check nothing
  TurnShape turn;          // of a lane that does
  int64_t writeBytes = 16; // of one write into the tile as it is arranged
  double sectors = 1;      // how many times copies touch those of the array's rows, as it is arranged
  double writes = 0;       // instructions that write a lane's part, as it is arranged

  /// Whether copies touch each once.
  bool fillsSectors() const { return sectors <= 1; }
};

/// Instructions of a lane for the index of a sparse A that one instruction of `unit` takes, of a sum over loop `kDim`:
/// loads, of places that lie side by side together, and what packs them into a register.
struct IndexInstructions {
  IndexInstructions(const MatrixUnit &unit, const Contraction &c, unsigned kDim);
  double loads = 0, packs = 0;
};

/// The tiles of one contraction on one chip, for all plans that are looked at.
class StagedTiles {
public:
  StagedTiles(const Contraction &contraction, const TargetDescription &chip, const LaneHierarchy &hierarchy);

  /// A's or B's tile in `plan`. The order is that of the array if the chip can load matrices transposed, else that of
  /// the fragments.
  const StagedOperand &operand(const LaneContractionPlan &plan, bool isA);
  /// Arranges it over the banks, and chooses the blocks that lanes transpose: of those with the fewest conflicts that
  /// with the fewest instructions. How many times the clocks without conflicts its accesses take.
  double arrange(StagedOperand &operand, StagedTile &tile);
  /// Whether loads of columns give this operand's fragments from rows along its free dimension.
  bool loadsColumns(const UnitOperand &own, bool isA) const;
  /// Whether elements pass through the registers of lanes, though the chip has an engine that copies for them: it moves
  /// no short ones and turns none.
  bool held(const StagedOperand &operand) const;
  /// Registers of a lane in which its part of one step waits between global memory and the scratchpad; where rows begin
  /// anywhere, with the addresses and checks of its many short loads, which the loop holds over its steps.
  int64_t heldRegisters(const StagedOperand &operand) const;
  /// Registers that a lane holds in the last step beside those of the others: by how much the array ends inside of each
  /// vector, and the offsets that it chooses anew, where compilers have no other registers for them: `isFilled`, sums
  /// fill their half. `isWhole`: steps divide k.
  int64_t endRegisters(const StagedOperand &operand, bool isWhole, bool isFilled) const;
  /// Loads shorter than a vector that a lane does for its part of one step.
  int64_t shortLoads(const StagedOperand &operand) const;
  /// Whether a subgroup's scalar registers, where the chip has such, hold the addresses of the rows of so many short
  /// loads: its lanes lie along one, so that it is the same for all. Where other loops of the sum are around that of
  /// the steps, each address is held as it is in the first step and as it is in this one.
  bool keepsRows(const LaneContractionPlan &plan, int64_t loads) const;
  StepInstructions instructions(const LaneContractionPlan &plan, const StagedOperand &a, const StagedOperand &b) const;

  int64_t elementBytes() const { return bytes; }
  bool engine() const { return hasEngine; }

private:
  StagedOperand describe(const LaneContractionPlan &plan, bool isA);
  double writesOf(const StagedOperand &operand, const StagedTile &tile) const;
  /// Bytes that divide the addresses of vectors that copies of this operand load.
  int64_t loadAlignment(const StagedOperand &operand) const;
  double checks(const LaneContractionPlan &plan, bool isA, double loads) const;
  double fragmentLoads(const MatrixUnit &unit, const UnitOperand &own, const StagedOperand &operand) const;

  const Contraction &c;
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  const Memory *shared;
  int64_t bytes = 1;
  bool hasEngine = false, hasDirect = false;
  bool matrices = false, transposes = false, columns = false; // loads of matrices by the whole subgroup
  struct Arranged {
    StagedTile tile;
    TurnShape turn;
    double clocks = 1, sectors = 1, writes = 0;
  };
  /// What `describe` reads of a plan, in one contraction.
  using PlanPart = std::tuple<const MatrixUnit *, bool, int64_t, int64_t, int64_t, bool>;
  std::map<PlanPart, StagedOperand> described;
  /// Indices that are compared with the sizes of A and B: those that the tile moves, and the others.
  struct Comparisons {
    int64_t moved = 0, fixed = 0;
  };
  mutable std::array<std::optional<Comparisons>, 2> compared;
  std::map<std::pair<decltype(std::declval<TileUse>().key()), int64_t>, Arranged> known; // by use and elements
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_COPIES_STAGEDTILES_H
