//===- ElementPacking.cpp - Narrow elements side by side ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// When such arrays can be written, and what that costs.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/ElementPacking.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "tilewright/MachineGraph.h"

using namespace mlir;
using namespace tilewright;

bool tilewright::canPack(const LaneContractionPlan &plan, const Contraction &c, bool isA, int64_t packed,
                         const CopyEngine &engine) {
  const ContractionOperand &operand = isA ? c.a : c.b;
  int64_t rank = 0;
  for (unsigned dim : operand.access.dims().set_bits()) {
    const std::optional<int64_t> extent = c.nest.tripCounts[dim];
    if (!extent || !llvm::isInt<32>(*extent))
      return false;
    ++rank;
  }
  // Groups of fewer elements than bytes end where the row does.
  const int64_t k = c.nest.tripCounts[plan.kDim].value_or(1);
  const bool isWhole = k % (packed > packBytes ? packed / packBytes : packed) == 0;
  return rank <= engine.maxRank && isWhole && operand.bounded.empty() && !operand.index && plan.otherK.empty() &&
         operand.access.map.getNumSymbols() == 0 && operand.access.dims().test(plan.kDim) &&
         operand.access.dims().test(isA ? plan.mDim : plan.nDim);
}

double tilewright::packingSeconds(const LaneContractionPlan &plan, const Contraction &c,
                                  const TargetDescription &chip) {
  const Memory *global = chip.graph().backing();
  double clocks = 0;
  for (const auto &[slot, operand] : {std::pair(&plan.unit->a, &c.a), std::pair(&plan.unit->b, &c.b)}) {
    const int64_t packed = packedElements(*slot);
    if (!packed || !global)
      continue;
    const double read = elementsOf(c, *operand) * double(elementBytes(operand->element));
    const double written = elementsOf(c, *operand) * double(packBytes) / double(packed);
    clocks += (read + written) / global->bytesPerClock + launchClocks(chip);
  }
  return secondsOf(clocks, chip);
}
