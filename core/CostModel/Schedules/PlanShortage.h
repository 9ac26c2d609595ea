//===- PlanShortage.h - Why no tile was found -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the tiles of a contraction lack on a SIMT target, where none is
/// left: a unit, a plan as it was forced, registers, or room in the scratchpad.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANSHORTAGE_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANSHORTAGE_H

#include "core/CostModel/Schedules/LaneContractionModel.h"

namespace tilewright {

struct PlanShortage {
  bool unit = false, tile = false;  // some unit computes the elements; some tile is as it was forced
  std::string together;             // a unit that would, but adds several products at once
  std::string exchanged;            // a unit that would take the elements with A and B exchanged
  bool sweeps = false;              // of forced rows of tiles, which some tile has not a whole number of
  int64_t registers = 0, bytes = 0; // the least that such tiles need beyond what there is; 0: none
  int64_t registersThere = 0;       // for a lane of that tile's block

  void lacksRegisters(int64_t needed, int64_t there) {
    if (!registers || needed < registers)
      std::tie(registers, registersThere) = std::pair(needed, there);
  }
  void lacksBytes(int64_t needed) { bytes = bytes ? std::min(bytes, needed) : needed; }
  /// One line, for a chip with so many bytes of a block's scratchpad.
  std::string str(LanePlanOverrides overrides, bool f32, int64_t bytesThere) const;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_PLANSHORTAGE_H
