//===- ScratchpadContractionModel.h - Tiles of a contraction on cores with engines ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chooses the tile of C that a core computes at a time, the depth of a step of
/// k and the multi-stage buffer between the copy engine and the unit:
///
///   step       k:   0    1    2  |  0    1    2  |           tiles of one core, one after the other
///   copy          c0 c1  c2   c0'|  c1'  c2' ...             `stages` - 1 steps ahead, also into the next tile
///   unit             u0   u1   u2|  u0'  u1'  u2'
///   vector                       |  v0   v1                  the tile before, in `slices` of rows
///   store                        |     s0   s1
///
/// All engines work at a time, so a step takes as long as the slowest (TileCopies.h says whose clocks a copy is):
///
///   step = max(unit, copy, core + vector slice, store)        two stages: max(unit, unit's commands + copy, ..)
///   time = first copies + tiles of a core * steps * step + last tile's vector work and store
///          - what the last steps do not copy any more
///
/// Where a step has more commands than the unit's queue holds, they fall into groups, with a group of the slice's rows
/// after each: the unit works through its queue meanwhile (PipelineTime.h). That is priced beside one group of all.
///
/// Rows that a unit reads in one clock and that lie in one bank make it wait, copies or not. Where rows of a tile
/// would, they lie some banks further apart.
///
/// Operands and results that lie in the scratchpad already, since a schedule has placed them there, are not copied
/// where the unit and the core can address their tiles.
///
/// Of a tile at the edge of the arrays the unit takes the blocks of its own shape in which something exists, and the
/// core what it has to finish. Where sizes are dynamic, some versions serve classes of them (SizeVersions.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SCRATCHPADCONTRACTIONMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SCRATCHPADCONTRACTIONMODEL_H

#include "core/CostModel/Copies/TileCopies.h"
#include "core/CostModel/Machine/UnitMatch.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/SizeVersions.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "tilewright/Cores.h"

namespace tilewright {

/// What the vector unit does with each element of a finished tile.
struct TailShape {
  llvm::SmallVector<Access> loads, stores; // over the contraction's dimensions
  int64_t operations = 0;                  // instructions of an element beside these
};

/// What of a chip's cores a contraction has: all of them, or what is left of one.
struct CoreShare {
  int64_t cores = 1;           // that share its tiles
  int64_t scratchpadBytes = 0; // of each that are free
  bool hasVersions = false;    // the host program may choose among some nests by its sizes
};

struct ScratchpadContractionPlan : TiledDimensions {
  const MatrixUnit *unit = nullptr;
  int64_t tileM = 1, tileN = 1, tileK = 1;    // elements
  int64_t pitchA = 0, pitchB = 0;             // elements between rows of their tiles in the scratchpad
  int64_t stages = 2;                         // of the multi-stage buffer
  int64_t slices = 1;                         // rows of a tile are finished in so many slices
  int64_t groupM = 1, groupN = 1, groupK = 1; // elements of a group of a step's commands
  bool wholeTiles = false;                    // the tiles divide rows and columns of C
  int64_t scratchpadBytes = 0, accumulatorBytes = 0;
  CopyWay copyA = CopyWay::Core, copyB = CopyWay::Core;  // how the operands' tiles come in
  double unitClocks = 0, copyClocks = 0, coreClocks = 0; // of one step; the core's with a slice of the epilogue
  double clocks = 0, busy = 0, seconds = 0;              // of one core; share in which the unit works
  std::vector<ScratchpadContractionPlan> others;         // versions 1, 2, ...; this one is version 0
  std::vector<SizeTest> tests;                           // of dimensions of the nest: the version that runs

  /// Elements of a tile, and of one instruction of the unit, along m, n or k of the nest.
  int64_t tileAlong(unsigned dim) const { return dim == mDim ? tileM : dim == nDim ? tileN : tileK; }
  int64_t unitAlong(unsigned dim) const { return dim == mDim ? unit->m : dim == nDim ? unit->n : unit->k; }
  /// Whether all blocks of the unit's shape that tiles have along `dim` exist, for an array of `extent` elements (none:
  /// dynamic). The last block may exist in part: zeros are copied to its end.
  bool hasAllBlocks(unsigned dim, std::optional<int64_t> extent) const {
    return unitAlong(dim) == tileAlong(dim) ||
           (extent && int64_t(llvm::alignTo(*extent, unitAlong(dim))) % tileAlong(dim) == 0);
  }
  /// One group of all commands of a step.
  void takeOneGroup();
  /// Where a step has more commands than the unit's queue holds, groups that it does, in their order.
  void chooseGroups();
  /// Groups of commands of a step, a group of rows of a slice after each, and how many there are of these.
  int64_t groups() const { return (tileM / groupM) * (tileN / groupN) * (tileK / groupK); }
  int64_t rowsOfGroup() const { return llvm::divideCeil(tileM / slices, groups()); }
  int64_t rowGroups() const { return llvm::divideCeil(tileM / slices, rowsOfGroup()); }
  /// The group after which the copies of a later step are commanded.
  int64_t copiesAfter() const;
  llvm::json::Object toJSON() const;
  auto key() const { return std::tuple(unit, tileM, tileN, tileK); }
};

/// Whether `unit` multiplies these operands out of the scratchpad; if only its other fields stand against it, `lacks`
/// says which.
bool computesFromScratchpad(const MatrixUnit &unit, const Contraction &contraction, const CoreHierarchy &cores,
                            const NumericFreedom &freedom, std::string &lacks);

/// The plan with the smallest modelled time; nullopt and `reason` if no unit computes this contraction from a
/// scratchpad. Forced fields are taken as they are, also where the memories are too small: plan-scratchpad then shows
/// the map. `considered`: receives every tile that fits, for --explain.
std::optional<ScratchpadContractionPlan>
planScratchpadContraction(const Contraction &contraction, const TargetDescription &chip, const CoreHierarchy &cores,
                          const CoreShare &share, const TailShape &tail, const PlanOptions &options,
                          std::string &reason, std::vector<ScratchpadContractionPlan> *considered = nullptr);

/// Of a finished tile the core takes so many rows at least, of which some may not exist. Of a unit without a zero flag
/// it clears all that was written.
inline int64_t blockOfRows(const MatrixUnit &unit) { return unit.init == UnitInit::ZeroFlag ? 1 : unit.m; }

/// Whether fields of a tile are forced.
bool isTileForced(const PlanOptions &options);

/// Whether the array lies in the scratchpad.
bool isNear(mlir::Value memref, const CoreHierarchy &cores);

/// Whether the epilogue loads or stores the array where it lies, instead of through a buffer for a slice of its rows.
inline bool isInPlace(bool near, const ScratchpadContractionPlan &plan) { return near && plan.wholeTiles; }

/// TileTransfer's `pitchBits` of an array: bits of the bytes that each loop of the nest moves its address by, but for
/// steps of one element.
int64_t pitchBitsOf(const Access &access, const Nest &nest, int64_t elementBytes);

/// Bytes between the starts of two buffers in a scratchpad: a row of its banks, or what an engine asks for.
int64_t scratchpadAlignment(const CoreHierarchy &cores);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_SCRATCHPADCONTRACTIONMODEL_H
