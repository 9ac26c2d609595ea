//===- LaneContractionModel.h - Tiles of contractions on lanes --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a contraction is shared out over blocks, subgroups and lanes, by a closed
/// form over the description of the chip:
///
///   block tile      BM x BN of C, read through a ring of stages of depth BK
///   subgroup tile   TM x TN units, accumulators in registers over all of k
///
///   clocks of a step = max(units: TM TN BK/k issue x subgroups / issue slots,
///                          scratchpad: (BM + BN) BK written, each subgroup's rows and columns read,
///                          L2: (BM + BN) BK bytes x blocks at a time)
///   time             = waves x (steps x clocks of a step + epilogue)
///
/// over all tiles of powers of two that fit registers and scratchpad. Unknown sizes count as large.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_LANECONTRACTIONMODEL_H
#define TILEWRIGHT_CORE_COSTMODEL_LANECONTRACTIONMODEL_H

#include "core/Analysis/Contraction.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// An operand's tile in the scratchpad.
struct StagedTile {
  bool kInner = true; // rows of k lie together: [BM][BK], else [BK][BM]
  int64_t swizzleBits = 0, swizzleBase = 0, swizzleShift = 0;
  int64_t padding = 0; // elements behind each row; where there is no swizzle
};

struct LaneContractionPlan {
  const MatrixUnit *unit = nullptr;
  unsigned mDim = 0, nDim = 0, kDim = 0;
  llvm::SmallVector<unsigned> outer, otherK; // the dimensions left, outermost first
  int64_t subgroupsM = 1, subgroupsN = 1;    // of a block
  int64_t tilesM = 1, tilesN = 1;            // units of a subgroup
  int64_t depth = 1;                         // BK
  int64_t stages = 1;
  StagedTile a, b;
  int64_t registers = 0, sharedBytes = 0, blocksAtATime = 1; // per lane; per block; of one multiprocessor
  double stepClocks = 0, seconds = 0;

  int64_t blockM() const { return subgroupsM * tilesM * unit->m; }
  int64_t blockN() const { return subgroupsN * tilesN * unit->n; }
  llvm::json::Object toJSON() const;
};

/// The plan with the smallest modelled time; nullopt and `reason` if no unit of the chip computes this contraction.
/// `fast`: units that round their operands (tf32) may be used.
std::optional<LaneContractionPlan> planLaneContraction(const Contraction &contraction, const TargetDescription &chip,
                                                       const LaneHierarchy &hierarchy, bool fast, std::string &reason);

/// Whether the chip copies from global memory into a block's scratchpad asynchronously, awaited by groups.
bool hasCopyEngine(const TargetDescription &chip, const LaneHierarchy &hierarchy);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_LANECONTRACTIONMODEL_H
